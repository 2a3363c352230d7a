"""Views of the console on hand-written snapshots, with Starlette's test client: no cluster, no browser."""
