"""Removes configs from a store that no server has open, for a server that does not start because of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kconf.configdef.dynamic import is_broker_secret
from kconf.errors import ConfigurationError, RevisionConflict, StoreUnavailable
from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource, ResourceType
from kconf.store.base import Store

STORED = (ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP, ResourceType.CLIENT_METRICS)


class Unset(NamedTuple):
    """The removed keys, and the revision of the change."""

    revision: int
    changes: Sequence[Change]


def unset_stored(store: Store, resource: Resource, keys: Sequence[str], caller: RequestContext, time_ms: int) -> Unset:
    """Remove keys from one resource: all of them in one revision, or none. Raises ConfigurationError, StoreError."""
    if resource.type not in STORED:
        raise ConfigurationError(f"a store has no configs for {resource}")
    snapshot = store.load()
    stored = snapshot.overrides(resource)
    missing = [key for key in keys if key not in stored]
    if missing:
        raise ConfigurationError(
            f"{', '.join(missing)} is not set on {resource} in this store, or its value is encrypted with "
            "password.encoder.secret (pass the file that contains it with --config); nothing was removed"
        )
    changes = [
        Change(ChangeKind.CONFIG, resource, key, stored[key], None, "delete", sensitive=is_secret(resource, key))
        for key in dict.fromkeys(keys)
    ]
    guards = {resource: snapshot.changed.get(resource, 0)}
    (done,) = store.commit([PendingCommit(caller, time_ms, changes, guards)])
    if isinstance(done, RevisionConflict):
        raise StoreUnavailable(f"{resource} was changed concurrently; try again")
    assert isinstance(done, Revision)
    return Unset(done.number, changes)


def is_secret(resource: Resource, key: str) -> bool:
    return resource.type is ResourceType.BROKER and is_broker_secret(key)
