"""The features of Kafka that a cluster is initialized with: eligible.leader.replicas.version (KIP-966).

It is chosen when a store is created, by `kconf serve --feature`, and recorded in it. With level 1 the cluster default
of min.insync.replicas is always set, as in Kafka: the server sets it when it first starts, to the static value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kconf.engine.configs.alter import MIN_INSYNC, AlterTarget, plan_alter
from kconf.errors import ConfigurationError
from kconf.model.alteration import AlterConfigOp, OpType, ResourceAlterations
from kconf.model.journal import RequestContext
from kconf.model.resource import Resource
from kconf.service import Service
from kconf.store.base import FeatureStore, Store, elr_version_of

ELR: Final = "eligible.leader.replicas.version"
LEVELS: Final = (0, 1)
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
            raise ConfigurationError(f"{store.url} cannot have {ELR}={level}: only SQLite stores record features")
        return
    if store.elr_version is None and store.is_new and not read_only:
        store.record_elr_version(level or 0)
    found = elr_version_of(store)
    if level is not None and level != found:
        raise ConfigurationError(
            f"{store.url} was initialized with {ELR}={found}; the level is chosen when a store is created"
        )


async def set_min_insync(service: Service) -> None:
    """Set the cluster's min.insync.replicas, unless it is set: its static value, or 1."""
    if not elr_version_of(service.store) or not service.writable:
        return
    if MIN_INSYNC in service.state.snapshot.overrides(Resource.brokers()):
        return
    value = service.state.resolver.static.get(MIN_INSYNC) or "1"
    wish = ResourceAlterations(Resource.brokers(), [AlterConfigOp(OpType.SET, MIN_INSYNC, value)])
    await service.submit(
        lambda state, _: plan_alter(
            state.snapshot, [wish], AlterTarget(service.node_id, state.resolver), replace=False
        ),
        _CALLER,
    )
