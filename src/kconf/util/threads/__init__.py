"""Threads for a process with an event loop."""
