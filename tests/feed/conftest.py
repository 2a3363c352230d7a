"""A real kconf process per test file, with a metrics port; `own_server` for tests that end it or look at all of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.support.admin import Admin
from tests.support.process import KconfProcess

METRICS = ("--metrics", "127.0.0.1:0")


@pytest.fixture(scope="module")
def server() -> Iterator[KconfProcess]:
    with KconfProcess(args=METRICS) as process:
        yield process


@pytest.fixture
def admin(server: KconfProcess) -> Iterator[Admin]:
    with Admin(server.bootstrap) as connection:
        yield connection


@pytest.fixture
def own_server() -> Iterator[KconfProcess]:
    with KconfProcess(args=METRICS) as process:
        yield process


@pytest.fixture
def own_admin(own_server: KconfProcess) -> Iterator[Admin]:
    with Admin(own_server.bootstrap) as connection:
        yield connection


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A unique topic name."""
    return re.sub(r"[^A-Za-z0-9-]", "-", request.node.name)[:200]
