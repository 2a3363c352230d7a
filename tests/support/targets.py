"""Which make target runs a test. tests/conftest.py loads this plugin.

| target                  | tests                                                          |
|-------------------------|----------------------------------------------------------------|
| `make test`             | without a mark, outside of tests/conformance                   |
| `make conformance`      | without a mark, in tests/conformance                           |
| `make conformance-full` | marked `full`: the rest of large matrices                      |
| `make faults`           | marked `faults`: many crashes, lost connections, long fuzzing  |

A marked test has an unmarked representative: the same test with another parameter, or a smaller test next to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

MARKS = ("full", "faults")


@pytest.hookimpl(tryfirst=True)  # before `-m` deselects
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    both = [item.nodeid for item in items if len(marks_of(item)) > 1]
    if both:
        raise pytest.UsageError(f"a test is marked {' or '.join(MARKS)}, not both: {', '.join(both)}")


def marks_of(item: pytest.Item) -> list[str]:
    return [name for name in MARKS if item.get_closest_marker(name) is not None]


def one_of(smoke: object, rest: Iterable[object]) -> list[Any]:
    """The parameters of a matrix: one always runs, and `make conformance-full` runs the others."""
    return [smoke, *(marked(each, pytest.mark.full) for each in rest)]


def marked(parameter: object, *marks: pytest.MarkDecorator) -> Any:
    """A parameter, or a tuple of parameters, that runs in another target."""
    return pytest.param(*(parameter if isinstance(parameter, tuple) else (parameter,)), marks=marks)
