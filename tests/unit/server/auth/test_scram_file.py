"""The SCRAM users of a gateway's own: a file that is reloaded when it changes, and that only its owner can read."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from kconf.errors import ConfigurationError
from kconf.model.scram import Mechanism
from kconf.security.scram import credential, salted_password
from kconf.security.scram_file import credential_line
from kconf.server.auth.scram_file import ScramFile
from kconf.server.auth.upstream_credentials import UpstreamDummyCredentials

SHA = Mechanism.SCRAM_SHA_512


def line(user: str, salt: bytes = b"s" * 20) -> str:
    return credential_line(user, SHA, credential(SHA, salted_password(SHA, "pw", salt, 4096), salt, 4096)) + "\n"


def replace(file: Path, text: str, mode: int = 0o600) -> None:
    new = file.with_suffix(".new")
    new.write_text(text)
    new.chmod(mode)
    new.rename(file)


def test_a_changed_file_replaces_all_users(tmp_path: Path) -> None:
    file = tmp_path / "users"
    replace(file, line("alice") + line("bob"))
    users = ScramFile(str(file))
    assert sorted(users.credentials.names()) == [("alice", SHA), ("bob", SHA)]
    replace(file, line("carol"))
    asyncio.run(users.refresh())
    assert users.credentials.names() == [("carol", SHA)]
    assert users.credentials.text("alice", SHA) is None


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        ("", 0o600, "has no SCRAM credentials"),
        ("alice:pw", 0o600, ":1: a line must be"),
        (line("alice"), 0o640, "other users have access to .*; run chmod 600 "),
        (line("alice"), 0o602, "other users have access to .*; run chmod 600 "),
    ],
)
def test_an_invalid_file_stops_the_start_and_later_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, mode: int, message: str
) -> None:
    file = tmp_path / "users"
    replace(file, text, mode)
    with pytest.raises(ConfigurationError, match=message):
        ScramFile(str(file))
    replace(file, line("bob"))
    users = ScramFile(str(file))
    replace(file, text, mode)
    with caplog.at_level(logging.ERROR):
        asyncio.run(users.refresh())
    assert users.credentials.names() == [("bob", SHA)]
    assert "invalid SCRAM file; the current credentials stay in effect" in caplog.text


def test_unknown_users_look_like_those_of_the_changed_file(tmp_path: Path) -> None:
    file = tmp_path / "users"
    replace(file, line("alice", b"s" * 33))
    users = ScramFile(str(file))
    dummies = UpstreamDummyCredentials(b"k" * 32, users.credentials)
    assert len(dummies.credential(SHA, "nobody").salt) == 33
    replace(file, line("alice", b"s" * 40))
    asyncio.run(users.refresh())
    assert len(dummies.credential(SHA, "nobody").salt) == 40


def test_the_file_is_a_setting_of_a_gateway(tmp_path: Path) -> None:
    file = tmp_path / "users"
    replace(file, line("alice"))
    static = {"gateway.scram.file": str(file)}
    assert ScramFile.of({}, is_gateway=True) is None
    assert ScramFile.of(static, is_gateway=True) is not None
    with pytest.raises(ConfigurationError, match="use it with --upstream"):
        ScramFile.of(static, is_gateway=False)
