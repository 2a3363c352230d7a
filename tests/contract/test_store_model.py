"""Random batches on every store: the replayed journal, the loaded snapshot and a simple model are equal."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kconf.errors import RevisionConflict
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource, Topic
from kconf.model.snapshot import Snapshot, replay, topic_to_json
from tests.contract.stores import DURABLE_STORES, STORES

NAMES = ["orders", "my.orders", "my_orders", "é"]
RESOURCES = [Resource.brokers(), Resource.broker(1), Resource.group('a"\x00\\'), *map(Resource.topic, NAMES)]

resources = st.sampled_from(RESOURCES)
texts = st.text(max_size=5)
configs = st.builds(
    Change,
    st.just(ChangeKind.CONFIG),
    resources,
    st.sampled_from(["a", "b.c", 'q"\\', "z\x00"]) | texts,
    st.none() | texts,
    st.none() | texts,
    st.sampled_from(["SET", "DELETE"]),
    st.just(False),
)


@st.composite
def turns(draw: st.DrawFn) -> list[Change]:
    """A topic created, recreated or extended, and perhaps deleted if it exists."""
    name = draw(st.sampled_from(NAMES))
    identity = UUID(int=NAMES.index(name) << 64 | draw(st.integers(0, 2**64 - 1)))
    topic = Topic(name, identity, ((1, 2),) * draw(st.integers(1, 3)))
    made = Change(ChangeKind.TOPIC, topic.resource, "", None, topic_to_json(topic), "CREATE")
    return [made, *draw(st.sampled_from([[], [made._replace(before=made.after, after=None, op="DELETE")]]))]


def lines(groups: list[list[Change]]) -> tuple[Change, ...]:
    return tuple(change for group in groups for change in group)


pending_commits = st.builds(
    PendingCommit,
    st.builds(RequestContext, texts, texts, texts, texts, st.integers(-(2**31), 2**31 - 1), st.none() | texts),
    st.integers(0, 2**52),
    st.lists(configs.map(lambda change: [change]) | turns(), max_size=4).map(lines),
    st.dictionaries(resources, st.integers(0, 8), max_size=2),
)
batches = st.lists(st.lists(pending_commits, max_size=4), max_size=5)


class Model:
    """The state as plain dicts."""

    def __init__(self) -> None:
        self.revision = 0
        self.topics: dict[str, str] = {}
        self.configs: dict[Resource, dict[str, str]] = {}
        self.changed: dict[Resource, int] = {}

    def commit(self, pending: PendingCommit) -> bool:
        if any(self.changed.get(resource, 0) > seen for resource, seen in pending.guards.items()):
            return False
        self.revision += bool(pending.changes)
        for change in pending.changes:
            self.changed[change.resource] = self.revision
            if change.kind is ChangeKind.CONFIG:
                _put(self.configs.setdefault(change.resource, {}), change.key, change.after)
            else:
                _put(self.topics, change.resource.name, change.after)
        return True


def _put(where: dict[str, str], key: str, value: str | None) -> None:
    if value is None:
        where.pop(key, None)
    else:
        where[key] = value


def same(snapshot: Snapshot, model: Model) -> None:
    assert snapshot.revision == model.revision
    assert {name: topic_to_json(topic) for name, topic in snapshot.topics.items()} == model.topics
    assert {topic.id: name for name, topic in snapshot.topics.items()} == dict(snapshot.topic_ids)
    assert dict(snapshot.configs) == {resource: values for resource, values in model.configs.items() if values}
    assert dict(snapshot.changed) == model.changed


@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize("examples", [20, pytest.param(60, marks=pytest.mark.faults)])
def test_replayed_journal_snapshot_and_model_are_equal(name: str, examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(some=batches)
    def holds(some: list[list[PendingCommit]]) -> None:
        _agree(name, some)

    holds()


def _agree(name: str, batches: list[list[PendingCommit]]) -> None:
    model = Model()
    with TemporaryDirectory() as place:
        opener = STORES[name](Path(place))
        store = opener()
        for batch in batches:
            results = store.commit(batch)
            taken = [model.commit(pending) for pending in batch]
            assert [not isinstance(result, RevisionConflict) for result in results] == taken
            same(store.load(), model)
        journal = store.changes(0)
        assert [each.number for each in journal] == list(range(1, model.revision + 1))
        state = replay((each.number, each.changes) for each in journal)
        assert state == store.load()
        store.close()
        if name in DURABLE_STORES:
            again = opener()
            assert (again.load(), again.changes(0)) == (state, journal)
            again.close()
