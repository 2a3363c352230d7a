from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kconf.errors import StoreError
from kconf.store.base import Store
from tests.contract.stores import DURABLE_STORES, STORES, Opener


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = STORES[request.param](tmp_path)()
    yield opened
    with suppress(StoreError):
        opened.close()


@pytest.fixture(params=DURABLE_STORES)
def durable(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens the same durable store each time."""
    return STORES[request.param](tmp_path)
