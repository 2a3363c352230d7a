"""Fixtures for tests that need a real Kafka or a real ZooKeeper; tests/conftest.py loads them.

Everything starts on first use and runs until the end of the session. Brokers are shared by all tests of a session, so a
test uses unique topic names; a test that needs its own broker creates a `KafkaBroker`. ZooKeeper is shared too, and
each test has its own chroot; a test that stops or kills it creates a `ZooKeeper` or an `Ensemble`.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping
from typing import Protocol

import pytest

from lab.admin import AdminProbe, probe_jvm
from lab.broker import KafkaBroker
from lab.jvm import JsonJvm
from lab.tools import ToolServer
from lab.zookeeper import Ensemble, ZooKeeper


class MakeProbe(Protocol):
    """`make_probe(address)`; the probes of a release share a JVM, and are closed at the end of the session."""

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


_CHROOTS = itertools.count(1)


@pytest.fixture(scope="session")
def zookeeper() -> Iterator[ZooKeeper]:
    with ZooKeeper() as server:
        yield server


@pytest.fixture(scope="session")
def zookeeper_ensemble() -> Iterator[Ensemble]:
    """Three servers. A test that kills one must start it again."""
    with Ensemble() as ensemble:
        yield ensemble


@pytest.fixture
def chroot() -> str:
    """A unique path that does not exist yet."""
    return f"/test-{next(_CHROOTS)}"


@pytest.fixture
def zookeeper_url(zookeeper: ZooKeeper, chroot: str) -> str:
    """The test's own store in the shared ZooKeeper."""
    return zookeeper.url(chroot)
