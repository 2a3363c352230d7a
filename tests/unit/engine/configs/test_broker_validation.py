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
def test_the_threads_of_one_listener_are_halved_or_doubled_at_most(text: str, expected: bool) -> None:
    assert refused(listener__name__plaintext__num__network__threads=text) is expected


def test_a_listener_with_its_own_threads_ignores_the_general_setting() -> None:
    assert refused(num__network__threads="7")
    assert not refused(num__network__threads="7", listener__name__plaintext__num__network__threads="3")


def test_listeners_that_carry_no_data_or_do_not_exist_have_no_limits() -> None:
    assert not refused(listener__name__controller__num__network__threads="7")
    assert not refused(listener__name__nowhere__max__connections="0")


@pytest.mark.parametrize("key", ["max__connections", "max__connection__creation__rate"])
def test_a_listener_accepts_a_login(key: str) -> None:
    assert refused(**{f"listener__name__plaintext__{key}": "0"})
    assert not refused(**{f"listener__name__plaintext__{key}": "1"})


def test_an_empty_host_is_this_one() -> None:
    assert not refused(max__connections__per__ip__overrides=":1")
    assert refused(max__connections__per__ip__overrides="127.0.0.1")


def test_all_log_directories_may_be_given_twice() -> None:
    assert not refused(cordoned__log__dirs="*,*")
    assert refused(cordoned__log__dirs="*,/d")


def test_only_classes_that_can_do_it_report_metrics_or_build_principals() -> None:
    assert not refused(metric__reporters=f" {JMX} , {JMX}")
    assert refused(metric__reporters="java.lang.String")
    assert not refused(principal__builder__class=BUILDER)
    assert refused(principal__builder__class=JMX)


def test_a_controller_keeps_a_listener_for_controllers() -> None:
    assert refused(listeners="PLAINTEXT://h:1")
    assert not refused(listeners="controller://h:5,plaintext://h:7")
