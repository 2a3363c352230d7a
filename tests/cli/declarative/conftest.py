"""A kconf server with an authorizer, and the kconf command on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands.scenarios import People
from tests.support.process import KconfProcess

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:alice",
}


@pytest.fixture(scope="module")
def server() -> Iterator[KconfProcess]:
    with KconfProcess(properties=AUTHORIZER) as process:
        yield process


@pytest.fixture
def people(server: KconfProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> People:
    found = People(tmp_path, server.bootstrap)
    monkeypatch.setenv("KCONF_CONFIG", str(found.config))
    monkeypatch.delenv("KCONF_CONTEXT", raising=False)
    return found
