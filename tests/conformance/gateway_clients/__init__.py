"""The scenarios of tests/real_clients, with a gateway in front of a real cluster instead of a kconf server."""
