"""Connections. listener.py opens the sockets, acceptor.py accepts connections, connection.py reads requests from them.

acceptor.py asks connection_quotas.py before the login; a limit per user would be counted there too,
and called by connection.py after the login.
connection_registry.py lists the open connections, counts and logs.
"""
