"""AdminClient: for kconf and for any real Kafka cluster alike."""
