"""The keys of each Kafka release.

The tables in `kconf.configdef` are the keys of the base release. Each file X.Y.json has the differences of another
release, measured on a real broker; `python -m lab.catalog` writes them. A file is read when its release is first
needed, so that it does not slow down commands that need only the base release.
"""
