"""A failed start prints one clear sentence on stderr and exits with a non-zero status, never a traceback."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.support.process import KconfProcess

Scene = Callable[[Path], Sequence[str]]
"""Prepares a directory, and says what `kconf serve` is given there."""


def _options(*options: str) -> Scene:
    return lambda _place: options


def _override(*pairs: str) -> Scene:
    return lambda _place: [word for pair in pairs for word in ("--override", pair)]


def _config(text: str | bytes) -> Scene:
    def scene(place: Path) -> Sequence[str]:
        file = place / "server.properties"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return ["--config", str(file)]

    return scene


def _foreign_file(place: Path) -> Sequence[str]:
    (place / "kconf.db").write_bytes(b"these are not the bytes of a database, however long you look at them" * 100)
    return []


def _directory(place: Path) -> Sequence[str]:
    (place / "kconf.db").mkdir()
    return []


def _unreadable_config(place: Path) -> Sequence[str]:
    (place / "folder.properties").mkdir()
    return ["--config", str(place / "folder.properties")]


REFUSED: dict[str, tuple[Scene, str]] = {
    "an address without a port": (_options("--listen", "localhost"), "HOST:PORT"),
    "a port that is none": (_options("--listen", "127.0.0.1:many"), "HOST:PORT"),
    "a port that is too large": (_options("--listen", "127.0.0.1:65536"), "HOST:PORT"),
    "digits of another script": (_options("--listen", "127.0.0.1:²"), "HOST:PORT"),
    "a host that is none": (_options("--listen", "no.such.host.invalid:0"), "no.such.host.invalid"),
    "a host that cannot be a name": (_options("--listen", f"{'x' * 70}:0"), "listen"),
    "an empty label": (_options("--listen", "a..b:0"), "listen"),
    "an address of someone else": (_options("--listen", "192.0.2.1:0"), "192.0.2.1"),
    "a bad metrics address": (_options("--metrics", "nowhere"), "HOST:PORT"),
    "a metrics host that is none": (_options("--metrics", "no.such.host.invalid:0"), "no.such.host.invalid"),
    "an unknown store": (_options("--store", "unknown://localhost/kconf"), "unknown"),
    "a store without a file": (_options("--store", "sqlite:///"), "FILE"),
    "a store in no directory": (_options("--store", "sqlite:///nowhere/kconf.db"), "nowhere"),
    "a store that is a directory": (_directory, "directory"),
    "a store that is something else": (_foreign_file, "not a kconf store"),
    "a file that is not there": (_options("--config", "missing.properties"), "missing.properties"),
    "a file that is a directory": (_unreadable_config, "folder.properties"),
    "a file that is not text": (_config(b"\xff\xfe\x00node.id=1"), "server.properties"),
    "a broken escape": (_config("broker.rack=\\u12"), "server.properties"),
    "a value that its key does not take": (_config("num.partitions=many"), "num.partitions"),
    "an override without a value": (_override("log.retention.ms"), "key=value"),
    "an override without a key": (_override("=1"), "key=value"),
    "a bad override": (_override("num.partitions=0"), "num.partitions"),
    "ids that differ": (_config("node.id=1\nbroker.id=2"), "differ"),
    "an id that is no number": (_override("node.id=one"), "node.id"),
    "a negative id": (_options("--node-id", "-7"), "node.id"),
    "an id that is too large": (_options("--node-id", str(2**31)), "node.id"),
    "a listener without a keystore": (_options("--listen", "SSL://127.0.0.1:0"), "ssl.keystore.location"),
    "a limit of nothing": (_override("socket.request.max.bytes=0"), "socket.request.max.bytes"),
}


@pytest.mark.parametrize(("scene", "word"), REFUSED.values(), ids=REFUSED)
def test_a_failed_start_prints_one_message(scene: Scene, word: str, tmp_path: Path) -> None:
    options = scene(tmp_path)

    said, status = _serve(tmp_path, *options)

    _is_a_sentence(said, word)
    assert "--recover" not in said  # a new store has no dynamic configs to blame
    assert status == 1


@pytest.mark.parametrize(
    "options", [["--node-id", "one"], ["--log-level", "LOUD"], ["--nonsense"], ["--override"]], ids=" ".join
)
def test_an_invalid_option_is_a_usage_error(options: Sequence[str], tmp_path: Path) -> None:
    said, status = _serve(tmp_path, *options)

    _is_a_sentence(said.replace("kconf serve: ", "kconf: ", 1), "kconf serve --help")
    assert status == 2


@pytest.mark.parametrize(
    "key", ["authorizer.class.name", "alter.config.policy.class.name", "create.topic.policy.class.name"]
)
def test_a_missing_class_prevents_the_start(key: str, tmp_path: Path) -> None:
    """Starting without it would allow access that the file forbids."""
    said, status = _serve(tmp_path, "--override", f"{key}=org.example.Missing")

    _is_a_sentence(said, key)
    assert status == 1


def test_a_port_in_use_prevents_the_start(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])

        said, status = _serve(tmp_path, "--listen", f"127.0.0.1:{port}")
        said_too, status_too = _serve(tmp_path, "--metrics", f"127.0.0.1:{port}")

    _is_a_sentence(said, port)
    _is_a_sentence(said_too, port)
    assert (status, status_too) == (1, 1)


def test_a_store_that_another_server_uses_prevents_the_start_and_is_not_changed(tmp_path: Path) -> None:
    with KconfProcess() as first:
        said, status = _serve(tmp_path, "--store", first.store)

        _is_a_sentence(said, str(first.pid))
        assert status == 1
        assert first.is_running


def _serve(place: Path, *options: str) -> tuple[str, int]:
    """The output and exit status of a server that must not start."""
    given = ["--store", f"sqlite:///{place}/kconf.db"] if "--store" not in options else []
    listen = ["--listen", "127.0.0.1:0"] if "--listen" not in options else []
    command = [sys.executable, "-m", "kconf", "serve", *listen, *given, *options]
    done = subprocess.run(command, cwd=place, capture_output=True, timeout=120, check=False)
    assert done.stdout == b""
    return done.stderr.decode(), done.returncode


def _is_a_sentence(said: str, word: str) -> None:
    assert said.startswith("kconf: ")
    assert said.count("\n") == 1
    assert word in said
