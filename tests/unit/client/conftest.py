"""A kconf process for the tests of both clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from kconf import NewTopic
from tests.support.process import KconfProcess
from tests.unit.client.drivers import KINDS, driver


@pytest.fixture(scope="session")
def server() -> Iterator[KconfProcess]:
    with KconfProcess() as process:
        yield process


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def admin(kind: str, server: KconfProcess) -> Iterator[Any]:
    with driver(kind, server.bootstrap) as client:
        yield client


@pytest.fixture
def topic(admin: Any) -> str:
    name = f"t-{uuid4().hex[:12]}"
    admin.create_topics([NewTopic(name, 2, 1, configs=[("retention.ms", "1000")])]).raise_for_failures()
    return name
