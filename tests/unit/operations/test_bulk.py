"""The rate limit, with a clock that the test advances, and the resume file."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconf.errors import ConfigurationError
from kconf.model.resource import Resource, ResourceType
from kconf.operations.bulk import ResumeFile, paced


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_rate_is_enforced() -> None:
    clock = Clock()
    times = [clock.now for _ in paced([[1] * 50] * 5, 100.0, clock, clock.sleep)]
    assert times == [100.0, 100.5, 101.0, 101.5, 102.0]


def test_without_a_rate_there_are_no_pauses() -> None:
    clock = Clock()
    assert len(list(paced([[1]] * 9, None, clock, clock.sleep))) == 9
    assert clock.now == 100.0


def test_completed_changes_are_skipped_only_by_the_same_command(tmp_path: Path) -> None:
    path = str(tmp_path / "done")
    a, b = Resource.topic("a"), Resource.topic("b")
    first = ResumeFile(path, "set", "segment.ms=1")
    assert first.missing([a, b]) == [a, b]
    first.record([a])

    assert ResumeFile(path, "set", "segment.ms=1").missing([a, b]) == [b]
    with pytest.raises(ConfigurationError, match="another command"):
        ResumeFile(path, "set", "segment.ms=2")
    with pytest.raises(ConfigurationError, match="another command"):
        ResumeFile(path, "unset", "segment.ms=1")
    assert oct(Path(path).stat().st_mode)[-3:] == "600"


def test_a_name_with_a_line_separator_is_one_entry_of_the_resume_file(tmp_path: Path) -> None:
    path, odd = str(tmp_path / "done"), Resource(ResourceType.GROUP, "one\u2028two")
    ResumeFile(path, "set", "x").record([odd])

    assert ResumeFile(path, "set", "x").missing([odd, Resource.topic("b")]) == [Resource.topic("b")]


def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        ResumeFile(str(tmp_path), "set", "x")
    with pytest.raises(ConfigurationError):
        ResumeFile(str(tmp_path / "no" / "where"), "set", "x")
