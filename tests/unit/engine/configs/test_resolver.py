"""The precedence resolver: cases where the differential tests found errors."""

from __future__ import annotations

from kconf.configdef.catalog import kafka_43
from kconf.engine.configs.resolver import ConfigResolver
from kconf.model.entry import Source, Synonym


def resolver(*, here: dict[str, str] | None = None) -> ConfigResolver:
    return ConfigResolver(kafka_43(), {}, {}, here or {})


def test_an_internal_topic_key_is_shown_as_it_was_set_with_its_own_synonym() -> None:
    entry = resolver().topic({"internal.segment.bytes": " 007 "})["internal.segment.bytes"]

    assert entry.value == " 007 "
    assert entry.synonyms == (Synonym("internal.segment.bytes", " 007 ", Source.TOPIC),)


def test_a_topic_key_that_is_not_internal_is_normalized() -> None:
    assert resolver().topic({"segment.bytes": " +1048576 "})["segment.bytes"].value == "1048576"


def test_a_throttle_rate_is_shown_as_it_was_set_and_other_numbers_are_not() -> None:
    view = resolver(here={"leader.replication.throttled.rate": " 007 ", "num.io.threads": " 007 "}).broker()

    assert view["leader.replication.throttled.rate"].value == " 007 "
    assert view["num.io.threads"].value == "7"


def test_a_key_for_one_listener_has_no_documentation() -> None:
    view = resolver(here={"listener.name.plain.max.connections": "5"}).broker()

    assert view["listener.name.plain.max.connections"].documentation is None
    assert view["max.connections"].documentation
