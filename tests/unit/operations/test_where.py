"""Conditions on values: syntax and evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.errors import ConfigurationError
from kconf.model.entry import Entry, Source, ValueType, View
from kconf.model.resource import Resource, ResourceType
from kconf.model.results import Results
from kconf.operations.where import find_matching, parse_conditions

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
def test_numbers_are_compared_with_units_and_no_limit_exceeds_all(text: str, raw: str, expected: bool) -> None:
    assert holds(text, retention_ms=raw) is expected


def test_a_value_can_be_compared_with_an_amount_above_the_maximum_of_the_key() -> None:
    assert holds("segment.bytes<10GiB", segment_bytes="1073741824")


def test_local_retention_minus_2_is_compared_by_the_retention_of_the_topic() -> None:
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


class NewerCluster:
    """Has keys that kconf does not know."""

    def __init__(self, entries: Mapping[Resource, Entry]) -> None:
        self._entries = entries

    def describe_configs(
        self, resources: list[Resource], *, keys: Mapping[Resource, tuple[str, ...]], **_: Any
    ) -> Results[Resource, View]:
        named = {each: self._entries.get(each) for each in resources}
        return Results(
            {each: View((entry,) if entry and entry.name in keys[each] else ()) for each, entry in named.items()}
        )


def matching(text: str, entries: Mapping[Resource, Entry]) -> list[str]:
    kind = next(iter(entries)).type
    admin = cast(SyncAdminClient, NewerCluster(entries))
    return [each.name for each in find_matching(admin, list(entries), parse_conditions([text], kind)).values]


def test_a_key_that_only_the_cluster_knows_is_compared_by_its_reported_type() -> None:
    lag = {
        Resource.topic(name): Entry("new.lag.ms", value, Source.TOPIC, ValueType.LONG)
        for name, value in (("a", "1000"), ("b", "90000"), ("c", "600000"))
    }

    assert matching("new.lag.ms>1m", lag) == ["b", "c"]
    assert matching("new.lag.ms=1s", lag) == ["a"]
    with pytest.raises(ConfigurationError, match=r"new\.lag\.ms is a time: its units are ms"):
        matching("new.lag.ms>1GB", lag)
    word = {Resource.topic("a"): Entry("new.word", "on", Source.TOPIC, ValueType.STRING)}
    assert matching("new.word=on", word) == ["a"]
    with pytest.raises(ConfigurationError, match="is not a number; compare it with = or !="):
        matching("new.word>on", word)


def test_a_key_that_neither_kconf_nor_the_cluster_knows_is_refused() -> None:
    here = {Resource.topic("a"): Entry("retention.ms", "1", Source.TOPIC, ValueType.LONG)}

    with pytest.raises(ConfigurationError, match=r"retention\.mss is not a key of a topic; did you mean retention\.ms"):
        matching("retention.mss>1d", here)
    with pytest.raises(ConfigurationError, match=r"retention\.ms is not a key of a broker"):
        matching("retention.ms>1d", {Resource.broker(1): Entry("x", "1", Source.BROKER)})


def test_an_unknown_key_of_the_cluster_default_is_not_refused() -> None:
    assert matching("no.such.key=1", {Resource.brokers(): Entry("x", "1", Source.DEFAULT_BROKER)}) == []
