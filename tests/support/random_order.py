"""The option `--random-order-seed N`: the files in another order, and the tests of each file too. tests/conftest.py
loads this plugin.

The order depends only on the seed, so it can be repeated and is the same on all workers. The tests of a file stay
together, and pytest then groups tests that share a parametrized fixture, so no server starts more often than usual.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import groupby

import pytest

OPTION = "--random-order-seed"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, type=int, metavar="N", help="shuffle the files, and the tests in each")


@pytest.hookimpl(tryfirst=True)  # before pytest groups by fixtures and tests/support/workers.py puts long files first
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seed = config.getoption(OPTION)
    if seed is not None:
        items[:] = shuffled(items, seed)


def pytest_report_header(config: pytest.Config) -> str | None:
    seed = config.getoption(OPTION)
    return None if seed is None else f"random order: {OPTION}={seed}"


def shuffled(items: Sequence[pytest.Item], seed: int) -> list[pytest.Item]:
    """The tests in the order of this seed, those of a file together."""
    source = random.Random(seed)
    files = [list(tests) for _, tests in groupby(items, key=lambda item: item.path)]
    source.shuffle(files)
    for tests in files:
        source.shuffle(tests)
    return [test for tests in files for test in tests]
