from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kconf.errors import StoreError
from kconf.store.base import Store
from tests.contract.stores import DURABLE, KEEPERS, Opener


@pytest.fixture(params=KEEPERS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = KEEPERS[request.param](tmp_path)()
    yield opened
    with suppress(StoreError):
        opened.close()


@pytest.fixture(params=DURABLE)
def durable(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens the same durable store each time."""
    return KEEPERS[request.param](tmp_path)
