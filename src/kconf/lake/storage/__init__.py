"""Where the tables of a lake are stored: a directory or an object store, and the lock of a run."""
