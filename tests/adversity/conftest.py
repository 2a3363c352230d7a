from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.process import KconfProcess


@pytest.fixture(scope="module")
def kconf() -> Iterator[KconfProcess]:
    """One server for the tests of a module."""
    with KconfProcess() as process:
        yield process
