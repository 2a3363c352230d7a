"""The catalogs of releases: added, missing and changed keys compared with the base release."""

from __future__ import annotations

import pytest

from kconf.configdef.broker import BROKER, BROKER_REMOVED
from kconf.configdef.catalog import kafka_43
from kconf.configdef.releases.catalogs import KINDS, catalog_of, every_release
from kconf.configdef.releases.data import COMPLETE, RELEASES, release_data
from kconf.configdef.topic import TOPIC_REMOVED
from kconf.configdef.validate import normalize, validate
from kconf.configdef.validators import between, validator_of
from kconf.errors import ConfigurationError, InvalidConfig
from kconf.model.entry import ValueType


def test_each_release_has_the_keys_that_its_broker_has() -> None:
    # 3 broker keys, the replication throttles, are not in the broker ConfigDef of any release.
    counts = {each: tuple(len(getattr(catalog_of(each), kind)) for kind in KINDS) for each in COMPLETE}

    assert counts == {
        "3.9": (36, 329 + 3, 0, 3),
        "4.0": (33, 306 + 3, 6, 3),
        "4.1": (34, 336 + 3, 10, 3),
        "4.2": (34, 341 + 3, 11, 3),
        "4.3": (34, 360 + 3, 17, 3),
    }


def test_the_catalog_of_the_base_release_is_the_tables() -> None:
    assert catalog_of("4.3") is kafka_43()
    assert catalog_of("4.3.1") is kafka_43()


@pytest.mark.parametrize("release", COMPLETE)
def test_a_default_passes_the_check_of_its_release(release: str) -> None:
    catalog = catalog_of(release)
    for kind in KINDS:
        for key in getattr(catalog, kind).values():
            if key.default is not None:
                validate(key, key.default)


@pytest.mark.parametrize("release", COMPLETE)
def test_a_release_falls_back_on_broker_keys_that_it_has(release: str) -> None:
    catalog = catalog_of(release)
    for kind in ("topic", "group"):
        for key in getattr(catalog, kind).values():
            named = {each.name for each in key.fallbacks} | {each for each in key.range_keys if each}
            assert named <= catalog.broker.keys(), key.name


def test_keys_are_sorted_in_every_release() -> None:
    for release in RELEASES:
        for kind in KINDS:
            keys = getattr(catalog_of(release), kind)
            assert list(keys) == sorted(keys)


def test_every_removed_key_belongs_to_a_release() -> None:
    having = {name for each in COMPLETE for names in release_data(each).removed.values() for name in names}

    assert having == BROKER_REMOVED.keys() | TOPIC_REMOVED.keys()


def test_bounds_types_and_modes_are_those_of_the_release() -> None:
    old, new = catalog_of("4.0"), catalog_of("4.1")

    validate(old.topic["segment.bytes"], "14")
    with pytest.raises(InvalidConfig, match="at least 1048576"):
        validate(new.topic["segment.bytes"], "14")
    assert old.broker["log.dirs"].type is ValueType.STRING
    assert catalog_of("4.2").broker["log.dirs"].type is ValueType.LIST
    assert catalog_of("3.9").broker["advertised.listeners"].mode == "per-broker"
    assert "advertised.listeners" in catalog_of("3.9").dynamic
    assert "advertised.listeners" not in old.dynamic


def test_repeated_items_are_removed_from_4_2_on() -> None:
    kept = catalog_of("4.1").topic["cleanup.policy"]
    collapsed = catalog_of("4.2").topic["cleanup.policy"]

    assert normalize(kept, "delete,delete") == "delete,delete"
    assert normalize(collapsed, "delete,delete") == "delete"


def test_a_release_with_only_client_jars_adds_names_and_is_marked_incomplete() -> None:
    new = catalog_of("4.4")

    assert not release_data("4.4").is_complete
    assert new.topic.keys() - kafka_43().topic.keys() == {
        "errors.deadletterqueue.group.enable",
        "max.decompressed.message.bytes",
        "remote.copy.lag.bytes",
        "remote.copy.lag.ms",
    }
    assert new.topic["remote.copy.lag.ms"].type is ValueType.UNKNOWN
    assert [each.name for each in new.topic["remote.copy.lag.ms"].fallbacks] == ["log.remote.copy.lag.ms"]
    assert new.broker["max.decompressed.message.bytes"].default == "2147483639"
    assert new.broker["log.dirs"] is BROKER["log.dirs"]


def test_a_release_without_data_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"kconf has no catalog of Kafka 2\.8; it has 3\.9, 4\.0"):
        catalog_of("2.8")


def test_validators_are_parsed_from_their_description() -> None:
    assert validator_of(None) is None
    assert validator_of("at least 14") is between(14)
    assert validator_of("from 10 to 1000") is between(10, 1000)
    assert str(validator_of("one of a, b")) == "one of a, b"
    assert str(validator_of("list of a, b")) == "list of a, b"
    either = validator_of("at least 1, or -1")
    assert either is not None
    either(-1)
    with pytest.raises(ValueError, match="must be at least 1, or -1"):
        either(0)
    with pytest.raises(ValueError, match="describes no validator"):
        validator_of("prime")


def test_the_catalog_of_every_release_is_complete() -> None:
    found = every_release()

    for release in RELEASES:
        for kind in KINDS:
            assert getattr(catalog_of(release), kind).keys() <= getattr(found, kind).keys()
    assert found.topic["retention.ms"] is kafka_43().topic["retention.ms"]
    assert all(key.type is not ValueType.UNKNOWN for kind in KINDS for key in getattr(found, kind).values())
