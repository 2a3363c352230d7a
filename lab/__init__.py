"""The lab: real Kafka brokers, tools and Java clients, started from Python.

What the conformance tests and the benchmarks compare kconf with. It needs a JDK 17 or newer and Maven; the jars
are fetched once into the user's cache. Nothing here is installed with kconf, and kconf never imports it.
"""
