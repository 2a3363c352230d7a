"""The tables compared with Kafka 4.3.1: how many keys of each kind, and a few well-known ones."""

from __future__ import annotations

from collections import Counter

import pytest

from kconf.configdef.broker import BROKER, BROKER_REMOVED
from kconf.configdef.client_metrics import CLIENT_METRICS
from kconf.configdef.group import GROUP
from kconf.configdef.java.classes import KNOWN_CLASSES
from kconf.configdef.key import BrokerFallback, ConfigDef, ConfigKey, UpdateMode
from kconf.configdef.quota import CLIENT_QUOTA, IP_QUOTA, SCRAM, USER_QUOTA
from kconf.configdef.topic import TOPIC, TOPIC_REMOVED
from kconf.configdef.validate import normalize, validate
from kconf.model.entry import ValueType

CURRENT: dict[str, ConfigDef] = {
    "topic": TOPIC,
    "broker": BROKER,
    "group": GROUP,
    "client_metrics": CLIENT_METRICS,
    "user": USER_QUOTA,
    "client": CLIENT_QUOTA,
    "ip": IP_QUOTA,
    "scram": SCRAM,
}
EVERY = [(table, key) for table, keys in CURRENT.items() for key in keys.values()] + [
    (table, key)
    for table, keys in (("topic removed", TOPIC_REMOVED), ("broker removed", BROKER_REMOVED))
    for key in keys.values()
]
every_key = pytest.mark.parametrize("key", [pytest.param(key, id=f"{table}:{key.name}") for table, key in EVERY])


def test_the_catalog_has_the_428_keys_of_kafka_4_3_1() -> None:
    assert [len(keys) for keys in CURRENT.values()] == [34, 363, 17, 3, 4, 4, 1, 2]
    assert not any(key.legacy for keys in CURRENT.values() for key in keys.values())


def test_keys_that_only_older_releases_have_are_in_their_own_tables() -> None:
    assert (len(TOPIC_REMOVED), len(BROKER_REMOVED)) == (3, 48)
    assert all(key.legacy for keys in (TOPIC_REMOVED, BROKER_REMOVED) for key in keys.values())
    assert not TOPIC.keys() & TOPIC_REMOVED.keys()
    assert not BROKER.keys() & BROKER_REMOVED.keys()


def test_tables_are_sorted_and_indexed_by_name() -> None:
    for keys in (*CURRENT.values(), TOPIC_REMOVED, BROKER_REMOVED):
        assert list(keys) == sorted(keys)
        assert all(key.name == name for name, key in keys.items())


def test_brokers_have_261_fixed_37_per_broker_and_65_cluster_wide_keys() -> None:
    modes = Counter(key.mode for key in BROKER.values())

    assert modes == {UpdateMode.READ_ONLY: 261, UpdateMode.PER_BROKER: 37, UpdateMode.CLUSTER_WIDE: 65}


def test_broker_types_are_counted_as_in_kafka() -> None:
    types = Counter(key.type.name for key in BROKER.values() if not key.dynamic_only)

    assert types == {
        "INT": 178,
        "LONG": 57,
        "STRING": 51,
        "LIST": 22,
        "BOOLEAN": 17,
        "CLASS": 11,
        "PASSWORD": 10,
        "DOUBLE": 8,
        "SHORT": 6,
    }


def test_three_throttle_rates_cannot_be_set_in_a_file() -> None:
    assert [name for name, key in BROKER.items() if key.dynamic_only] == [
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    ]


def test_internal_keys_are_20_at_brokers_and_1_at_topics() -> None:
    internal = [key for key in BROKER.values() if key.internal]

    assert len(internal) == 20
    assert all(key.mode is UpdateMode.READ_ONLY for key in internal)
    assert [name for name, key in TOPIC.items() if key.internal] == ["internal.segment.bytes"]
    assert sum(not key.internal and not key.dynamic_only for key in BROKER.values()) == 340
    assert sum(not key.internal for key in TOPIC.values()) == 33


def test_10_broker_keys_and_the_credentials_are_sensitive() -> None:
    assert sum(key.sensitive for key in BROKER.values()) == 10
    assert all(key.sensitive for key in SCRAM.values())
    assert not any(key.sensitive for table in (TOPIC, GROUP, CLIENT_METRICS) for key in table.values())


def test_three_broker_keys_must_be_set() -> None:
    assert [name for name, key in BROKER.items() if key.required] == [
        "controller.listener.names",
        "node.id",
        "process.roles",
    ]


def test_only_broker_keys_have_a_mode() -> None:
    for table, key in EVERY:
        assert (key.mode is not None) == table.startswith("broker"), key.name


@every_key
def test_a_default_passes_its_own_check_and_is_printed_unchanged(key: ConfigKey) -> None:
    if key.default is None:
        return

    validate(key, key.default)

    assert normalize(key, key.default) == key.default


@every_key
def test_every_key_has_a_description(key: ConfigKey) -> None:
    assert 15 <= len(key.about) < 200
    assert key.about.endswith(".")
    assert key.about == key.about.strip()


def test_no_two_keys_of_a_table_have_the_same_description() -> None:
    for keys in (*CURRENT.values(), TOPIC_REMOVED, BROKER_REMOVED):
        repeated = [about for about, count in Counter(key.about for key in keys.values()).items() if count > 1]
        assert repeated == []


def test_every_fallback_and_bound_is_a_broker_key_of_the_same_release() -> None:
    for table, key in EVERY:
        brokers = BROKER.keys() | BROKER_REMOVED.keys() if key.legacy else BROKER.keys()
        assert {fallback.name for fallback in key.fallbacks} <= brokers, (table, key.name)
        assert {name for name in key.range_keys if name} <= BROKER.keys(), (table, key.name)


def test_six_topic_keys_have_no_fallback_and_the_first_of_the_others_is_dynamic() -> None:
    assert [name for name, key in TOPIC.items() if not key.fallbacks] == [
        "follower.replication.throttled.replicas",
        "internal.segment.bytes",
        "leader.replication.throttled.replicas",
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
        "remote.storage.enable",
    ]
    assert all(BROKER[key.fallbacks[0].name].mode is UpdateMode.CLUSTER_WIDE for key in TOPIC.values() if key.fallbacks)


def test_fallbacks_in_coarser_units_are_converted() -> None:
    assert TOPIC["retention.ms"].fallbacks == (
        BrokerFallback("log.retention.ms"),
        BrokerFallback("log.retention.minutes", 60_000),
        BrokerFallback("log.retention.hours", 3_600_000),
    )
    assert BROKER["log.retention.minutes"].fallbacks == TOPIC["retention.ms"].fallbacks
    assert BROKER["log.flush.scheduler.interval.ms"].fallbacks == ()


def test_a_topic_key_has_the_default_of_its_broker_key() -> None:
    """If the first fallback has a default: keys in ms have none, because their aliases in hours have it."""
    for key in TOPIC.values():
        if key.fallbacks and (below := BROKER[key.fallbacks[0].name]).default is not None:
            assert (key.default, key.type, key.validator) == (below.default, below.type, below.validator), key.name


def test_a_group_key_has_the_default_of_its_broker_key_and_three_have_none() -> None:
    for key in GROUP.values():
        for fallback in key.fallbacks:
            assert (key.default, key.type) == (BROKER[fallback.name].default, BROKER[fallback.name].type), key.name
    assert [name for name, key in GROUP.items() if not key.fallbacks] == [
        "share.auto.offset.reset",
        "share.isolation.level",
        "share.renew.acknowledge.enable",
    ]


def test_keys_with_equal_bounds_share_one_validator() -> None:
    found = [key.validator for _, key in EVERY if key.validator is not None]
    ranges = {str(each): each for each in found if str(each).startswith(("at", "from"))}

    assert {"at least 0", "at least 1"} <= ranges.keys()
    assert all(key.validator is ranges[str(key.validator)] for _, key in EVERY if str(key.validator) in ranges)


def test_every_class_default_is_loadable() -> None:
    defaults = {key.default for _, key in EVERY if key.type is ValueType.CLASS and key.default}

    assert "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder" in defaults
    assert defaults <= KNOWN_CLASSES


def test_users_and_clients_have_the_same_quotas() -> None:
    assert USER_QUOTA.keys() == CLIENT_QUOTA.keys()
