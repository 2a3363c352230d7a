"""Views of the console on snapshots made by hand, through Starlette's test client: no cluster, no browser."""
