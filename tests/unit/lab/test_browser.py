"""Finding and controlling a browser: errors are reported in one sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lab import browser
from lab.browser import Browser
from lab.java import LabError


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty PATH, not on macOS."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(browser, "MAC", tmp_path / "none")
    return tmp_path


def tool(path: Path, name: str, script: str) -> Path:
    (path / name).write_text(f"#!/bin/sh\n{script}\n")
    (path / name).chmod(0o755)
    return path / name


@pytest.mark.parametrize("name", ["chromium", "google-chrome"])
def test_a_browser_is_found_by_any_of_its_names(path: Path, name: str) -> None:
    there = tool(path, name, "exit 0")

    assert browser.browser() == str(there)


def test_a_missing_browser_is_reported_with_the_package_to_install(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert browser.main() == 1
    assert capsys.readouterr().err == (
        "The tests need a real browser, and none was found: install the package chromium.\n"
    )


def test_an_error_of_apt_get_is_reported(path: Path) -> None:
    tool(path, "apt-get", "echo 'Reading lists' >&2; echo 'E: no such host' >&2; exit 100")

    with pytest.raises(LabError, match=r"apt-get could not install chromium.*: E: no such host$"):
        browser.install()


def test_a_browser_that_exits_at_once_is_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(path, "chromium", "exit 7")
    monkeypatch.setenv("PATH", f"{path}:/bin:/usr/bin")
    before = set(os.listdir("/dev/fd"))

    with pytest.raises(LabError, match="The browser exited with 7"), Browser():
        pass
    assert set(os.listdir("/dev/fd")) == before


def test_an_impossible_step_is_reported_and_the_rest_continues() -> None:
    with Browser() as real:
        with pytest.raises(LabError, match=r"The browser refused Page\.fly: "):
            real.call("Page.fly")
        tab = real.open("data:text/html,<p>words</p>", width=300)

        assert tab.ask("document.querySelector('p').textContent") == "words"
        with pytest.raises(LabError, match="The page cannot evaluate nothing"):
            tab.ask("nothing.at.all")
