"""Connections. listener.py opens the sockets, acceptor.py accepts connections, connection.py reads requests from them.

connection_quotas.py has the limits on the number of connections; acceptor.py checks them before the login. A limit per
user would belong there too, but connection.py would have to check it, after the login. connection_registry.py lists the
open connections, counts them and logs.
"""
