"""`kconf acl` on a kconf process with an authorizer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.commands.scenarios import People, rights_are_added_listed_and_deleted
from tests.support.process import KconfProcess


@pytest.fixture(scope="module")
def server() -> Iterator[KconfProcess]:
    authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    with KconfProcess(properties={"authorizer.class.name": authorizer, "super.users": "User:ANONYMOUS"}) as process:
        yield process


def test_acls_are_added_listed_and_deleted(people: People) -> None:
    rights_are_added_listed_and_deleted(people)
