"""The lake's tables without Spark. schemas.py defines them, relations.py their keys and joins.

lookup.py and sql.py read what the last finished run left; `spark/` writes it. storage/lock.py locks a lake on an object
store. local_tables.py reads and writes small tables of a local lake.
"""
