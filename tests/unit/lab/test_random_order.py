"""With a seed, files and the tests in each are shuffled in a way that can be repeated; without one nothing changes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.support import random_order

FILES = [Path(f"tests/test_{name}.py") for name in "abcde"]
WRITTEN: list[Any] = [SimpleNamespace(path=file, name=f"test_{number}") for file in FILES for number in range(6)]


def _ordered(seed: int | None) -> list[Any]:
    items = list(WRITTEN)
    config: Any = SimpleNamespace(getoption={random_order.OPTION: seed}.__getitem__)
    random_order.pytest_collection_modifyitems(config, items)
    return items


def test_without_a_seed_the_order_is_unchanged() -> None:
    assert _ordered(None) == WRITTEN


def test_each_seed_gives_an_order_that_can_be_repeated() -> None:
    assert _ordered(7) == _ordered(7)
    assert WRITTEN != _ordered(7) != _ordered(8) != WRITTEN


def test_files_are_shuffled_and_the_tests_of_a_file_stay_together() -> None:
    items = _ordered(7)
    files = list(dict.fromkeys(each.path for each in items))

    assert sorted(files) == FILES != files
    assert [each.path for each in items] == [file for file in files for _ in range(6)]
    assert any([each.name for each in items if each.path == file] != [f"test_{n}" for n in range(6)] for file in FILES)
    assert all(each in items for each in WRITTEN)
