"""The state of this process, and how it is created from a snapshot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from kconf.configdef.catalog import Catalog
from kconf.engine.configs.resolver import ConfigResolver
from kconf.engine.policy.hooks import PolicyHooks
from kconf.model.plan import Plan
from kconf.model.resource import Overrides, Resource
from kconf.model.snapshot import Snapshot
from kconf.store.base import Store

T = TypeVar("T")

_NO_OVERRIDES: Overrides = {}
_ALL_BROKERS = Resource.brokers()


@dataclass(frozen=True, slots=True)
class State:
    """The visible state: a snapshot, and the resolver for its broker configs."""

    snapshot: Snapshot
    resolver: ConfigResolver


Planner = Callable[[State, PolicyHooks], Plan[T]]
"""Plans a change on a state. A pure function."""


class StateFactory:
    """Creates states. Broker configs come from the snapshot, and from the brokers behind a gateway."""

    def __init__(
        self,
        store: Store,
        node_id: int,
        catalog: Catalog,
        static: Overrides,
        broker_catalog: Callable[[], Catalog] | None,
        *,
        ignore_broker_configs: bool,
    ) -> None:
        """`broker_catalog` replaces `catalog` while there are real brokers.

        `ignore_broker_configs`: ignore stored broker configs.
        """
        self._store = store
        self._own = Resource.broker(node_id)
        self._catalog, self._broker_catalog = catalog, broker_catalog
        self._ignore_broker_configs = ignore_broker_configs
        self.own_configs = ConfigResolver(catalog, static, {}, {})

    def after(self, state: State, snapshot: Snapshot) -> State:
        """The next state. The resolver is reused while the broker configs and the catalog are the same objects."""
        resolver = state.resolver
        catalog = self._catalog
        if self._broker_catalog is not None and self._store.members.brokers:
            catalog = self._broker_catalog()
        everywhere: Overrides = _NO_OVERRIDES
        here: Overrides = _NO_OVERRIDES
        if not self._ignore_broker_configs:
            everywhere, here = snapshot.overrides(_ALL_BROKERS), snapshot.overrides(self._broker)
        static = self.own_configs.static if self._store.brokers_static is None else self._store.brokers_static
        if (
            everywhere is not resolver.everywhere
            or here is not resolver.here
            or catalog is not resolver.catalog
            or static is not resolver.static
        ):
            resolver = ConfigResolver(catalog, static, everywhere, here)
        return State(snapshot, resolver)

    def stored_resolver(self, state: State) -> ConfigResolver:
        """The resolver over the broker levels that are stored: those in force, unless they are ignored."""
        if not self._ignore_broker_configs:
            return state.resolver
        snapshot, resolver = state.snapshot, state.resolver
        return ConfigResolver(
            resolver.catalog,
            resolver.static,
            snapshot.overrides(_ALL_BROKERS),
            snapshot.overrides(self._broker),
        )

    @property
    def _broker(self) -> Resource:
        """The broker whose layers a resolver has: both its static and its dynamic configs."""
        described = self._store.described_broker
        return self._own if described is None else Resource.broker(described)
