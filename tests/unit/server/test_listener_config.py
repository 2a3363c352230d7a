"""Listeners from the command line and server.properties."""

from __future__ import annotations

import pytest

from kconf.errors import ConfigurationError
from kconf.server.listener_config import (
    SecurityProtocol,
    SocketAddress,
    parse_address,
    read_listeners,
    with_listeners,
)

MAP = "listener.security.protocol.map"


def said(given: list[str], **static: str) -> list[str]:
    properties = {key.replace("_", "."): value for key, value in static.items()}
    return [
        f"{each.name} {each.protocol} {each.address} {each.advertised}" for each in read_listeners(given, properties)
    ]


def test_the_default_listener_is_on_loopback() -> None:
    assert said([]) == ["PLAINTEXT PLAINTEXT 127.0.0.1:9092 None"]


def test_the_command_line_replaces_the_file() -> None:
    assert said(["127.0.0.1:1", "sasl_ssl://[::1]:2"], listeners="SSL://:9") == [
        "PLAINTEXT PLAINTEXT 127.0.0.1:1 None",
        "SASL_SSL SASL_SSL [::1]:2 None",
    ]


def test_the_file_names_listeners_and_controllers_are_skipped() -> None:
    static = {
        "listeners": "INSIDE://:9092,CONTROLLER://:9093, OUTSIDE://0.0.0.0:9094",
        "advertised.listeners": "OUTSIDE://example.org:443",
        "controller.listener.names": "CONTROLLER",
        MAP: "INSIDE:PLAINTEXT,OUTSIDE:SASL_SSL,CONTROLLER:PLAINTEXT",
    }
    inside, outside = read_listeners([], static)
    assert (inside.protocol, inside.address, inside.advertised) == (
        SecurityProtocol.PLAINTEXT,
        SocketAddress("", 9092),
        None,
    )
    assert outside.advertised == SocketAddress("example.org", 443)
    assert (inside.is_exposed, inside.is_clear, outside.is_exposed, outside.is_clear) == (True, True, True, False)


def test_a_listen_address_without_a_name_ignores_advertised_listeners() -> None:
    assert said(["127.0.0.1:1"], advertised_listeners="PLAINTEXT://broker:9092") == [
        "PLAINTEXT PLAINTEXT 127.0.0.1:1 None"
    ]
    assert said(["PLAINTEXT://127.0.0.1:1"], advertised_listeners="PLAINTEXT://broker:9092") == [
        "PLAINTEXT PLAINTEXT 127.0.0.1:1 broker:9092"
    ]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "[::1]", "localhost"])
def test_a_loopback_listener_does_not_count_as_exposed(host: str) -> None:
    (listener,) = read_listeners([f"{host}:1"], {})
    assert not listener.is_exposed


@pytest.mark.parametrize(
    ("given", "static", "why"),
    [
        (["a:1", "b:2"], {}, "names must be unique"),
        (["NEW://a:1"], {}, "no entry"),
        (["NEW://a:1"], {MAP: "NEW:TELNET"}, "TELNET"),
        (["a"], {}, "HOST:PORT"),
        (["a:99999"], {}, "HOST:PORT"),
        ([], {"listeners": "9092"}, "NAME://host:port"),
        (
            [],
            {"listeners": "C://:1", "controller.listener.names": "C", MAP: "C:PLAINTEXT"},
            "controller listeners only",
        ),
        (["SSL://a:1"], {"advertised.listeners": "SSL://0.0.0.0:1"}, "clients cannot connect"),
    ],
)
def test_an_invalid_listener_is_refused(given: list[str], static: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        read_listeners(given, static)


def test_a_setting_with_the_prefix_of_the_listener_takes_precedence() -> None:
    (listener,) = read_listeners(["SSL://a:1"], {})
    effective = {"ssl.a": "1", "ssl.b": "2", "listener.name.ssl.ssl.b": "3", "listener.name.other.ssl.a": "4", "x": "5"}
    assert listener.settings(effective, "ssl.") == {"ssl.a": "1", "ssl.b": "3"}
    assert (listener.setting(effective, "ssl.b"), listener.setting(effective, "ssl.c")) == ("3", None)


def shown(given: list[str], static: dict[str, str], *ports: int) -> tuple[str | None, str | None]:
    """`listeners` and `advertised.listeners` in a describe response, after these ports were bound."""
    listeners = read_listeners(given, static)
    bound = {
        each: each.address._replace(port=port) if port else each.address
        for each, port in zip(listeners, ports or [0] * len(listeners), strict=True)
    }
    found = with_listeners(static, bound)
    assert {**found, "listeners": "", "advertised.listeners": ""} == {
        **static,
        "listeners": "",
        "advertised.listeners": "",
    }
    return found.get("listeners"), found.get("advertised.listeners")


def test_a_describe_shows_the_addresses_that_were_bound() -> None:
    assert shown(["127.0.0.1:0"], {"x": "y"}, 7) == ("PLAINTEXT://127.0.0.1:7", "PLAINTEXT://127.0.0.1:7")
    assert shown(["SSL://a:1", "[::1]:0"], {}, 0, 8) == ("SSL://a:1,PLAINTEXT://[::1]:8",) * 2
    assert shown([], {}) == ("PLAINTEXT://127.0.0.1:9092",) * 2
    assert shown([], {"listeners": "PLAINTEXT://a:0"}, 9) == ("PLAINTEXT://a:9", "PLAINTEXT://a:9")


def test_a_describe_shows_the_text_of_the_file_if_it_was_bound() -> None:
    static = {"listeners": "INSIDE://:9092, C://:9093", "controller.listener.names": "C", MAP: "INSIDE:PLAINTEXT"}

    assert shown([], static) == ("INSIDE://:9092, C://:9093", None)
    assert shown(["a:1"], static | {MAP: "PLAINTEXT:PLAINTEXT"}) == ("PLAINTEXT://a:1,C://:9093", "PLAINTEXT://a:1")


def test_a_describe_shows_the_advertised_address_that_clients_get() -> None:
    file = {"advertised.listeners": "SSL://broker:443,PLAINTEXT://broker:80"}

    assert shown(["SSL://a:1", "a:2"], file)[1] == "SSL://broker:443,PLAINTEXT://a:2"
    assert shown(["0.0.0.0:1"], {"advertised.listeners": "PLAINTEXT://broker:80"}) == ("PLAINTEXT://0.0.0.0:1", None)


def test_an_address_without_a_host_is_on_loopback_by_default() -> None:
    assert parse_address(":1") == SocketAddress("127.0.0.1", 1)
    assert parse_address(":1", everywhere="") == SocketAddress("", 1)
