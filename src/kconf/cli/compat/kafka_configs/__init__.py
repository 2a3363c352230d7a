"""`kafka-configs`: Kafka's own configuration command, with its options, output and exit codes, without a JVM.

`main` runs the steps: `arguments` (parsing) → `entities` and `checks` (validation) → `describe` or `alter`.
`--strict-compat` behaves exactly like Kafka 4.3.1; without it, the pitfalls of the original are fixed.
"""
