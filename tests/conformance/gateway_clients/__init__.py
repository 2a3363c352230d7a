"""The scenarios of tests/real_clients once more, with a gateway in front of a real cluster in place of kconf alone."""
