"""Connections of the SyncAdminClient: one thread and a selector for many nodes."""
