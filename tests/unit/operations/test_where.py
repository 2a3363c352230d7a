"""Conditions on values: how they are written, and when they hold."""

from __future__ import annotations

import pytest

from kconf.errors import ConfigurationError
from kconf.model.resource import ResourceType
from kconf.operations.where import parse_conditions

DAY = 86_400_000


def holds(text: str, kind: ResourceType = ResourceType.TOPIC, /, **values: str) -> bool:
    (condition,) = parse_conditions([text], kind)
    return condition.holds({name.replace("_", "."): each for name, each in values.items()})


@pytest.mark.parametrize(
    ("text", "raw", "expected"),
    [
        ("retention.ms>30d", str(30 * DAY), False),
        ("retention.ms>30d", str(30 * DAY + 1), True),
        ("retention.ms>=30d", str(30 * DAY), True),
        ("retention.ms > 720h", str(31 * DAY), True),
        ("retention.ms<30d", "-1", False),
        ("retention.ms>30d", "-1", True),
        ("retention.ms=unlimited", "-1", True),
        ("retention.ms!=unlimited", "-1", False),
        ("retention.ms==7d", str(7 * DAY), True),
        ("retention.ms<unlimited", str(7 * DAY), True),
    ],
)
def test_numbers_compare_with_units_and_no_limit_is_above_all(text: str, raw: str, expected: bool) -> None:
    assert holds(text, retention_ms=raw) is expected


def test_a_bound_may_be_above_the_maximum_of_the_key() -> None:
    assert holds("segment.bytes<10GiB", segment_bytes="1073741824")


def test_local_retention_may_be_that_of_the_topic() -> None:
    assert holds("local.retention.ms>30d", local_retention_ms="-2", retention_ms=str(40 * DAY))
    assert not holds("local.retention.ms>30d", local_retention_ms="-2", retention_ms=str(DAY))


def test_lists_are_equal_in_any_order_and_booleans_in_any_case() -> None:
    assert holds("cleanup.policy=delete,compact", cleanup_policy="compact,delete")
    assert holds("cleanup.policy!=compact", cleanup_policy="compact,delete")
    assert holds("preallocate=TRUE", preallocate="true")


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("retention.ms", ResourceType.TOPIC, "takes KEY OPERATOR VALUE"),
        ("retention.mss>1d", ResourceType.TOPIC, "not a key of a topic; did you mean retention.ms?"),
        ("retention.ms>1d", ResourceType.BROKER, "not a key of a broker"),
        ("cleanup.policy>delete", ResourceType.TOPIC, "is not a number; compare it with = or !="),
        ("retention.ms>1GB", ResourceType.TOPIC, "retention.ms is a time: its units are ms"),
        ("retention.ms>long", ResourceType.TOPIC, "retention.ms: expected an integer"),
        ("preallocate=maybe", ResourceType.TOPIC, "preallocate: expected true or false"),
        ("ssl.key.password=x", ResourceType.BROKER, "ssl.key.password is a secret"),
    ],
)
def test_incomparable_keys_are_refused(text: str, kind: ResourceType, message: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        parse_conditions([text], kind)
    assert message in str(error.value)
