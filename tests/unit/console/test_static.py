"""Vendored files match the recorded digests, and static files have a digest in their address."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

import pytest

from kconf.console.rendering import STATIC, static_path
from tests.unit.console.world import client, snapshot, topics

ROW = re.compile(r"^\| ([\w.\-]+\.js) \|.*\| ([0-9a-f]{64}) \|$", re.MULTILINE)
TESTS = Path(__file__).parents[2] / "console" / "vendored"


@pytest.mark.parametrize(("place", "count"), [(STATIC, 2), (TESTS, 1)], ids=["console", "tests"])
def test_vendored_files_have_the_recorded_hash(place: Path, count: int) -> None:
    noted = dict(ROW.findall((place / "VENDORED.md").read_text()))
    assert len(noted) == count
    assert {name: sha256((place / name).read_bytes()).hexdigest() for name in noted} == noted


def test_a_static_file_may_be_cached_forever_only_under_its_digest() -> None:
    browser = client({"home": snapshot(topics({}))})
    current = browser.get(static_path("console.css"))
    assert (current.status_code, "immutable" in current.headers["cache-control"]) == (200, True)
    assert browser.get("/-/static/000/console.css").headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("name", ["nothing.css", "..%2ftemplates%2fbase.html", "%2e%2e/templates/base.html"])
def test_only_static_files_are_served(name: str) -> None:
    assert client({"home": snapshot(topics({}))}).get(f"/-/static/0/{name}").status_code == 404
