"""The first and last release of a key, and changes of its definition."""

from __future__ import annotations

from kconf.configdef.releases.history import KeyChange, history_of, newer_keys
from kconf.model.resource import ResourceType

TOPIC, BROKER, GROUP = ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP


def test_a_key_of_every_known_release_has_no_first_or_last_release() -> None:
    assert history_of(TOPIC, "retention.ms") == (None, None, ())


def test_the_release_that_introduced_a_key_is_known() -> None:
    assert history_of(GROUP, "streams.session.timeout.ms") == ("4.1", None, ())


def test_the_last_release_of_a_removed_key_is_known() -> None:
    assert history_of(BROKER, "zookeeper.connect") == (None, "3.9", ())
    assert history_of(BROKER, "internal.metadata.max.fetch.size.in.bytes") == ("4.1", "4.2", ())


def test_changes_of_default_and_bounds_are_listed() -> None:
    found = history_of(BROKER, "group.coordinator.append.linger.ms")

    assert found is not None
    assert found.changes == (
        KeyChange("4.0", "default", "10", "5"),
        KeyChange("4.2", "default", "5", "-1"),
        KeyChange("4.2", "range", "at least 0", "at least -1"),
    )


def test_a_key_that_only_client_jars_show_has_a_first_release() -> None:
    assert history_of(TOPIC, "remote.copy.lag.ms") == ("4.4", None, ())
    assert "remote.copy.lag.ms" in newer_keys(TOPIC)
    assert "retention.ms" not in newer_keys(TOPIC)
    assert newer_keys(ResourceType.QUOTA) == {}


def test_an_unknown_key_and_a_type_without_releases_have_no_history() -> None:
    assert history_of(TOPIC, "no.such.key") is None
    assert history_of(ResourceType.QUOTA, "producer_byte_rate") is None
