"""What ZooKeeper shows to everybody."""

from __future__ import annotations

from collections.abc import Iterator

from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError

from lab.zookeeper import ZooKeeper


def readable_znodes(zookeeper: ZooKeeper, chroot: str) -> Iterator[tuple[str, bytes]]:
    """Path and data of every znode below a path that can be read without a login."""
    client = KazooClient(hosts=zookeeper.address)
    client.start(timeout=120)
    waiting = [chroot]
    while waiting:
        path = waiting.pop()
        try:
            yield path, client.get(path)[0] or b""
        except NoAuthError:
            continue
        waiting += [f"{path}/{name}" for name in client.get_children(path)]
    client.stop()
    client.close()
