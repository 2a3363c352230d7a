"""Values with units: parsing a displayed value returns the same value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kconf.configdef.lookup import keys_for
from kconf.configdef.units import NUMBERS, raw_value, shown_value
from kconf.errors import ConfigurationError
from kconf.model.resource import ResourceType

TOPIC = keys_for(ResourceType.TOPIC)
NUMERIC = sorted(name for name, key in TOPIC.items() if key.type in NUMBERS)


@pytest.mark.parametrize(
    ("key", "raw", "shown"),
    [
        ("retention.ms", "604800000", "7d"),
        ("retention.ms", "90000", "90s"),
        ("retention.ms", "1", "1ms"),
        ("retention.ms", "-1", "unlimited"),
        ("flush.ms", "9223372036854775807", "9223372036854775807"),
        ("segment.bytes", "1073741824", "1GiB"),
        ("segment.bytes", "5000000", "5MB"),
        ("max.message.bytes", "1048588", "1048588"),
        ("local.retention.ms", "-2", "as retention.ms"),
        ("min.insync.replicas", "2", "2"),
        ("compression.type", "zstd", "zstd"),
    ],
)
def test_a_value_is_shown_with_its_unit_and_reads_back(key: str, raw: str, shown: str) -> None:
    assert shown_value(key, raw) == shown
    assert raw_value(TOPIC[key], shown) == raw


@given(st.sampled_from(NUMERIC), st.integers(0, 2**31 - 1))
def test_every_shown_value_can_be_parsed(name: str, number: int) -> None:
    assert raw_value(TOPIC[name], shown_value(name, str(number))) == str(number)


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        ("retention.ms", "7x", "retention.ms is a time"),
        ("retention.ms", "7GiB", "retention.ms is a time"),
        ("segment.bytes", "1G", "GiB (1024s)"),
        ("min.insync.replicas", "2d", "has no unit"),
        ("segment.ms", "unlimited", "no value that means unlimited"),
        ("segment.bytes", "4TiB", "from -2147483648"),
    ],
)
def test_a_unit_that_does_not_fit_is_refused_with_the_key(key: str, text: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=key) as raised:
        raw_value(TOPIC[key], text)
    assert said in str(raised.value)


def test_keys_that_are_not_in_the_catalog_are_validated_by_the_server() -> None:
    assert raw_value(None, "7d") == "7d"
    assert raw_value(TOPIC["segment.bytes"], "14") == "14"
    assert shown_value("cleanup.policy", None) == ""
