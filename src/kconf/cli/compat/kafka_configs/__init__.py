"""`kafka-configs`: Kafka's own configuration command, with its options, its lines and its exit codes, without a JVM.

`main` is the way through: `arguments` (what was typed) → `entities` and `checks` (what is meant) → `describe` or
`alter`. `--strict-compat` keeps to the letter of Kafka 4.3.1; without it the hazards of the original are mended.
"""
