"""The keys of each Kafka release.

The tables in `kconf.configdef` are the keys of the base release. Each file here, X.Y.json, has the differences of
another release from it, measured on a real broker of that release; `python -m lab.catalog` writes them. A file is read
when its release is first needed, so that commands which need only the base release do not pay for the others.
"""
