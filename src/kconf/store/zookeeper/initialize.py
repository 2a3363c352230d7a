"""A new store in ZooKeeper that goes on where another one ended.

Until it is whole a znode says so, and no server opens it. What a copy left that could not clean up after itself, the
next one removes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

from kazoo.exceptions import KazooException

from kconf.errors import StoreMismatch
from kconf.security.value_cipher import Secrets
from kconf.store.base import InitialIdentity
from kconf.store.zookeeper import paths as at
from kconf.store.zookeeper.session import Session, ZookeeperUrl, failures
from kconf.store.zookeeper.store import ZookeeperStore

_ITS_OWN = {"zookeeper"}  # at the very top of every ensemble


@contextmanager
def founded(url: str, founding: InitialIdentity, secrets: Secrets) -> Iterator[ZookeeperStore]:
    """The store to fill. It can be opened by others once the block has ended well; else nothing is left."""
    session = Session(ZookeeperUrl.of(url), secrets)
    session.open()
    with closing(session):
        with failures():
            if session.get(at.COPYING) is not None:
                _clear(session)
            if set(session.children("/")) - _ITS_OWN:
                raise StoreMismatch(f"{url} is not empty: a copy goes into an empty place")
            session.create_once(at.COPYING, b"")
        try:
            store = ZookeeperStore.open(url, secrets, cluster_id=founding.cluster_id, epoch=founding.epoch)
            with closing(store):
                yield store
            with failures():
                session.client.delete(at.COPYING)
        except BaseException:
            with suppress(KazooException):
                _clear(session)
            raise


def _clear(session: Session) -> None:
    """Remove everything; the mark goes last."""
    top = at.OURS.removeprefix("/")
    for name in session.children("/"):
        if name not in _ITS_OWN | {top}:
            session.client.delete(f"/{name}", recursive=True)
    for name in session.children(at.OURS):
        if f"{at.OURS}/{name}" != at.COPYING:
            session.client.delete(f"{at.OURS}/{name}", recursive=True)
    session.client.delete(at.COPYING)
    session.client.delete(at.OURS)
