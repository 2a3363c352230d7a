"""What a real 3.9.2 sent in versions that 4.x does not serve; tests/unit/protocol/messages/test_golden.py reads it."""
