"""A server of its own for each test, since a default quota is everyone's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.process import KconfProcess
from tests.support.quotas import QuotaAdmin


@pytest.fixture
def server() -> Iterator[KconfProcess]:
    with KconfProcess(args=["--metrics", "127.0.0.1:0"]) as process:
        yield process


@pytest.fixture
def admin(server: KconfProcess) -> Iterator[QuotaAdmin]:
    with QuotaAdmin(server.bootstrap) as connection:
        yield connection
