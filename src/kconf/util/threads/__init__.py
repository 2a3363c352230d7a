"""Threads of a process that otherwise runs in an event loop."""
