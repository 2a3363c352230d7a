"""Reads an archive, and starts a server that writes one."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from kconf.model.journal import Revision
from kconf.model.lines.journal import read_revisions
from kconf.store.registry import open_store
from tests.support.process import KconfProcess

Line = dict[str, Any]


def archiving(
    directory: Path, *, store: str | None = None, node_id: int = 1, log_level: str = "INFO", **properties: str
) -> KconfProcess:
    """A server; `archive_interval_ms="50"` sets archive.interval.ms=50. By default it writes only when flushed."""
    named = {name.replace("_", "."): value for name, value in properties.items()}
    properties = {"archive.interval.ms": "600000", **named}
    args = ["--archive", str(directory), "--metrics", "127.0.0.1:0", "--log-level", log_level]
    return KconfProcess(properties=properties, store=store, node_id=node_id, args=args)


def names(directory: Path, kind: str = "") -> list[str]:
    """The visible files of all clusters, in order."""
    found = sorted(each.name for each in directory.glob("*/*.jsonl") if not each.name.startswith("."))
    return [each for each in found if each.startswith("attempts-") == bool(kind)]


def lines(directory: Path, kind: str = "") -> list[Line]:
    """All lines, in the order of the names."""
    wanted = set(names(directory, kind))
    paths = sorted(each for each in directory.glob("*/*.jsonl") if each.name in wanted)
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def archived(directory: Path) -> list[Revision]:
    return list(read_revisions(lines(directory)))


def journal(url: str) -> list[Revision]:
    """The whole journal of a store that no server has open."""
    store = open_store(url)
    try:
        return list(store.changes(store.oldest() - 1, 10**9))
    finally:
        store.close()


def assert_same(found: list[Revision], expected: list[Revision]) -> None:
    """Both have the same revisions, once each and in order."""
    assert [each.number for each in found] == [each.number for each in expected]
    assert [each.sequence for each in found] == [each.sequence or each.number for each in expected]
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.time, ours.caller, ours.origin) == (theirs.time, theirs.caller, theirs.origin)
        assert tuple(ours.changes) == tuple(theirs.changes)


def kconf(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the program with these arguments."""
    command = [sys.executable, "-m", "kconf", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def flush(directory: Path) -> str:
    done = kconf("archive", "flush", str(directory))
    assert done.returncode == 0, done.stderr
    return done.stdout


def figures(server: KconfProcess) -> Mapping[str, float]:
    assert server.metrics_url is not None
    text = urllib.request.urlopen(server.metrics_url, timeout=60).read().decode()
    families = text_string_to_metric_families(text)
    return {sample.name: sample.value for family in families for sample in family.samples}


def health(server: KconfProcess) -> dict[str, Any]:
    assert server.metrics_url is not None
    with urllib.request.urlopen(server.metrics_url.replace("/metrics", "/health"), timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for a condition, with a long timeout for a busy machine."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)
