"""Real kconf servers that share a store in a real ZooKeeper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from kazoo.client import KazooClient

from lab.zookeeper import ZooKeeper
from tests.support.admin import Admin
from tests.support.process import KconfProcess

METRICS = ("--metrics", "127.0.0.1:0")

Serve = Callable[..., KconfProcess]
"""Starts a server on this test's store; `properties` and the like go to KconfProcess."""


@pytest.fixture
def serve(zookeeper_url: str) -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(node_id: int = 1, **options: object) -> KconfProcess:
            process = KconfProcess(store=zookeeper_url, node_id=node_id, args=METRICS, **options)  # type: ignore[arg-type]
            return stack.enter_context(process)

        yield start


@pytest.fixture
def two(serve: Serve) -> Iterator[tuple[Admin, Admin]]:
    """Clients of two servers."""
    with Admin(serve(1).bootstrap) as one, Admin(serve(2).bootstrap) as other:
        yield one, other


@pytest.fixture
def znodes(zookeeper: ZooKeeper, chroot: str) -> Iterator[KazooClient]:
    """A client of the ZooKeeper itself, in this test's chroot."""
    client = KazooClient(zookeeper.address)
    client.start()
    client.ensure_path(chroot)
    client.chroot = chroot
    yield client
    client.stop()
    client.close()
