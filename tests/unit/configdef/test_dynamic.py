from __future__ import annotations

import pytest

from kconf.configdef import dynamic
from kconf.configdef.broker import BROKER
from kconf.configdef.catalog import kafka_43
from kconf.configdef.dynamic import base_name, broker_synonyms, is_password_name, without_listener
from kconf.configdef.group import GROUP
from kconf.configdef.key import UpdateMode


def test_102_names_are_dynamic_37_of_them_per_broker() -> None:
    assert (len(dynamic.DYNAMIC), len(dynamic.PER_BROKER), len(dynamic.CLUSTER_WIDE)) == (102, 37, 65)


def test_ten_keys_define_the_tls_stores() -> None:
    assert len(dynamic.SSL_STORES) == 10
    assert all(BROKER[name].mode is UpdateMode.PER_BROKER for name in dynamic.SSL_STORES)


def test_every_key_in_the_sets_is_dynamic() -> None:
    for names in (
        dynamic.PREFIXED_CLUSTER_WIDE,
        dynamic.THREAD_POOLS,
        dynamic.ABOVE_ZERO,
        dynamic.LISTENER_KEYS,
        dynamic.LISTENER_MAY_CHANGE,
        dynamic.LOG_DEFAULTS,
    ):
        assert names <= dynamic.DYNAMIC


def test_topics_take_28_defaults_from_dynamic_broker_keys() -> None:
    """Up to 3.9 there are 30: 4.0 removed two."""
    assert len(dynamic.LOG_DEFAULTS) == 28


def test_seven_dynamic_keys_are_passwords_with_or_without_a_prefix() -> None:
    assert len(dynamic.PASSWORDS) == 7
    assert is_password_name("listener.name.x.plain.sasl.jaas.config")
    assert is_password_name("my.ssl.key.password")
    assert not is_password_name("ssl.keystore.location")
    assert not is_password_name("delegation.token.secret.key")


@pytest.mark.parametrize(
    ("name", "base", "rest"),
    [
        ("log.roll.ms", "log.roll.ms", "log.roll.ms"),
        ("listener.name.x.ssl.key.password", "ssl.key.password", "ssl.key.password"),
        ("listener.name.x.plain.sasl.jaas.config", "sasl.jaas.config", "plain.sasl.jaas.config"),
        ("listener.name.x.sasl.login.class", "sasl.login.class", "sasl.login.class"),
        ("listener.name.x.gssapi.sasl.kerberos.kinit.cmd",) + ("gssapi.sasl.kerberos.kinit.cmd",) * 2,
        ("listener.name..max.connections", "max.connections", "max.connections"),
        ("listener.name.x", "listener.name.x", "listener.name.x"),
        ("plain.sasl.jaas.config", "plain.sasl.jaas.config", "plain.sasl.jaas.config"),
    ],
)
def test_a_name_is_stripped_of_listener_and_mechanism(name: str, base: str, rest: str) -> None:
    assert base_name(name) == base
    assert without_listener(name) == rest


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("log.roll.ms", ("log.roll.ms", "log.roll.hours")),
        ("log.roll.hours", ("log.roll.ms", "log.roll.hours")),
        ("log.roll.jitter.hours", ("log.roll.jitter.ms", "log.roll.jitter.hours")),
        ("log.flush.interval.ms", ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")),
        ("log.flush.scheduler.interval.ms", ("log.flush.scheduler.interval.ms",)),
        ("log.retention.minutes", ("log.retention.ms", "log.retention.minutes", "log.retention.hours")),
        ("num.io.threads", ("num.io.threads",)),
        ("custom", ("custom",)),
        ("listener.name.x.max.connections", ("listener.name.x.max.connections", "max.connections")),
        (
            "listener.name.x.plain.sasl.jaas.config",
            ("listener.name.x.plain.sasl.jaas.config", "sasl.jaas.config"),
        ),
    ],
)
def test_a_broker_key_is_looked_up_under_its_aliases(name: str, names: tuple[str, ...]) -> None:
    assert broker_synonyms(name) == names


def test_a_dynamic_key_with_a_listener_prefix_does_not_count_as_dynamic() -> None:
    """As in Kafka, although only the name with the prefix can be altered per broker."""
    assert "ssl.keystore.location" in kafka_43().dynamic
    assert "listener.name.x.ssl.keystore.location" not in kafka_43().dynamic
    assert "log.retention.hours" not in kafka_43().dynamic


def test_group_keys_have_the_bounds_of_broker_keys() -> None:
    bounds = dynamic.GROUP_BOUNDS

    assert bounds["consumer.session.timeout.ms"] == (
        "group.consumer.min.session.timeout.ms",
        "group.consumer.max.session.timeout.ms",
    )
    assert bounds["streams.num.standby.replicas"] == (None, "group.streams.max.standby.replicas")
    assert GROUP.keys() - bounds.keys() == {
        "share.auto.offset.reset",
        "share.isolation.level",
        "share.renew.acknowledge.enable",
        "streams.initial.rebalance.delay.ms",
    }


def test_broker_defaults_of_groups_have_the_same_bounds() -> None:
    assert {f"group.{name}": pair for name, pair in dynamic.GROUP_BOUNDS.items()} == dynamic.BROKER_BOUNDS


def test_defaults_are_within_their_bounds() -> None:
    for name, (lowest, highest) in dynamic.BROKER_BOUNDS.items():
        value = int(BROKER[name].default or 0)
        assert lowest is None or int(BROKER[lowest].default or 0) <= value
        assert highest is None or value <= int(BROKER[highest].default or 0)


def test_a_session_outlasts_a_heartbeat_in_three_protocols() -> None:
    assert len(dynamic.SESSION_OVER_HEARTBEAT) == 3
    for session, heartbeat in dynamic.SESSION_OVER_HEARTBEAT:
        assert int(GROUP[session].default or 0) > int(GROUP[heartbeat].default or 0)
