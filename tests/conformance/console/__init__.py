"""The console over a real Kafka, in a real browser."""
