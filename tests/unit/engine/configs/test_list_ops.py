"""The results of list operations can be stored: Kafka's strings have at most 32,767 bytes."""

from __future__ import annotations

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.engine.configs.list_ops import combined
from kconf.errors import InvalidConfig
from kconf.model.alteration import OpType

NAME = "leader.replication.throttled.replicas"
KEY = kafka_43().topic[NAME]


@pytest.mark.parametrize("letter", ["a", "ä", "𝄞"])
def test_a_list_that_is_too_long_to_be_stored_is_refused(letter: str) -> None:
    """In Kafka 3.9, the controller loses its leadership when it writes such a value."""
    longest = letter * (32_765 // len(letter.encode()))
    rest = "b" * (32_766 - len(longest.encode()))

    value = combined(OpType.APPEND, KEY, NAME, longest, rest)

    assert len(value.encode()) == 32_767
    with pytest.raises(InvalidConfig, match="would exceed the maximum of 32767 bytes"):
        combined(OpType.APPEND, KEY, NAME, longest, rest + "b")
    assert combined(OpType.SUBTRACT, KEY, NAME, value, rest) == longest
