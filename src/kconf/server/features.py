"""The Kafka features of a cluster: eligible.leader.replicas.version (KIP-966).

Its level is set when a store is created (`kconf serve --feature`) and stored in it. The default is that of a new Kafka
4.3 cluster. UpdateFeatures changes it later. With level 1, the cluster-wide min.insync.replicas is always set and no
broker has its own, as in Kafka. The server ensures both at startup and when the level changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kconf.engine.configs.alter import MIN_INSYNC
from kconf.engine.configs.resolver import ConfigResolver
from kconf.engine.policy.hooks import PolicyHooks
from kconf.errors import ConfigurationError
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.plan import Plan
from kconf.model.resource import Resource, ResourceType
from kconf.model.snapshot import Snapshot
from kconf.service import Service, State
from kconf.store.base import FeatureStore, Store, elr_version_of

METADATA_VERSION: Final = "metadata.version"
_LEVEL: Final = 30  # the metadata.version of Kafka 4.3, whose keys and rules kconf implements
ELR: Final = "eligible.leader.replicas.version"
LEVELS: Final = (0, 1)
DEFAULT_LEVEL: Final = 1
"""The level of a new store, as in a new Kafka cluster since 4.1. Stores without a recorded level have 0."""

_CALLER: Final = RequestContext("User:kconf", "kconf", "localhost", "kconf serve", reason=f"{ELR}=1")


def read_features(words: Sequence[str]) -> dict[str, int]:
    """Parse `NAME=LEVEL` arguments."""
    found: dict[str, int] = {}
    for word in words:
        name, _, level = word.partition("=")
        if name != ELR:
            raise ConfigurationError(f"--feature supports {ELR}, not {name!r}")
        if level not in map(str, LEVELS):
            raise ConfigurationError(f"--feature {ELR} takes {LEVELS[0]} or {LEVELS[1]}, not {level!r}")
        if found.get(name, int(level)) != int(level):
            raise ConfigurationError(f"--feature {ELR} is given twice, with different levels")
        found[name] = int(level)
    return found


def choose_features(store: Store, wanted: Mapping[str, int], *, read_only: bool) -> None:
    """Record the features of a new store. Raises an error if an existing store has another level."""
    level = wanted.get(ELR)
    if not isinstance(store, FeatureStore):
        if level:
            raise ConfigurationError(
                f"{store.url} does not support {ELR}={level}: only SQLite stores record the levels of features"
            )
        return
    if store.is_undecided and not read_only:
        store.record_elr_version(DEFAULT_LEVEL if level is None else level)
    found = elr_version_of(store)
    if level is not None and level != found:
        raise ConfigurationError(
            f"{store.url} has {ELR}={found}, and --feature sets the level of a new store only: omit --feature, or "
            "change the level with kafka-features.sh"
        )


def supported_features(store: Store) -> dict[str, tuple[int, int]]:
    """The supported features with their lowest and highest levels. With ZooKeeper there are none."""
    return {METADATA_VERSION: (_LEVEL, _LEVEL), ELR: LEVELS} if isinstance(store, FeatureStore) else {}


def finalized_features(store: Store) -> dict[str, int]:
    """The finalized features with their levels."""
    if not isinstance(store, FeatureStore):
        return {}
    level = elr_version_of(store)
    return {METADATA_VERSION: _LEVEL, **({ELR: level} if level else {})}


async def set_elr_version(service: Service, level: int, caller: RequestContext) -> None:
    """Change the level of an existing store. Raises StoreError."""
    store = service.store
    if not isinstance(store, FeatureStore) or level == elr_version_of(service.store):
        return
    if level:  # before the level is recorded, so that the value is never missing
        await _set_min_insync(service, caller)
    service.check_writable()
    await service.in_store(lambda _: store.record_elr_version(level))
    await enforce_min_insync(service)


async def enforce_min_insync(service: Service) -> None:
    """With level 1, set the cluster-wide min.insync.replicas if it is not set and remove those of brokers, as in Kafka.

    Never done through a gateway: its cluster does this itself, and a gateway changes it only for clients.
    """
    if isinstance(service.store, FeatureStore) and elr_version_of(service.store) and service.writable:
        await _set_min_insync(service, _CALLER)


async def _set_min_insync(service: Service, caller: RequestContext) -> None:
    resolver = service.state.resolver
    value = ConfigResolver(resolver.catalog, resolver.static, {}, {}).value(MIN_INSYNC) or "1"

    def plan(state: State, _: PolicyHooks) -> Plan[None]:
        changes = _min_insync_changes(state.snapshot, value)
        changed = state.snapshot.changed
        return Plan(None, changes, {each.resource: changed.get(each.resource, 0) for each in changes})

    if _min_insync_changes(service.state.snapshot, value):
        await service.submit(plan, caller)


def _min_insync_changes(snapshot: Snapshot, value: str) -> list[Change]:
    everywhere = Resource.brokers()
    found = []
    if MIN_INSYNC not in snapshot.overrides(everywhere):
        found.append(Change(ChangeKind.CONFIG, everywhere, MIN_INSYNC, None, value, "set"))
    for name in snapshot.names(ResourceType.BROKER):
        resource = Resource(ResourceType.BROKER, name)
        before = snapshot.overrides(resource).get(MIN_INSYNC)
        if name and before is not None:
            found.append(Change(ChangeKind.CONFIG, resource, MIN_INSYNC, before, None, "delete"))
    return found
