"""Common mistakes get a message that says what to do next."""

from __future__ import annotations

import argparse
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kconf.cli.common.hints import NO_CLUSTER, NO_LOGIN, NO_TLS, hints
from kconf.errors import ConnectionFailed
from tests.cli.commands.scenarios import People, a_name
from tests.cli.conftest import run_program
from tests.support.process import KconfProcess


@contextmanager
def a_web_server() -> Iterator[str]:
    """An HTTP server, which rejects Kafka requests."""

    def answer() -> None:
        line, _ = listener.accept()
        with line:
            line.recv(16)
            line.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


def test_a_web_server_port_is_distinguished_from_kafka() -> None:
    with a_web_server() as address:
        ran = run_program("describe", "topic:x", "-b", address)

    assert (ran.status, ran.err) == (
        4,
        f"kconf: {address}: this is an HTTP server, not Kafka; check the port\n",
    )


@pytest.mark.parametrize("command", ["set topic:{} retenton.ms=1d", "topic create {}.new --config retenton.ms=1d"])
def test_a_misspelled_key_gets_a_suggestion(people: People, command: str) -> None:
    name = a_name("typo")
    people.topics(name)

    assert people(command.format(name), status=1).err.splitlines()[-1] == "retenton.ms: did you mean retention.ms?"


def test_an_unknown_key_unlike_any_other_and_an_invalid_value_get_no_hint(people: People) -> None:
    name = a_name("typo")
    people.topics(name)

    assert people.whole(f"set topic:{name} color=red", status=1)["notes"] == []
    assert people.whole(f"set topic:{name} segment.bytes=1", status=1)["notes"] == []


def test_a_key_that_kconf_does_not_know_is_sent_to_the_broker(people: People) -> None:
    note = "my.custom.key: kconf does not know this key; the broker decides whether to accept it"

    assert people.whole("set broker:default my.custom.key=1 --dry-run")["notes"] == [note]
    assert people.whole("set broker:default log.retention.ms=7d --dry-run")["notes"] == []
    assert note in people.whole("describe broker:default --key my.custom.key")["notes"]


def test_a_command_without_a_cluster_explains_how_to_name_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KCONF_CONTEXT", raising=False)
    monkeypatch.setenv("KCONF_CONFIG", str(tmp_path / "none.yaml"))
    away = ConnectionFailed("cannot connect")

    assert hints(argparse.Namespace(bootstrap_server=None, context=None), [], away) == [NO_CLUSTER]
    assert hints(argparse.Namespace(bootstrap_server="127.0.0.1:1", context=None), [], away) == []
    monkeypatch.setenv("KCONF_CONTEXT", "prod")
    assert hints(argparse.Namespace(bootstrap_server=None, context=None), [], away) == []


def test_a_missing_login_and_tls_to_a_plaintext_listener_are_explained(tmp_path: Path) -> None:
    properties = {"sasl.enabled.mechanisms": "SCRAM-SHA-512"}
    tls = tmp_path / "tls.properties"
    tls.write_text("security.protocol=SSL\n")
    with KconfProcess(properties=properties, listeners=["PLAINTEXT", "SASL_PLAINTEXT"]) as server:
        without = run_program("describe", "topic:x", "-b", server.address("SASL_PLAINTEXT"), "--timeout", "20")
        encrypted = run_program(
            "describe", "topic:x", "-b", server.address("PLAINTEXT"), "--command-config", str(tls), "--timeout", "20"
        )

    assert (without.status, without.err.splitlines()[-1]) == (4, NO_LOGIN)
    assert (encrypted.status, encrypted.err.splitlines()[-1]) == (4, NO_TLS)


def test_an_argument_without_a_type_suggests_a_topic(people: People) -> None:
    for command in ("describe orders", "set orders retention.ms=1d", "unset orders retention.ms", "history orders"):
        assert "topic:orders" in people(command, status=2).err
