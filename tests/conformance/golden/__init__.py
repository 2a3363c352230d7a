"""What a real Kafka 3.9.2 sent in versions that 4.x no longer serves; tests/unit/wire/test_golden.py reads it."""
