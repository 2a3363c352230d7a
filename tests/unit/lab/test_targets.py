"""Every test runs in exactly one make target, for any folder and mark."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support import targets

ROOT = Path(__file__).parents[3]
TARGETS = ("test", "conformance", "conformance-full", "faults")


def words_of(target: str) -> list[str]:
    """The pytest arguments of `make TARGET`."""
    told = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    (line,) = [line for line in told.stdout.splitlines() if " -m pytest " in line]
    return shlex.split(line.partition(" -m pytest ")[2])


def picks(words: list[str], folder: str, mark: str) -> bool:
    ignored = [word.removeprefix("--ignore=") for word in words if word.startswith("--ignore=")]
    folders = [word for word in words if word.startswith("tests/")] or ["tests"]
    expression = words[words.index("-m") + 1]
    wanted = eval(expression, {}, {name: name == mark for name in targets.MARKS})
    return bool(wanted) and folder not in ignored and any(folder.startswith(each) for each in folders)


def test_every_test_is_in_exactly_one_target() -> None:
    words = {target: words_of(target) for target in TARGETS}

    found = {
        (folder, mark): [target for target in TARGETS if picks(words[target], folder, mark)]
        for folder in ("tests/spark", "tests/conformance")
        for mark in ("", *targets.MARKS)
    }

    assert found == {
        ("tests/spark", ""): ["test"],
        ("tests/spark", "full"): ["conformance-full"],
        ("tests/spark", "faults"): ["faults"],
        ("tests/conformance", ""): ["conformance"],
        ("tests/conformance", "full"): ["conformance-full"],
        ("tests/conformance", "faults"): ["faults"],
    }


def test_ci_runs_the_checks_and_the_tests_without_a_mark() -> None:
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == "make check test conformance"


def test_a_test_has_one_mark_at_most() -> None:
    def item(name: str, *marks: str) -> SimpleNamespace:
        return SimpleNamespace(nodeid=name, get_closest_marker=lambda mark: mark if mark in marks else None)

    one = [item("plain"), item("large", "full"), item("killed", "faults")]
    targets.pytest_collection_modifyitems(one)  # type: ignore[arg-type]
    with pytest.raises(pytest.UsageError, match=r"not both: twice$"):
        targets.pytest_collection_modifyitems([*one, item("twice", "full", "faults")])  # type: ignore[list-item]


def test_the_first_of_a_matrix_is_always_run() -> None:
    first, *others = targets.one_of("4.3.1", ["3.9.2", "3.0.0"])

    assert first == "4.3.1"
    assert [(each.values, [mark.name for mark in each.marks]) for each in others] == [
        (("3.9.2",), ["full"]),
        (("3.0.0",), ["full"]),
    ]
