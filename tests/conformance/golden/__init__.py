"""Responses of a real 3.9.2 in versions that 4.x does not support, for tests/unit/protocol/messages/test_golden.py."""
