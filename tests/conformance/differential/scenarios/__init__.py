"""Scenarios: generator functions from a `Draw` to requests, one file per family."""
