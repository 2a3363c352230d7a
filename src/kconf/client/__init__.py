"""The AdminClient, for kconf servers and for any Kafka cluster."""
