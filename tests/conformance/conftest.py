"""Real brokers, tools and Java clients for the conformance tests; see lab/pytest_plugin.py."""

pytest_plugins = ["lab.pytest_plugin"]
