"""The ACLs of a gateway's own: a file that is reloaded when it changes, and left alone when it is not valid."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from kconf.engine.access.acls import Authorizer
from kconf.errors import ConfigurationError
from kconf.model.acl import AclType, Operation
from kconf.server.auth.acl_file import AclFile

ONE = "acls:\n  - {principal: User:alice, resource: topic:orders, operations: [READ]}\n"
OTHER = ONE.replace("orders", "payments")


def may_read(file: AclFile, topic: str) -> bool:
    return Authorizer(file.index).allows("User:alice", "127.0.0.1", Operation.READ, AclType.TOPIC, topic)


def replace(file: Path, text: str | bytes) -> None:
    new = file.with_suffix(".new")
    new.write_bytes(text if isinstance(text, bytes) else text.encode())
    new.rename(file)


def test_a_changed_file_replaces_all_acls(tmp_path: Path) -> None:
    file = tmp_path / "acls.yaml"
    file.write_text(ONE)
    acls = AclFile(str(file))
    authorizer = Authorizer(acls.index)
    question = ("User:alice", "127.0.0.1", Operation.READ, AclType.TOPIC)
    assert [authorizer.allows(*question, each) for each in ("orders", "payments")] == [True, False]
    replace(file, OTHER)
    asyncio.run(acls.refresh())
    assert [authorizer.allows(*question, each) for each in ("orders", "payments")] == [False, True]
    replace(file, "acls: []")
    asyncio.run(acls.refresh())
    assert not authorizer.allows(*question, "payments")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no section acls"),
        ("# nothing\n", "has no section acls"),
        ("version: 1\n", "has no section acls"),
        (ONE.replace("READ", "REED"), ":2:66: unknown operation 'REED'"),
        (ONE + "topics: {}\n", "unknown field 'topics' in an ACL file"),
        (b"acls: []\n# \xff", ":2:3: not UTF-8"),
    ],
)
def test_an_invalid_file_prevents_the_start_and_is_ignored_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str | bytes, message: str
) -> None:
    file = tmp_path / "acls.yaml"
    replace(file, text)
    with pytest.raises(ConfigurationError, match=message):
        AclFile(str(file))
    replace(file, ONE)
    acls = AclFile(str(file))
    replace(file, text)
    with caplog.at_level(logging.ERROR):
        asyncio.run(acls.refresh())
        asyncio.run(acls.refresh())
    assert may_read(acls, "orders")
    (record,) = caplog.records
    assert message in record.getMessage()


def test_a_missing_file_is_reported_once_and_read_when_it_is_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "acls.yaml"
    file.write_text(ONE)
    acls = AclFile(str(file))
    file.unlink()
    with caplog.at_level(logging.ERROR):
        asyncio.run(acls.refresh())
        asyncio.run(acls.refresh())
    assert may_read(acls, "orders")
    assert [each.getMessage().count("cannot read") for each in caplog.records] == [1]
    replace(file, OTHER)
    asyncio.run(acls.refresh())
    assert may_read(acls, "payments")


def test_an_acl_file_is_accepted_only_by_a_gateway() -> None:
    static = {"gateway.acl.file": "/nowhere/acls.yaml"}
    with pytest.raises(ConfigurationError, match="use it with --upstream"):
        AclFile.of(static, is_gateway=False)
    with pytest.raises(ConfigurationError, match=r"cannot read /nowhere/acls\.yaml"):
        AclFile.of(static, is_gateway=True)
    assert AclFile.of({}, is_gateway=False) is None


def test_a_file_that_can_no_longer_be_read_is_reported_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "acls.yaml"
    file.write_text(ONE)
    acls = AclFile(str(file))
    file.unlink()
    file.mkdir()  # it has a signature, and cannot be opened
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            asyncio.run(acls.refresh())
    assert may_read(acls, "orders")
    (record,) = caplog.records
    assert "Is a directory" in record.getMessage()
