"""Creates the znodes of a new store, and reads its identity."""

from __future__ import annotations

import json
from secrets import token_bytes
from typing import Final, NamedTuple
from uuid import uuid4

from kconf.errors import ConfigurationError, StoreMismatch
from kconf.model.snapshot import encode_id
from kconf.store.base import InitialIdentity
from kconf.store.zookeeper import paths
from kconf.store.zookeeper.session import ZookeeperSession

_FORMAT: Final = b"1"


class StoreIdentity(NamedTuple):
    cluster_id: str
    epoch: int
    store_key: bytes


def open_layout(session: ZookeeperSession, url: str, identity: InitialIdentity | None) -> StoreIdentity:
    """Create missing znodes, with `identity` if given. Raises StoreMismatch if the store cannot be used."""
    if identity is None and session.get(paths.COPY_IN_PROGRESS) is not None:
        raise StoreMismatch(f"{url} is an incomplete copy; run the copy again")
    if session.get(paths.JOURNAL) is None:
        _create(session, identity or InitialIdentity(encode_id(uuid4()), epoch=1))
    if session.get_or_create(paths.FORMAT, _FORMAT) != _FORMAT:
        raise StoreMismatch(f"{url} was written by a newer version of kconf")
    found = session.get_many((paths.STORE_KEY, paths.CLUSTER_ID, paths.EPOCH))
    store_key, cluster_id, epoch = (data for _, data, _ in found)
    return StoreIdentity(read_cluster_id(cluster_id), int(epoch), store_key)


def _create(session: ZookeeperSession, identity: InitialIdentity) -> None:
    """Create all znodes, the journal's directory last: if it exists, everything else does."""
    for each in paths.ROOTS:
        session.get_or_create(each, b"")
    session.get_or_create(paths.FORMAT, _FORMAT)
    session.get_or_create(paths.CLOCK, b"")
    session.get_or_create(paths.OLDEST, b"1")
    session.get_or_create(paths.STORE_KEY, token_bytes(32), private=True)
    session.get_or_create(paths.CLUSTER_ID, json.dumps({"version": "1", "id": identity.cluster_id}).encode())
    session.get_or_create(paths.EPOCH, str(identity.epoch).encode())
    session.get_or_create(paths.JOURNAL, b"")


def read_cluster_id(data: bytes) -> str:
    try:
        return str(json.loads(data)["id"])
    except (ValueError, KeyError, TypeError):
        raise ConfigurationError(f"{paths.CLUSTER_ID} in ZooKeeper is not in Kafka's format") from None
