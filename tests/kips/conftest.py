"""One connection to a real kconf process per test; `own_server` is for tests that change what all topics inherit.

The static configs set `log.segment.bytes`, to show its precedence, and a password.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.support.admin import Admin
from tests.support.process import KconfProcess

STATIC = {"log.segment.bytes": "2000000", "ssl.key.password": "a-secret", "auto.create.topics.enable": "false"}


@pytest.fixture(scope="module")
def server() -> Iterator[KconfProcess]:
    with KconfProcess(properties=STATIC) as process:
        yield process


@pytest.fixture
def admin(server: KconfProcess) -> Iterator[Admin]:
    with Admin(server.bootstrap) as connection:
        yield connection


@pytest.fixture
def own_server() -> Iterator[KconfProcess]:
    with KconfProcess(properties=STATIC) as process:
        yield process


@pytest.fixture
def own_admin(own_server: KconfProcess) -> Iterator[Admin]:
    with Admin(own_server.bootstrap) as connection:
        yield connection


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A unique topic name."""
    return re.sub(r"[^A-Za-z0-9-]", "-", request.node.name)[:200]
