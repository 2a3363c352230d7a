"""Finding Java: a missing or old version is reported in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import java
from lab.java import LabError


@pytest.fixture(autouse=True)
def _forget_what_was_found() -> Iterator[None]:
    tools = (java.java, java.javac, java.maven)
    for each in tools:
        each.cache_clear()
    yield
    for each in tools:
        each.cache_clear()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty JAVA_HOME, and nothing on the PATH."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    return tmp_path


def tool(home: Path, name: str, says: str) -> Path:
    path = home / "bin" / name
    path.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("says", ['openjdk version "17.0.15" 2025-04-15', 'java version "25" 2025-09-16 LTS'])
def test_a_jdk_of_17_or_newer_is_taken_from_java_home(home: Path, says: str) -> None:
    path = tool(home, "java", says)

    assert java.java() == str(path)


def test_an_old_compiler_is_refused_with_its_version(home: Path) -> None:
    tool(home, "javac", "javac 1.8.0_402")

    with pytest.raises(LabError, match="is version 8"):
        java.javac()


def test_missing_java_is_reported(home: Path) -> None:
    with pytest.raises(LabError, match="no `java` is in JAVA_HOME or on the PATH"):
        java.java()


def test_missing_maven_is_reported(home: Path) -> None:
    with pytest.raises(LabError, match="no `mvn` on the PATH"):
        java.maven()
