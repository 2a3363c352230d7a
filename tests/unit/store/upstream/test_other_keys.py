"""Definitions of keys that only the brokers know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kconf.configdef.catalog import kafka_43, with_keys
from kconf.configdef.key import UpdateMode
from kconf.errors import ApiError, ErrorCode
from kconf.model.entry import Entry, Source, Synonym, ValueType, View
from kconf.model.resource import Resource, ResourceType
from kconf.store.upstream.other_keys import read_other_keys
from kconf.store.upstream.polling.reading import _own

BROKER = Resource.broker(1)


class Brokers:
    """In place of a client: describes what it was given."""

    def __init__(self, views: dict[ResourceType, Sequence[Entry]], topics: Sequence[str] = ("orders",)) -> None:
        self._views, self._topics = views, topics
        self.asked: list[ResourceType] = []

    def list_topics(self, **_: Any) -> Sequence[str]:
        return self._topics

    def describe_configs(self, resources: Sequence[Resource], **_: Any) -> dict[Resource, View]:
        (resource,) = resources
        self.asked.append(resource.type)
        if resource.type not in self._views:
            raise ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None).error()
        return {resource: View(tuple(self._views[resource.type]))}


def read(brokers: Brokers, *, is_exact: bool = True, hidden: Sequence[tuple[ResourceType, str]] = ()) -> Any:
    return read_other_keys(brokers, BROKER, kafka_43(), is_exact=is_exact, hidden=hidden)  # type: ignore[arg-type]


KNOWN = Entry("num.io.threads", "8", Source.DEFAULT, ValueType.INT)
FIXED = Entry("vendor.id", "x", Source.STATIC, ValueType.STRING, read_only=True, documentation="An ID.")
LEVEL = Entry(
    "vendor.level", "7", Source.BROKER, ValueType.INT,
    synonyms=(Synonym("vendor.level", "7", Source.BROKER), Synonym("vendor.level", "3", Source.DEFAULT)),
)  # fmt: skip
SECRET = Entry("vendor.password", None, Source.STATIC, ValueType.PASSWORD, read_only=True, sensitive=True)
UNDEFINED = Entry("my.property", None, Source.STATIC, sensitive=True)
TOPIC = Entry(
    "tiering", "3", Source.DEFAULT, ValueType.INT, synonyms=(Synonym("vendor.level", "3", Source.DEFAULT),)
)  # fmt: skip


def test_a_key_with_a_listener_prefix_is_not_learned() -> None:
    """A broker shows such a key while it is set."""
    store = Entry("listener.name.outside.ssl.truststore.type", "JKS", Source.BROKER, ValueType.STRING)
    assert not read(Brokers({ResourceType.BROKER: [KNOWN, store]}))


def test_an_unknown_key_is_defined_by_what_the_broker_shows() -> None:
    brokers = Brokers({ResourceType.BROKER: [KNOWN, FIXED, LEVEL, SECRET, UNDEFINED], ResourceType.TOPIC: [TOPIC]})
    found = read(brokers)
    keys = found[ResourceType.BROKER]
    assert list(keys) == ["vendor.id", "vendor.level", "vendor.password"]
    assert (keys["vendor.id"].default, keys["vendor.id"].mode) == (None, UpdateMode.READ_ONLY)
    assert keys["vendor.id"].about == "An ID."
    assert (keys["vendor.level"].default, keys["vendor.level"].mode) == ("3", UpdateMode.CLUSTER_WIDE)
    assert keys["vendor.password"].sensitive
    (of_topic,) = found[ResourceType.TOPIC].values()
    assert (of_topic.default, [each.name for each in of_topic.fallbacks]) == ("3", ["vendor.level"])
    whole = with_keys(kafka_43(), found)
    assert (whole.topic["tiering"], whole.broker["vendor.id"]) == (of_topic, keys["vendor.id"])
    assert whole.group is kafka_43().group


def test_topics_are_requested_only_if_some_may_exist() -> None:
    brokers = Brokers({ResourceType.BROKER: [KNOWN]})
    assert read(brokers) == {}
    assert brokers.asked == [ResourceType.BROKER]
    newer = Brokers({ResourceType.BROKER: [KNOWN], ResourceType.TOPIC: [TOPIC]}, topics=())
    assert read(newer, is_exact=False) == {}
    assert newer.asked == [ResourceType.BROKER, ResourceType.GROUP]


def test_a_key_whose_values_were_hidden_stays_unknown() -> None:
    brokers = Brokers({ResourceType.BROKER: [FIXED, LEVEL], ResourceType.TOPIC: [TOPIC]})
    found = read(brokers, hidden=[(ResourceType.TOPIC, "tiering"), (ResourceType.BROKER, "vendor.id")])
    assert {kind: list(keys) for kind, keys in found.items()} == {ResourceType.BROKER: ["vendor.level"]}


def test_a_value_that_a_broker_is_applying_is_read_from_the_synonyms() -> None:
    """Kafka 4.3.1: for a moment, the source is that of the new value, and the value that of the old one."""
    name = "log.cleaner.backoff.ms"
    synonyms = (Synonym(name, "015002", Source.BROKER), Synonym(name, "15000", Source.DEFAULT))
    view = View((Entry(name, "15000", Source.BROKER, ValueType.LONG, synonyms=synonyms),))
    assert _own(BROKER, view) == {name: "15002"}
