"""Random changes, compared with plain dictionaries.

After every step, the model, the visible state, the store and the replayed journal are equal, and each journal line
starts from the value of the previous line of that key. Describe responses, cached or not, are byte for byte equal to
those of a server that has just loaded the state.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kconf.configdef.catalog import kafka_43
from kconf.errors import ErrorCode
from kconf.model.journal import Change, ChangeKind, Revision
from kconf.model.resource import Resource, ResourceType
from kconf.model.snapshot import Snapshot, replay
from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import read_response, request
from kconf.protocol.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from kconf.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kconf.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kconf.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kconf.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from kconf.server.context import ServerContext
from kconf.service import Service
from kconf.store.base import Store
from kconf.store.memory import MemoryStore
from kconf.store.registry import open_store
from tests.support.routing import FastPathAlone, routed

CATALOGUE = kafka_43()
LIST = "leader.replication.throttled.replicas"
GOOD: Mapping[ResourceType, Mapping[str, Sequence[str]]] = {
    ResourceType.TOPIC: {
        "retention.ms": ["1", "2", "-1"],
        "cleanup.policy": ["compact", "delete"],
        LIST: ["0:1", "1:1"],
    },
    ResourceType.BROKER: {"log.retention.ms": ["10", "20"], "log.cleaner.backoff.ms": ["5", "6"], "own.key": ["x", ""]},
    ResourceType.GROUP: {"consumer.session.timeout.ms": ["45000", "50000"]},
    ResourceType.CLIENT_METRICS: {"interval.ms": ["1000", "2000"]},
}
BAD = {
    ResourceType.TOPIC: ("retention.ms", "many"),
    ResourceType.BROKER: ("log.retention.ms", "many"),
    ResourceType.GROUP: ("consumer.session.timeout.ms", "1"),
    ResourceType.CLIENT_METRICS: ("interval.ms", "1"),
}
REFUSED = {
    ResourceType.TOPIC: ErrorCode.INVALID_CONFIG,
    ResourceType.BROKER: ErrorCode.INVALID_REQUEST,
    ResourceType.GROUP: ErrorCode.INVALID_CONFIG,
    ResourceType.CLIENT_METRICS: ErrorCode.INVALID_REQUEST,
}
TOPICS = ["a", "b", "c.d", "c_d"]
PLACES = [
    *(Resource.topic(name) for name in TOPICS),
    Resource.broker(1),
    Resource.brokers(),
    Resource.group("g"),
    Resource.client_metrics("m"),
]


class RequestedOp(NamedTuple):
    """An operation on one key: set, delete, append or subtract."""

    op: int
    key: str
    value: str | None


def _requests(resource: Resource) -> st.SearchStrategy[list[RequestedOp]]:
    good = GOOD[resource.type]
    sets = st.sampled_from([RequestedOp(0, key, value) for key, values in good.items() for value in values])
    deletes = st.sampled_from([RequestedOp(1, key, None) for key in good])
    lists = st.sampled_from([RequestedOp(op, LIST, value) for op in (2, 3) for value in ("0:1", "1:1,2:1", "0:1,2:1")])
    bad = st.just(RequestedOp(0, *BAD[resource.type]))
    one = st.one_of(sets, sets, deletes, lists if resource.type == ResourceType.TOPIC else deletes, bad)
    return st.lists(one, min_size=1, max_size=3, unique_by=lambda requested: requested.key)


ALTERATIONS = st.lists(
    st.sampled_from(PLACES).flatmap(lambda place: st.tuples(st.just(place), _requests(place))),
    min_size=1,
    max_size=3,
    unique_by=lambda pair: pair[0],
)


class Model:
    """The whole state as two dictionaries, and the expected response to each request."""

    def __init__(self) -> None:
        self.topics: dict[str, int] = {}
        self.values: dict[Resource, dict[str, str]] = {}

    def alter(self, place: Resource, requests: Sequence[RequestedOp], *, replace: bool) -> ErrorCode:
        stored = self.values.get(place, {})
        result = {} if replace else dict(stored)
        for op, key, value in requests:
            if op == 0:
                result[key] = value or ""
            elif op == 1:
                result.pop(key, None)
            else:
                result[key] = _combined(op, stored.get(key, ""), value or "")
        if BAD[place.type] in result.items():
            return REFUSED[place.type]
        if place.type == ResourceType.TOPIC and place.name not in self.topics:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        self._put(place, result)
        return ErrorCode.NONE

    def create(self, name: str, configs: Mapping[str, str]) -> ErrorCode:
        if name in self.topics:
            return ErrorCode.TOPIC_ALREADY_EXISTS
        if any(name.replace(".", "_") == other.replace(".", "_") for other in self.topics):
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        if BAD[ResourceType.TOPIC] in configs.items():
            return REFUSED[ResourceType.TOPIC]
        self.topics[name] = 1
        self._put(Resource.topic(name), dict(configs))
        return ErrorCode.NONE

    def delete(self, name: str) -> ErrorCode:
        if self.topics.pop(name, None) is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        self._put(Resource.topic(name), {})
        return ErrorCode.NONE

    def grow(self, name: str, count: int) -> ErrorCode:
        if name not in self.topics:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if count <= self.topics[name]:
            return ErrorCode.INVALID_PARTITIONS
        self.topics[name] = count
        return ErrorCode.NONE

    def _put(self, place: Resource, values: dict[str, str]) -> None:
        if values:
            self.values[place] = values
        else:
            self.values.pop(place, None)


def _combined(op: int, stored: str, operand: str) -> str:
    items = [item for item in stored.split(",") if item]
    for item in operand.split(","):
        if op == 2 and item not in items:
            items.append(item)
        elif op == 3 and item in items:
            items.remove(item)
    return ",".join(items)


Said = tuple[str, int, object]
"""A request: its API, version and message."""


def _incremental(changes: Sequence[tuple[Resource, Sequence[RequestedOp]]], *, validate_only: bool = False) -> Said:
    resources = [
        IncrementalAlterConfigsResource(
            place.type,
            place.name,
            [IncrementalAlterableConfig(requested.key, requested.op, requested.value) for requested in requests],
        )
        for place, requests in changes
    ]
    return "IncrementalAlterConfigs", 1, IncrementalAlterConfigsRequest(resources, validate_only)


class ServiceMachine(RuleBasedStateMachine):
    """One server, tested by whole requests."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.model = Model()
        self.store = self.open()
        self.service, self.context = self.loop.run_until_complete(self._start())

    def open(self) -> Store:
        return MemoryStore()

    async def _start(self) -> tuple[Service, ServerContext]:
        service = Service(self.store, node_id=1, catalog=CATALOGUE, static={})
        await service.start()
        context = ServerContext.over(service, lambda: 0.0)
        self.fast_path = FastPathAlone(context)
        return service, context

    async def _stop(self) -> None:
        await self.context.feed.close()
        await self.context.audit_log.close()
        await self.service.stop()

    def teardown(self) -> None:
        self.loop.run_until_complete(self._stop())
        self.loop.close()

    def _ask(self, *asked: Said) -> list[Any]:
        """Send requests together; returns the decoded responses."""

        async def all_of_them() -> list[bytes]:
            return await asyncio.gather(*(_answered(self.context, each) for each in asked))

        frames = self.loop.run_until_complete(all_of_them())
        return [
            read_response(BY_NAME[api], version, frame[4:])[1]
            for (api, version, _), frame in zip(asked, frames, strict=True)
        ]

    def _codes(self, *asked: Said) -> list[list[int]]:
        answers = self._ask(*asked)
        results = [_first(each, "responses", "topics", "results") for each in answers]
        return [[one.error_code for one in each] for each in results]

    @rule(changes=ALTERATIONS)
    def alter(self, changes: list[tuple[Resource, list[RequestedOp]]]) -> None:
        expected = [self.model.alter(place, requests, replace=False) for place, requests in changes]

        assert self._codes(_incremental(changes)) == [expected]

    @rule(changes=ALTERATIONS)
    def try_only(self, changes: list[tuple[Resource, list[RequestedOp]]]) -> None:
        before = self.service.state

        self._ask(_incremental(changes, validate_only=True))

        assert self.service.state is before

    @rule(groups=st.lists(ALTERATIONS, min_size=2, max_size=5))
    def alter_together(self, groups: list[list[tuple[Resource, list[RequestedOp]]]]) -> None:
        """Requests are planned one after the other and committed together."""
        expected = [[self.model.alter(place, requests, replace=False) for place, requests in each] for each in groups]

        assert self._codes(*map(_incremental, groups)) == expected

    @rule(place=st.sampled_from(PLACES), data=st.data())
    def replace(self, place: Resource, data: st.DataObject) -> None:
        requests = [requested for requested in data.draw(_requests(place)) if requested.op == 0]
        expected = self.model.alter(place, requests, replace=True)
        configs = [AlterableConfig(requested.key, requested.value) for requested in requests]
        message = AlterConfigsRequest([AlterConfigsResource(place.type, place.name, configs)])

        assert self._codes(("AlterConfigs", 2, message)) == [[expected]]

    @rule(name=st.sampled_from(TOPICS), requests=_requests(Resource.topic("a")))
    def create(self, name: str, requests: list[RequestedOp]) -> None:
        configs = {
            requested.key: requested.value
            for requested in requests
            if requested.op == 0 and requested.value is not None
        }
        expected = self.model.create(name, configs)
        pairs = [CreatableTopicConfig(key, value) for key, value in configs.items()]
        message = CreateTopicsRequest([CreatableTopic(name, 1, 1, [], pairs)])

        assert self._codes(("CreateTopics", 7, message)) == [[expected]]

    @rule(name=st.sampled_from(TOPICS))
    def delete(self, name: str) -> None:
        expected = self.model.delete(name)

        assert self._codes(("DeleteTopics", 6, DeleteTopicsRequest([DeleteTopicState(name)]))) == [[expected]]

    @rule(name=st.sampled_from(TOPICS))
    def delete_and_create_together(self, name: str) -> None:
        expected = [[self.model.delete(name)], [self.model.create(name, {})]]
        gone = DeleteTopicsRequest([DeleteTopicState(name)])
        made = CreateTopicsRequest([CreatableTopic(name, 1, 1, [], [])])

        assert self._codes(("DeleteTopics", 6, gone), ("CreateTopics", 7, made)) == expected

    @rule(name=st.sampled_from(TOPICS), count=st.integers(1, 4))
    def grow(self, name: str, count: int) -> None:
        expected = self.model.grow(name, count)
        message = CreatePartitionsRequest([CreatePartitionsTopic(name, count)])

        assert self._codes(("CreatePartitions", 3, message)) == [[expected]]

    @rule(
        places=st.lists(st.sampled_from([*PLACES, Resource.logger(1)]), min_size=1, max_size=3, unique=True),
        version=st.integers(0, BY_NAME["DescribeConfigs"].max),
        keys=st.none() | st.just(["retention.ms", "log.retention.ms"]),
        synonyms=st.booleans(),
        documentation=st.booleans(),
    )
    def describe(
        self, places: list[Resource], version: int, keys: list[str] | None, synonyms: bool, documentation: bool
    ) -> None:
        """Describe with the router and the fast path of the running server, and with a server that has just loaded the
        state.
        """
        wanted = [DescribeConfigsResource(place.type, place.name, keys) for place in places]
        asked = "DescribeConfigs", version, DescribeConfigsRequest(wanted, synonyms, documentation)

        fresh = self.loop.run_until_complete(_answered(_just_loaded(self.store.load()), asked))

        for _ in range(2):
            assert self.loop.run_until_complete(_answered(self.context, asked)) == fresh
            assert self.fast_path.answer(_frame(asked)) in (None, fresh)

    @invariant()
    def the_state_is_the_models(self) -> None:
        snapshot = self.service.state.snapshot
        assert {name: topic.partitions for name, topic in snapshot.topics.items()} == self.model.topics
        assert {place: dict(values) for place, values in snapshot.configs.items()} == self.model.values

    @invariant()
    def the_store_and_the_journal_agree(self) -> None:
        snapshot = self.service.state.snapshot
        journal = list(self._journal())
        assert self.store.load() == snapshot
        assert [each.number for each in journal] == list(range(1, snapshot.revision + 1))
        _each_line_goes_on_from_the_one_before(change for each in journal for change in each.changes)
        plain = _without_secrets(replay((each.number, each.changes) for each in journal))
        assert plain == _without_secrets(snapshot)

    def _journal(self) -> Iterator[Revision]:
        after = 0
        while revisions := self.store.changes(after):
            yield from revisions
            after = revisions[-1].number


def _first(answer: Any, *names: str) -> Any:
    return next(getattr(answer, name) for name in names if hasattr(answer, name))


def _frame(asked: Said) -> bytes:
    api, version, message = asked
    return request(BY_NAME[api], version, 7, "test", message)


async def _answered(context: ServerContext, asked: Said) -> bytes:
    return await routed(context, _frame(asked))


def _just_loaded(snapshot: Snapshot) -> ServerContext:
    service = Service(MemoryStore(), node_id=1, catalog=CATALOGUE, static={})
    service._current.show(snapshot)
    return ServerContext.over(service, lambda: 0.0)


def _each_line_goes_on_from_the_one_before(changes: Iterator[Change]) -> None:
    last: dict[tuple[ChangeKind, Resource, str], str | None] = {}
    for change in changes:
        place = (change.kind, change.resource, change.key)
        assert last.get(place) == change.before
        assert change.before != change.after
        last[place] = change.after


def _without_secrets(snapshot: Snapshot) -> tuple[object, ...]:
    """The journal has hashes in place of secrets."""
    configs = {
        place: {key: value for key, value in values.items() if key != "own.key"} | {"": str("own.key" in values)}
        for place, values in snapshot.configs.items()
    }
    return snapshot.revision, snapshot.topics, snapshot.topic_ids, snapshot.metric_names, configs, snapshot.changed


class SqliteMachine(ServiceMachine):
    """The same on a file, which is sometimes closed and reopened."""

    def open(self) -> Store:
        quick = Path("/dev/shm")
        self.place = Path(tempfile.mkdtemp(prefix="kconf-", dir=quick if quick.is_dir() else None))
        return open_store(f"sqlite:///{self.place}/kconf.db")

    @rule()
    @precondition(lambda self: self.service.state.snapshot.revision)
    def start_again(self) -> None:
        self.loop.run_until_complete(self._stop())
        self.store = open_store(f"sqlite:///{self.place}/kconf.db")
        self.service, self.context = self.loop.run_until_complete(self._start())

    def teardown(self) -> None:
        super().teardown()
        shutil.rmtree(self.place)


TestServiceInMemory = ServiceMachine.TestCase
TestServiceOnSqlite = SqliteMachine.TestCase
