"""Invalid broker values: cases where the differential tests found differences between kconf and Kafka."""

from __future__ import annotations

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.engine.configs.broker_validation import check_broker
from kconf.engine.configs.resolver import ConfigResolver
from kconf.errors import InvalidRequest

STATIC = {
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://h:1,CONTROLLER://h:2",
    "advertised.listeners": "PLAINTEXT://h:1",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "log.dirs": "/d",
}
JMX = "org.apache.kafka.common.metrics.JmxReporter"
BUILDER = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"


def refused(**overrides: str) -> bool:
    """Whether these values are refused; `__` means a dot."""
    resulting = {name.replace("__", "."): value for name, value in overrides.items()}
    try:
        check_broker(ConfigResolver(kafka_43(), STATIC, {}, {}), resulting, {}, everywhere=False)
    except InvalidRequest:
        return True
    return False


@pytest.mark.parametrize(("text", "expected"), [("1", False), ("6", False), ("7", True), ("100000", True)])
def test_the_threads_of_a_listener_can_at_most_be_halved_or_doubled(text: str, expected: bool) -> None:
    assert refused(listener__name__plaintext__num__network__threads=text) is expected


def test_a_listener_with_its_own_threads_ignores_the_general_setting() -> None:
    assert refused(num__network__threads="7")
    assert not refused(num__network__threads="7", listener__name__plaintext__num__network__threads="3")


def test_limits_of_controller_listeners_and_unknown_listeners_are_not_checked() -> None:
    assert not refused(listener__name__controller__num__network__threads="7")
    assert not refused(listener__name__nowhere__max__connections="0")


@pytest.mark.parametrize("key", ["max__connections", "max__connection__creation__rate"])
def test_a_listener_needs_at_least_one_connection(key: str) -> None:
    assert refused(**{f"listener__name__plaintext__{key}": "0"})
    assert not refused(**{f"listener__name__plaintext__{key}": "1"})


def test_an_empty_host_in_an_override_is_accepted() -> None:
    assert not refused(max__connections__per__ip__overrides=":1")
    assert refused(max__connections__per__ip__overrides="127.0.0.1")


def test_a_star_for_all_log_directories_may_be_repeated_but_not_combined() -> None:
    assert not refused(cordoned__log__dirs="*,*")
    assert refused(cordoned__log__dirs="*,/d")


def test_a_class_must_implement_the_interface_of_its_key() -> None:
    assert not refused(metric__reporters=f" {JMX} , {JMX}")
    assert refused(metric__reporters="java.lang.String")
    assert not refused(principal__builder__class=BUILDER)
    assert refused(principal__builder__class=JMX)


def test_a_controller_needs_a_listener_for_controllers() -> None:
    assert refused(listeners="PLAINTEXT://h:1")
    assert not refused(listeners="controller://h:5,plaintext://h:7")
