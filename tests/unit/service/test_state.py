"""The resolver of a state has the broker configs of its snapshot, unless they are ignored to recover a server."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.model.journal import Change, ChangeKind
from kconf.model.membership import ClusterMember, ClusterMembers
from kconf.model.resource import Resource
from kconf.model.snapshot import Snapshot
from kconf.service.state import State, StateFactory
from kconf.store.memory import MemoryStore

KEY = "log.retention.ms"
STATIC = {KEY: "1"}


def snapshot(**values: str) -> Snapshot:
    """Broker configs by the name of the resource: `all`, `b1` or `b2`."""
    resources = {"all": Resource.brokers(), "b1": Resource.broker(1), "b2": Resource.broker(2)}
    changes = [Change(ChangeKind.CONFIG, resources[name], KEY, None, value, "set") for name, value in values.items()]
    return Snapshot.EMPTY.apply(changes, 1)


def factory(store: MemoryStore, *, is_ignored: bool = False) -> StateFactory:
    return StateFactory(store, 1, kafka_43(), STATIC, None, ignore_broker_configs=is_ignored)


def first(states: StateFactory) -> State:
    return State(Snapshot.EMPTY, states.own_configs)


@pytest.mark.parametrize(
    ("stored", "value"),
    [
        ({}, "1"),
        ({"b2": "4"}, "1"),
        ({"all": "2"}, "2"),
        ({"all": "2", "b1": "3", "b2": "4"}, "3"),
    ],
)
def test_broker_configs_in_the_snapshot_override_static_ones(stored: dict[str, str], value: str) -> None:
    states = factory(MemoryStore())

    state = states.after(first(states), snapshot(**stored))

    assert state.resolver.number(KEY) == int(value)
    assert states.stored_resolver(state) is state.resolver


def test_ignored_broker_configs_are_not_used_but_still_known_as_stored() -> None:
    states = factory(MemoryStore(), is_ignored=True)

    state = states.after(first(states), snapshot(all="2", b1="3"))

    assert state.resolver.number(KEY) == 1
    assert states.stored_resolver(state).number(KEY) == 3
    assert states.stored_resolver(states.after(state, snapshot(all="2"))).number(KEY) == 2


def test_the_resolver_stays_the_same_object_while_broker_configs_do() -> None:
    """Encoded responses are cached with it."""
    states = factory(MemoryStore())
    before = states.after(first(states), snapshot(all="2"))
    topic = Change(ChangeKind.CONFIG, Resource.topic("t"), KEY, None, "9", "set")

    other = states.after(before, before.snapshot.apply([topic], 2))
    changed = states.after(other, other.snapshot.apply([topic._replace(resource=Resource.broker(1))], 3))

    assert other.resolver is before.resolver
    assert changed.resolver is not before.resolver
    assert changed.resolver.number(KEY) == 9


def test_brokers_behind_a_server_have_their_own_keys_and_static_configs() -> None:
    store = MemoryStore()
    own, theirs = kafka_43(), replace(kafka_43())
    states = StateFactory(store, 1, own, STATIC, lambda: theirs, ignore_broker_configs=False)
    assert states.after(first(states), snapshot()).resolver.catalog is own

    store.members = ClusterMembers({}, {5: ClusterMember(5, {})})
    store.brokers_static = {KEY: "8"}
    state = states.after(first(states), snapshot())

    assert state.resolver.catalog is theirs
    assert state.resolver.number(KEY) == 8
    assert states.own_configs.number(KEY) == 1
