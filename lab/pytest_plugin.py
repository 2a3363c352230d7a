"""Fixtures for tests that need a real Kafka: `pytest_plugins = ["lab.pytest_plugin"]`.

Everything lives as long as the session and starts when first asked for. Brokers are shared by all tests of a
session, so a test names its topics after itself; one that needs a broker of its own makes a `KafkaBroker`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Protocol

import pytest

from lab.admin import AdminProbe, probe_jvm
from lab.broker import KafkaBroker
from lab.jvm import JsonJvm
from lab.tools import ToolServer


class MakeProbe(Protocol):
    """`make_probe(address)`; the probes of a release share a JVM, and are closed with the session."""

    def __call__(
        self, bootstrap: str, version: str = "4.3.1", *, properties: Mapping[str, str] | None = None
    ) -> AdminProbe: ...


@pytest.fixture(scope="session")
def kafka_431() -> Iterator[KafkaBroker]:
    with KafkaBroker("4.3.1") as broker:
        yield broker


@pytest.fixture(scope="session")
def kafka_392() -> Iterator[KafkaBroker]:
    with KafkaBroker("3.9.2") as broker:
        yield broker


@pytest.fixture(scope="session")
def tools() -> Iterator[ToolServer]:
    """The command line tools of 4.3.1."""
    with ToolServer("4.3.1") as server:
        yield server


@pytest.fixture(scope="session")
def tools_392() -> Iterator[ToolServer]:
    """The command line tools of 3.9.2."""
    with ToolServer("3.9.2") as server:
        yield server


@pytest.fixture(scope="session")
def make_probe() -> Iterator[MakeProbe]:
    with contextlib.ExitStack() as stack:
        jvms: dict[str, JsonJvm] = {}

        def make(bootstrap: str, version: str = "4.3.1", *, properties: Mapping[str, str] | None = None) -> AdminProbe:
            if version not in jvms:
                jvms[version] = stack.enter_context(probe_jvm(version))
            return AdminProbe(bootstrap, version, properties=properties, jvm=jvms[version])

        yield make
