"""A separate server for each test, because a default quota affects everyone."""

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
