"""Clusters as files: `export`, `plan`, `apply`, `diff`, `snapshot`."""
