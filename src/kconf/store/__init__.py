"""Where state and journal are stored. base.py has the interface, registry.py the URL schemes, copy.py copies stores.

`sqlite/` is for one server, `zookeeper/` for several, `upstream/` for a gateway, memory.py for tests. record_codec.py
has the format of journal records. docs/how-to/extend.md has the steps to add a kind of store.
"""
