"""Locked values: they open with the right key in the right place, and show nothing otherwise."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from kconf.configdef.dynamic import is_broker_secret
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.plan import PendingCommit
from kconf.model.resource import Overrides, Resource
from kconf.security.value_cipher import Secrets, ValueCipher
from kconf.store.base import open_store

SEAL, OTHER = bytes(range(32)), bytes(32)
KEY = "listener.name.ssl.ssl.keystore.password"
SECRET = "pässword-" + "x" * 300


def test_a_value_opens_where_it_was_locked_and_nowhere_else() -> None:
    vault = ValueCipher(SEAL)
    kept = vault.lock("1\0a", SECRET)
    assert vault.open("1\0a", kept) == SECRET
    assert vault.open("1\0b", kept) is None
    assert ValueCipher(OTHER).open("1\0a", kept) is None
    assert ValueCipher(SEAL, Secrets("another")).open("1\0a", kept) == SECRET, (
        "what the key file alone locked still opens"
    )


@pytest.mark.parametrize("value", ["", "x", "y" * 64, "z" * 65, "\0", "ü" * 1000])
def test_values_of_any_length(value: str) -> None:
    vault = ValueCipher(SEAL, Secrets("secret"))
    assert vault.open("p", vault.lock("p", value)) == value


def test_two_locks_of_one_value_have_nothing_in_common() -> None:
    vault = ValueCipher(SEAL)
    assert vault.lock("p", SECRET)[1] != vault.lock("p", SECRET)[1]


def test_touched_bytes_do_not_open() -> None:
    vault = ValueCipher(SEAL)
    name, text = vault.lock("p", SECRET)
    for spoiled in ([name, "A" + text[1:]], [name, text[:-4]], [name], ["0" * 12, text], [name, "!"], []):
        if spoiled != [name, text]:
            assert vault.open("p", spoiled) is None


def test_what_is_secret() -> None:
    assert is_broker_secret(KEY)
    assert is_broker_secret("my.own.key")
    assert not is_broker_secret("log.retention.ms")
    assert not is_broker_secret("listener.name.ssl.ssl.keystore.location")


def put(path: Path, secrets: Secrets, **values: str) -> None:
    store = open_store(f"sqlite:///{path}", secrets)
    changes = [
        Change(ChangeKind.CONFIG, Resource.broker(1), KEY if key == "key" else key, None, value, "set", key == "key")
        for key, value in values.items()
    ]
    store.commit([PendingCommit(RequestContext(), 1, changes, {})])
    store.close()


def got(path: Path, secrets: Secrets) -> Overrides:
    store = open_store(f"sqlite:///{path}", secrets)
    try:
        return store.load().overrides(Resource.broker(1))
    finally:
        store.close()


def bytes_of(path: Path) -> bytes:
    return b"".join(each.read_bytes() for each in path.parent.iterdir())


def test_no_file_of_a_store_has_the_value(tmp_path: Path) -> None:
    path = tmp_path / "kconf.db"
    put(path, Secrets(), key=SECRET, plain="seen")
    assert got(path, Secrets()) == {KEY: SECRET, "plain": "seen"}
    assert SECRET.encode() not in bytes_of(path)
    assert SECRET.encode("unicode-escape") not in bytes_of(path)


def test_a_secret_is_rotated(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "kconf.db"
    put(path, Secrets("first"), key=SECRET)
    assert got(path, Secrets("first"))[KEY] == SECRET
    assert got(path, Secrets("second", "first"))[KEY] == SECRET, "opened with the old, locked again with the new"
    assert got(path, Secrets("second"))[KEY] == SECRET
    with caplog.at_level(logging.ERROR):
        assert KEY not in got(path, Secrets("first"))
    assert KEY in caplog.text
    assert got(path, Secrets("second"))[KEY] == SECRET, "what could not be opened was left alone"


def test_a_secret_that_comes_later(tmp_path: Path) -> None:
    path = tmp_path / "kconf.db"
    put(path, Secrets(), key=SECRET)
    assert got(path, Secrets("first"))[KEY] == SECRET
    assert KEY not in got(path, Secrets())
    assert got(path, Secrets("first"))[KEY] == SECRET
