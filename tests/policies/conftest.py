"""Real kconf processes with policies: classes from recorder.py, and rules in a file."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.policies import recorder
from tests.support.admin import Admin
from tests.support.process import KconfProcess

ALTER, CREATE = "alter.config.policy.class.name", "create.topic.policy.class.name"
STATIC = {"auto.create.topics.enable": "false", "num.partitions": "3", "log.retention.ms": "7200000"}


def classes(alter: str | None = None, create: str | None = None, **more: str) -> KconfProcess:
    """A server with these classes of recorder.py."""
    named = {ALTER: alter, CREATE: create}
    properties = {key: f"{recorder.__file__}:{name}" for key, name in named.items() if name is not None}
    return KconfProcess(properties={**STATIC, **properties, **more})


class Asked:
    """The calls of a server's policies since the last time."""

    def __init__(self, server: KconfProcess) -> None:
        self._path = server.directory / recorder.FILE
        self._seen = len(self._lines())

    def __call__(self) -> list[dict[str, Any]]:
        lines = self._lines()[self._seen :]
        self._seen += len(lines)
        return [json.loads(line) for line in lines]

    def wait(self) -> None:
        """Wait until the next call."""
        until(lambda: len(self._lines()) > self._seen)

    def _lines(self) -> list[str]:
        return self._path.read_text().splitlines() if self._path.exists() else []


def until(holds: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def server() -> Iterator[KconfProcess]:
    """A server with both policies in one class."""
    with classes("Both", "Both") as process:
        yield process


@pytest.fixture
def admin(server: KconfProcess) -> Iterator[Admin]:
    with Admin(server.bootstrap) as connection:
        yield connection


@pytest.fixture
def asked(server: KconfProcess) -> Asked:
    return Asked(server)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A unique topic name without an instruction for the recorder."""
    return "t-" + re.sub(r"[^A-Za-z0-9-]", "-", request.node.name)[-60:]


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    return tmp_path / "policy.yaml"
