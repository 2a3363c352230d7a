"""The lab: real Kafka brokers, tools and Java clients, started from Python.

The conformance tests and the benchmarks compare kconf with them. The lab needs a JDK 17 or newer and Maven; the jars
are downloaded once into the user's cache. Nothing here is installed with kconf, and kconf never imports it.
"""
