"""Creates a store in ZooKeeper for a copy.

During the copy, a znode marks the store as incomplete, and no server opens it. If a copy was killed, the next one
deletes what is left of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

from kazoo.exceptions import KazooException

from kconf.errors import StoreMismatch
from kconf.security.value_cipher import Secrets
from kconf.store.base import InitialIdentity
from kconf.store.zookeeper import paths
from kconf.store.zookeeper.session import ZookeeperSession, store_errors
from kconf.store.zookeeper.store import ZookeeperStore
from kconf.store.zookeeper.url import ZookeeperUrl

_ZOOKEEPER_OWN = {"zookeeper"}  # exists in every ensemble


@contextmanager
def initialize(url: str, identity: InitialIdentity, secrets: Secrets) -> Iterator[ZookeeperStore]:
    """Create a store to be filled. It can be opened after the block ends; after an error, nothing is left."""
    session = ZookeeperSession(ZookeeperUrl.parse(url), secrets)
    session.open()
    with closing(session):
        with store_errors():
            if session.get(paths.COPY_IN_PROGRESS) is not None:
                _clear(session)
            if set(session.children("/")) - _ZOOKEEPER_OWN:
                raise StoreMismatch(f"{url} is not empty; the target of a copy must be empty")
            session.get_or_create(paths.COPY_IN_PROGRESS, b"")
        try:
            with closing(ZookeeperStore.open(url, secrets, identity)) as store:
                yield store
            with store_errors():
                session.client.delete(paths.COPY_IN_PROGRESS)
        except BaseException:
            with suppress(KazooException):
                _clear(session)
            raise


def _clear(session: ZookeeperSession) -> None:
    """Delete everything, COPY_IN_PROGRESS last."""
    kconf = paths.KCONF.removeprefix("/")
    for name in session.children("/"):
        if name not in _ZOOKEEPER_OWN | {kconf}:
            session.client.delete(f"/{name}", recursive=True)
    for name in session.children(paths.KCONF):
        if f"{paths.KCONF}/{name}" != paths.COPY_IN_PROGRESS:
            session.client.delete(f"{paths.KCONF}/{name}", recursive=True)
    session.client.delete(paths.COPY_IN_PROGRESS)
    session.client.delete(paths.KCONF)
