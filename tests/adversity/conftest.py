from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.process import KconfProcess


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fuzz-frames", type=int, default=100_000, help="mutated frames that tests/adversity/test_fuzz.py sends"
    )


@pytest.fixture(scope="module")
def kconf() -> Iterator[KconfProcess]:
    """One server for the tests of a module."""
    with KconfProcess() as process:
        yield process
