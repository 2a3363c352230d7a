"""Encrypted values: only the right key in the right context decrypts them."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from kconf.configdef.dynamic import is_broker_secret
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.plan import PendingCommit
from kconf.model.resource import Overrides, Resource
from kconf.security.value_cipher import Secrets, ValueCipher
from kconf.store.registry import open_store

STORE_KEY, OTHER = bytes(range(32)), bytes(32)
KEY = "listener.name.ssl.ssl.keystore.password"
SECRET = "pässword-" + "x" * 300


def test_a_value_is_decrypted_only_in_the_context_it_was_encrypted_for() -> None:
    cipher = ValueCipher(STORE_KEY)
    encrypted = cipher.encrypt("1\0a", SECRET)
    assert cipher.decrypt("1\0a", encrypted) == SECRET
    assert cipher.decrypt("1\0b", encrypted) is None
    assert ValueCipher(OTHER).decrypt("1\0a", encrypted) is None
    assert ValueCipher(STORE_KEY, Secrets("another")).decrypt("1\0a", encrypted) == SECRET, (
        "encrypted with the key file alone"
    )


@pytest.mark.parametrize("value", ["", "x", "y" * 64, "z" * 65, "\0", "ü" * 1000])
def test_a_value_of_any_length_is_decrypted(value: str) -> None:
    cipher = ValueCipher(STORE_KEY, Secrets("secret"))
    assert cipher.decrypt("p", cipher.encrypt("p", value)) == value


def test_encrypting_a_value_twice_gives_different_texts() -> None:
    cipher = ValueCipher(STORE_KEY)
    assert cipher.encrypt("p", SECRET)[1] != cipher.encrypt("p", SECRET)[1]


def test_modified_bytes_are_not_decrypted() -> None:
    cipher = ValueCipher(STORE_KEY)
    name, text = cipher.encrypt("p", SECRET)
    for spoiled in ([name, "A" + text[1:]], [name, text[:-4]], [name], ["0" * 12, text], [name, "!"], []):
        if spoiled != [name, text]:
            assert cipher.decrypt("p", spoiled) is None


def test_only_values_encrypted_with_the_current_secret_are_current() -> None:
    """Other values are encrypted again when a store is opened."""
    first, rotated = ValueCipher(STORE_KEY, Secrets("first")), ValueCipher(STORE_KEY, Secrets("second", "first"))
    encrypted = first.encrypt("p", SECRET)
    assert first.is_current(encrypted)
    assert not rotated.is_current(encrypted)
    assert not first.is_current(ValueCipher(STORE_KEY).encrypt("p", SECRET))
    assert rotated.is_current(rotated.encrypt("p", SECRET))


def test_unknown_broker_keys_and_passwords_are_secret() -> None:
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


def test_a_secret_is_rotated_with_the_help_of_the_old_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "kconf.db"
    put(path, Secrets("first"), key=SECRET)
    assert got(path, Secrets("first"))[KEY] == SECRET
    assert got(path, Secrets("second", "first"))[KEY] == SECRET, (
        "decrypted with the old one, encrypted again with the new one"
    )
    assert got(path, Secrets("second"))[KEY] == SECRET
    with caplog.at_level(logging.ERROR):
        assert KEY not in got(path, Secrets("first"))
    assert KEY in caplog.text
    assert got(path, Secrets("second"))[KEY] == SECRET, "what could not be decrypted was left as it was"


def test_values_stored_without_a_secret_are_encrypted_with_a_later_one(tmp_path: Path) -> None:
    path = tmp_path / "kconf.db"
    put(path, Secrets(), key=SECRET)
    assert got(path, Secrets("first"))[KEY] == SECRET
    assert KEY not in got(path, Secrets())
    assert got(path, Secrets("first"))[KEY] == SECRET
