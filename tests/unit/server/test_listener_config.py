"""Listeners as the command line and server.properties name them."""

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


def test_without_a_word_there_is_one_on_loopback() -> None:
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


def test_a_bare_address_has_nothing_to_do_with_the_files_advertised_listeners() -> None:
    assert said(["127.0.0.1:1"], advertised_listeners="PLAINTEXT://broker:9092") == [
        "PLAINTEXT PLAINTEXT 127.0.0.1:1 None"
    ]
    assert said(["PLAINTEXT://127.0.0.1:1"], advertised_listeners="PLAINTEXT://broker:9092") == [
        "PLAINTEXT PLAINTEXT 127.0.0.1:1 broker:9092"
    ]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "[::1]", "localhost"])
def test_loopback_is_not_exposed(host: str) -> None:
    (listener,) = read_listeners([f"{host}:1"], {})
    assert not listener.is_exposed


@pytest.mark.parametrize(
    ("given", "static", "why"),
    [
        (["a:1", "b:2"], {}, "each needs a name"),
        (["NEW://a:1"], {}, "no entry"),
        (["NEW://a:1"], {MAP: "NEW:TELNET"}, "TELNET"),
        (["a"], {}, "HOST:PORT"),
        (["a:99999"], {}, "HOST:PORT"),
        ([], {"listeners": "9092"}, "NAME://host:port"),
        ([], {"listeners": "C://:1", "controller.listener.names": "C", MAP: "C:PLAINTEXT"}, "controllers only"),
        (["SSL://a:1"], {"advertised.listeners": "SSL://0.0.0.0:1"}, "nobody can connect"),
    ],
)
def test_what_cannot_be_listened_on(given: list[str], static: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        read_listeners(given, static)


def test_a_listeners_own_setting_wins() -> None:
    (listener,) = read_listeners(["SSL://a:1"], {})
    effective = {"ssl.a": "1", "ssl.b": "2", "listener.name.ssl.ssl.b": "3", "listener.name.other.ssl.a": "4", "x": "5"}
    assert listener.settings(effective, "ssl.") == {"ssl.a": "1", "ssl.b": "3"}
    assert (listener.setting(effective, "ssl.b"), listener.setting(effective, "ssl.c")) == ("3", None)


def test_a_describe_tells_what_the_command_line_named() -> None:
    given = ["SSL://a:1"]
    assert with_listeners({"x": "y"}, given, read_listeners(given, {})) == {"x": "y", "listeners": "SSL://a:1"}
    assert with_listeners({"x": "y"}, ["a:1"], read_listeners(["a:1"], {})) == {"x": "y"}


def test_an_address_without_a_host() -> None:
    assert parse_address(":1") == SocketAddress("127.0.0.1", 1)
    assert parse_address(":1", everywhere="") == SocketAddress("", 1)
