"""Move a cluster into another store: `kconf store copy`.

All state goes along: topics with their ids, configs, quotas, credentials, ACLs, and the values that a store keeps
locked. The journal stays where it is. The new store has the cluster's id and the next epoch, and its journal begins
with the whole state, so that it too can be read from its beginning. Others can open it once all of it is there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from typing import NamedTuple

from kconf.configdef.dynamic import is_broker_secret
from kconf.errors import ConfigurationError, StoreError, StoreMismatch
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource, ResourceType
from kconf.model.snapshot import Snapshot, topic_to_json
from kconf.security.value_cipher import NO_SECRETS, Secrets
from kconf.store.base import InitialIdentity, Store, check_kazoo, open_store

TOGETHER = 100  # resources in one revision
AT_ONCE = 20  # revisions in one commit

Tell = Callable[[int, int], None]
"""Hears how many resources of how many are there."""


class Copied(NamedTuple):
    """What was copied, and where the new store stands."""

    topics: int
    resources: int
    cluster_id: str
    epoch: int
    revision: int


def copy_store(source_url: str, target_url: str, secrets: Secrets = NO_SECRETS, tell: Tell = lambda *_: None) -> Copied:
    """Copy everything, or nothing: what fails half-way leaves no store behind that could be taken for a whole one.

    Raises StoreMismatch where the target is not empty, and StoreError where a value cannot be read.
    """
    with closing(open_store(source_url, secrets, read_only=True)) as source:
        snapshot = source.load()
        _check_readable(source)
        founding = InitialIdentity(source.cluster_id, source.epoch + 1)
        with _founded(target_url, founding, secrets) as target:
            _write(snapshot, target, f"copied from {source.url}", tell)
            _check_equal(snapshot, target.load())
            count = len(_resources(snapshot))
            return Copied(len(snapshot.topics), count, *founding, target.load().revision)


def _founded(url: str, founding: InitialIdentity, secrets: Secrets) -> AbstractContextManager[Store]:
    if url.startswith("sqlite:///"):
        from kconf.store.sqlite.initialize import founded

        return founded(url, founding, secrets)
    if url.startswith("zookeeper://"):
        check_kazoo(url)
        from kconf.store.zookeeper import initialize as zookeeper_founding

        return zookeeper_founding.founded(url, founding, secrets)
    raise ConfigurationError(f"nothing can be copied to {url!r}: use sqlite:///FILE or zookeeper://HOST:PORT/CHROOT")


def _check_readable(source: Store) -> None:
    lost = getattr(source, "unreadable", ())
    if lost:
        raise StoreError(
            f"{source.url} has values that cannot be read, {lost[0]} first: mend or remove them, "
            "or give the password.encoder.secret that they were set with (--config)"
        )


def _write(snapshot: Snapshot, target: Store, reason: str, tell: Tell) -> None:
    caller = RequestContext("User:kconf", "kconf", "localhost", "kconf store copy", reason=reason)
    resources = _resources(snapshot)
    for start in range(0, len(resources), TOGETHER * AT_ONCE):
        some = resources[start : start + TOGETHER * AT_ONCE]
        now = int(time.time() * 1000)
        drafts = [
            PendingCommit(
                caller, now, [line for each in some[at : at + TOGETHER] for line in lines(snapshot, each)], {}
            )
            for at in range(0, len(some), TOGETHER)
        ]
        for answer in target.commit(drafts):
            if isinstance(answer, Exception):
                raise answer
        tell(start + len(some), len(resources))


def _resources(snapshot: Snapshot) -> list[Resource]:
    named = {Resource.topic(name) for name in snapshot.topics}
    return sorted(named | set(snapshot.configs))


def lines(snapshot: Snapshot, resource: Resource) -> Iterator[Change]:
    """What makes a resource as it is from nothing."""
    if resource.type == ResourceType.TOPIC and resource.name in snapshot.topics:
        made = topic_to_json(snapshot.topics[resource.name])
        yield Change(ChangeKind.TOPIC, resource, "", None, made, "create")
    for key, value in snapshot.overrides(resource).items():
        yield Change(ChangeKind.CONFIG, resource, key, None, value, "set", sensitive=_sensitive(resource, key))


def _sensitive(resource: Resource, key: str) -> bool:
    if resource.type == ResourceType.SCRAM:
        return True
    return resource.type == ResourceType.BROKER and is_broker_secret(key)


def _check_equal(source: Snapshot, target: Snapshot) -> None:
    """The copy is read back before anyone may use it."""
    for resource in _resources(source):
        if target.overrides(resource) != source.overrides(resource):
            raise StoreMismatch(f"the copy of {resource} is not what it should be; nothing was copied")
    if target.topics != source.topics or len(target.configs) != len(source.configs):
        raise StoreMismatch("the copy has not the topics and resources that it should have; nothing was copied")
