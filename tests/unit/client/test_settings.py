"""Addresses and limits of a client."""

from __future__ import annotations

import pytest

from kconf import ConfigurationError, Plain, Tls
from kconf.client.settings import Address, Bootstrap, ClientSettings, SecuritySettings, Timeouts


def test_bootstrap_addresses_are_parsed_once_each() -> None:
    found = Bootstrap.parse(["a:1, b:2", "PLAINTEXT://a:1", "[::1]:3"])

    assert found == Bootstrap((Address("a", 1), Address("b", 2), Address("::1", 3)))
    assert [str(each) for each in found.addresses] == ["a:1", "b:2", "[::1]:3"]


def test_brokers_and_controllers_exclude_each_other() -> None:
    assert Bootstrap.parse((), "c:9").controllers
    for brokers, controllers in (("", ""), ("a:1", "c:9")):
        with pytest.raises(ConfigurationError, match="pass either"):
            Bootstrap.parse(brokers, controllers)


def test_a_request_never_outlasts_its_call() -> None:
    timeouts = Timeouts(call=60, request=30)

    assert [timeouts.request_limit(each) for each in (None, 5, 90)] == [30, 5, 30]
    assert [timeouts.request_limit_ms(each) for each in (None, 0.0001)] == [30_000, 1]
    assert Timeouts(call=1e12, request=1e12).request_limit_ms(None) == 2**31 - 1


def test_the_wait_of_a_server_is_shorter_than_the_request_timeout() -> None:
    timeouts = Timeouts(call=60, request=30)

    assert [timeouts.long_poll(wait, timeout) for wait, timeout in ((20, None), (40, None), (20, 10), (-1, None))] == [
        20,
        24,
        8,
        0,
    ]


def test_a_client_is_anonymous_without_a_login_or_certificate() -> None:
    assert SecuritySettings().is_anonymous
    assert SecuritySettings(Tls()).is_anonymous
    assert not SecuritySettings(Tls(certificate="me.pem")).is_anonymous
    assert SecuritySettings(sasl=Plain("alice", "s3cret")).username == "alice"


def test_settings_show_no_secret() -> None:
    settings = ClientSettings(Bootstrap.parse("a:1"), security=SecuritySettings(sasl=Plain("alice", "s3cret")))

    assert repr(settings) == "ClientSettings(a:1, client_id='kconf')"
