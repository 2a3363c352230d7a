"""Copies a cluster to another store: `kconf store copy`.

Copies the whole state: topics with their ids, configs, quotas, credentials, ACLs and encrypted values. The journal is
not copied. The new store has the same cluster id and the next epoch. Its journal starts with the creation of the whole
state, so that it can be replayed from the start. The new store can be opened only after the copy is complete.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from logging import getLogger
from typing import Final, NamedTuple

from kconf.errors import StoreDamaged, StoreError, StoreMismatch
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource, ResourceType
from kconf.model.snapshot import Snapshot, topic_to_json
from kconf.security.value_cipher import NO_SECRETS, Secrets
from kconf.store.base import FeatureStore, InitialIdentity, Store, elr_version_of
from kconf.store.registry import initialize_store, open_damaged_store, open_store
from kconf.store.sensitive import is_sensitive

log = getLogger(__name__)

_RESOURCES_PER_REVISION: Final = 100
_REVISIONS_PER_COMMIT: Final = 20

Progress = Callable[[int, int], None]
"""Called with the number of resources copied so far and the total number."""


class CopyResult(NamedTuple):
    """What was copied, and the identity and last revision of the new store."""

    topics: int
    resources: int
    cluster_id: str
    epoch: int
    revision: int


def copy_store(
    source_url: str, target_url: str, secrets: Secrets = NO_SECRETS, progress: Progress = lambda *_: None
) -> CopyResult:
    """Copy everything or nothing: after an error, no incomplete store is left.

    Raises StoreMismatch if the target is not empty, and StoreError if a value of the source cannot be read.
    """
    with closing(_open_source(source_url, secrets)) as source:
        snapshot = source.load()
        _check_readable(source)
        identity = InitialIdentity(source.cluster_id, source.epoch + 1)
        with initialize_store(target_url, identity, secrets) as target:
            if isinstance(target, FeatureStore) and not (isinstance(source, FeatureStore) and source.is_undecided):
                target.record_elr_version(elr_version_of(source))
            _write(snapshot, target, f"copied from {source.url}", progress)
            copied = target.load()
            _check_equal(snapshot, copied)
            return CopyResult(len(snapshot.topics), len(_resources(snapshot)), *identity, copied.revision)


def _open_source(url: str, secrets: Secrets) -> Store:
    """Open the source. A store with a damaged journal can be copied if its state is intact."""
    try:
        return open_store(url, secrets, read_only=True)
    except StoreDamaged as error:
        log.warning("%s", error)
        return open_damaged_store(url, secrets)


def _check_readable(source: Store) -> None:
    if source.unreadable:
        raise StoreError(
            f"{source.url} has unreadable values, the first is {source.unreadable[0]}: correct or remove them, or "
            "pass the password.encoder.secret they were encrypted with (--config)"
        )


def _write(snapshot: Snapshot, target: Store, reason: str, progress: Progress) -> None:
    caller = RequestContext("User:kconf", "kconf", "localhost", "kconf store copy", reason=reason)
    resources = _resources(snapshot)
    for start in range(0, len(resources), _RESOURCES_PER_REVISION * _REVISIONS_PER_COMMIT):
        some = resources[start : start + _RESOURCES_PER_REVISION * _REVISIONS_PER_COMMIT]
        now = int(time.time() * 1000)
        revisions = (some[at : at + _RESOURCES_PER_REVISION] for at in range(0, len(some), _RESOURCES_PER_REVISION))
        batch = [
            PendingCommit(caller, now, [change for each in part for change in creation_changes(snapshot, each)], {})
            for part in revisions
        ]
        for result in target.commit(batch):
            if isinstance(result, Exception):
                raise result
        progress(start + len(some), len(resources))


def _resources(snapshot: Snapshot) -> list[Resource]:
    topics = {Resource.topic(name) for name in snapshot.topics}
    return sorted(topics | set(snapshot.configs))


def creation_changes(snapshot: Snapshot, resource: Resource) -> Iterator[Change]:
    """The changes that create a resource as it is in a snapshot."""
    if resource.type == ResourceType.TOPIC and resource.name in snapshot.topics:
        created = topic_to_json(snapshot.topics[resource.name])
        yield Change(ChangeKind.TOPIC, resource, "", None, created, "create")
    for key, value in snapshot.overrides(resource).items():
        yield Change(ChangeKind.CONFIG, resource, key, None, value, "set", sensitive=is_sensitive(resource, key))


def _check_equal(source: Snapshot, target: Snapshot) -> None:
    """Verify the copy before others can open it."""
    for resource in _resources(source):
        if target.overrides(resource) != source.overrides(resource):
            raise StoreMismatch(f"{resource} in the copy differs from the source; the copy was discarded")
    if target.topics != source.topics or len(target.configs) != len(source.configs):
        raise StoreMismatch("the topics or resources in the copy differ from the source; the copy was discarded")
