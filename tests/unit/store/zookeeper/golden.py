"""Kafka's own znodes, as a real 3.9.2 and its tools wrote them (zookeeper_golden.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

GOLDEN = json.loads((Path(__file__).parent / "zookeeper_golden.json").read_text())
ZNODES: list[tuple[str, str, str]] = [
    (step["step"], znode["path"], znode["data"])
    for step in GOLDEN["steps"]
    for znode in step["znodes"]
    if znode["op"] != "delete" and znode["data"]
]


def golden(*roots: str) -> list[Any]:
    return [
        pytest.param(path, data, id=f"{step}-{path}")
        for step, path, data in ZNODES
        if any(path.startswith(f"{root}/") for root in roots)
    ]


def unstamped(data: bytes) -> Any:
    """The document without kconf's own fields."""
    facts = json.loads(data)
    assert facts.pop("kconf")
    return facts
