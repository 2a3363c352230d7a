"""Connections of the synchronous client: one thread, many nodes, by a selector."""
