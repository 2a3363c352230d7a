"""The features of Kafka that a cluster is initialized with: eligible.leader.replicas.version (KIP-966).

Its level is chosen when a store is created, by `kconf serve --feature`, and recorded in it; without a choice it is that
of a new Kafka 4.3 cluster. UpdateFeatures changes it later. With level 1 the cluster default of min.insync.replicas is
always set, and no broker has its own, as in Kafka: the server ensures both when it starts and when the level changes.
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
_LEVEL: Final = 30  # the metadata.version of Kafka 4.3, whose keys and rules these are
ELR: Final = "eligible.leader.replicas.version"
LEVELS: Final = (0, 1)
DEFAULT_LEVEL: Final = 1
"""Of a new store, as of a new Kafka cluster since 4.1. Stores that were created before levels were recorded have 0."""

_CALLER: Final = RequestContext("User:kconf", "kconf", "localhost", "kconf serve", reason=f"{ELR}=1")


def read_features(words: Sequence[str]) -> dict[str, int]:
    """`NAME=LEVEL` arguments."""
    found: dict[str, int] = {}
    for word in words:
        name, _, level = word.partition("=")
        if name != ELR:
            raise ConfigurationError(f"--feature knows {ELR}, not {name!r}")
        if level not in map(str, LEVELS):
            raise ConfigurationError(f"--feature {ELR} takes {LEVELS[0]} or {LEVELS[1]}, not {level!r}")
        if found.get(name, int(level)) != int(level):
            raise ConfigurationError(f"--feature {ELR} is given twice")
        found[name] = int(level)
    return found


def choose_features(store: Store, wanted: Mapping[str, int], *, read_only: bool) -> None:
    """Record the features of a new store. Refuses those that an existing store was not initialized with."""
    level = wanted.get(ELR)
    if not isinstance(store, FeatureStore):
        if level:
            raise ConfigurationError(f"{store.url} cannot have {ELR}={level}: such stores record no features")
        return
    if store.is_undecided and not read_only:
        store.record_elr_version(DEFAULT_LEVEL if level is None else level)
    found = elr_version_of(store)
    if level is not None and level != found:
        raise ConfigurationError(
            f"{store.url} was initialized with {ELR}={found}; the level is chosen when a store is created"
        )


def supported_features(store: Store) -> dict[str, tuple[int, int]]:
    """The features of this cluster and their lowest and highest levels. Kafka's layout in ZooKeeper has none."""
    return {METADATA_VERSION: (_LEVEL, _LEVEL), ELR: LEVELS} if isinstance(store, FeatureStore) else {}


def finalized_features(store: Store) -> dict[str, int]:
    """The features that are enabled, with their levels."""
    if not isinstance(store, FeatureStore):
        return {}
    level = elr_version_of(store)
    return {METADATA_VERSION: _LEVEL, **({ELR: level} if level else {})}


async def set_elr_version(service: Service, level: int, caller: RequestContext) -> None:
    """Change the level of an existing store. Raises StoreError."""
    store = service.store
    if not isinstance(store, FeatureStore) or level == elr_version_of(service.store):
        return
    if level:  # before it is recorded, so that no moment is without the value that it needs
        await _set_min_insync(service, caller)
    service.check_writable()
    await service.in_store(lambda _: store.record_elr_version(level))
    await enforce_min_insync(service)


async def enforce_min_insync(service: Service) -> None:
    """With level 1: set the cluster's min.insync.replicas, unless it is set, and remove those of brokers, as Kafka."""
    if elr_version_of(service.store) and service.writable:
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
