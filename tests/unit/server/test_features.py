"""eligible.leader.replicas.version: chosen for a new store, recorded in it; what it does to min.insync.replicas."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.engine.configs.alter import AlterTarget, plan_alter
from kconf.engine.configs.resolver import ConfigResolver
from kconf.errors import ApiError, ConfigurationError, ErrorCode
from kconf.model.alteration import AlterConfigOp, OpType, ResourceAlterations
from kconf.model.journal import RequestContext
from kconf.model.resource import Resource
from kconf.model.snapshot import Snapshot
from kconf.protocol.messages.api_versions import ApiVersionsRequest
from kconf.server.api import api_versions
from kconf.server.context import ApiRequest, ServerContext
from kconf.server.features import (
    ELR,
    choose_features,
    enforce_min_insync,
    finalized_features,
    read_features,
    set_elr_version,
    supported_features,
)
from kconf.service import Service
from kconf.store.base import Store, elr_version_of
from kconf.store.copy import copy_store
from kconf.store.sqlite.store import SqliteStore

KEY = "min.insync.replicas"
ALL, ONE = Resource.brokers(), Resource.broker(1)
SET, DELETE = OpType.SET, OpType.DELETE


def url(path: Path, name: str = "kconf.db") -> str:
    return f"sqlite:///{path / name}"


async def altered(service: Service, resource: Resource, *ops: AlterConfigOp) -> ApiError | None:
    outcome = await service.submit(
        lambda state, _: plan_alter(
            state.snapshot,
            [ResourceAlterations(resource, list(ops))],
            AlterTarget(1, state.resolver, has_elr=elr_version_of(service.store) > 0),
            replace=False,
        ),
        RequestContext(),
    )
    return outcome[0]


def test_the_command_line_names_a_feature_and_its_level() -> None:
    assert read_features([]) == {}
    assert read_features([f"{ELR}=1"]) == {ELR: 1}
    assert read_features([f"{ELR}=1", f"{ELR}=1"]) == {ELR: 1}


@pytest.mark.parametrize("words", [["metadata.version=30"], [ELR], [f"{ELR}=2"], [f"{ELR}="], [f"{ELR}=0", f"{ELR}=1"]])
def test_another_feature_or_level_is_refused(words: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="--feature"):
        read_features(words)


@pytest.mark.parametrize(("wanted", "level"), [({}, 1), ({ELR: 0}, 0), ({ELR: 1}, 1)])
def test_a_new_store_records_the_feature_level_permanently(tmp_path: Path, wanted: dict[str, int], level: int) -> None:
    store = SqliteStore.open(url(tmp_path))
    choose_features(store, wanted, read_only=False)
    store.close()

    again = SqliteStore.open(url(tmp_path))
    choose_features(again, {}, read_only=False)
    choose_features(again, {ELR: level}, read_only=False)
    with pytest.raises(ConfigurationError, match=f" has {ELR}={level}, and --feature"):
        choose_features(again, {ELR: 1 - level}, read_only=False)
    assert elr_version_of(again) == level
    again.close()


def test_a_copy_of_a_store_has_the_same_feature_level(tmp_path: Path) -> None:
    store = SqliteStore.open(url(tmp_path))
    choose_features(store, {ELR: 1}, read_only=False)
    store.close()

    copy_store(url(tmp_path), url(tmp_path, "copy.db"))

    copy = SqliteStore.open(url(tmp_path, "copy.db"))
    assert elr_version_of(copy) == 1
    copy.close()


def changed_before_a_server(path: Path) -> None:
    """Change a store before its first server, like `kconf scram set --store`."""

    async def scene() -> None:
        service = Service(SqliteStore.open(url(path)), node_id=1, catalog=kafka_43(), static={})
        await service.start()
        await altered(service, ALL, AlterConfigOp(SET, "log.retention.ms", "1"))
        await service.stop()

    asyncio.run(scene())


def test_a_store_used_before_feature_levels_were_recorded_has_level_0(tmp_path: Path) -> None:
    changed_before_a_server(tmp_path)
    with closing(sqlite3.connect(tmp_path / "kconf.db")) as db:
        db.execute("DELETE FROM meta WHERE key = ?", [ELR])
        db.commit()

    store = SqliteStore.open(url(tmp_path))
    choose_features(store, {}, read_only=False)
    assert (store.elr_version, elr_version_of(store)) == (None, 0)
    store.close()


@pytest.mark.parametrize("name", ["kconf.db", "copy.db"])
def test_a_store_that_was_changed_before_its_first_server_gets_the_default_level(tmp_path: Path, name: str) -> None:
    changed_before_a_server(tmp_path)
    copy_store(url(tmp_path), url(tmp_path, "copy.db"))

    store = SqliteStore.open(url(tmp_path, name))
    choose_features(store, {}, read_only=True)
    assert elr_version_of(store) == 0
    choose_features(store, {}, read_only=False)
    assert elr_version_of(store) == 1
    store.close()


def test_a_store_that_does_not_record_features_has_level_0() -> None:
    store = cast(Store, SimpleNamespace(url="zookeeper://z", elr_version=None))

    choose_features(store, {}, read_only=False)
    choose_features(store, {ELR: 0}, read_only=False)
    assert elr_version_of(store) == 0
    assert (supported_features(store), finalized_features(store)) == ({}, {})
    with pytest.raises(ConfigurationError, match="only SQLite stores record the levels of features"):
        choose_features(store, {ELR: 1}, read_only=False)


@pytest.mark.parametrize(("static", "value"), [({}, "1"), ({KEY: "2"}, "2")])
def test_the_first_start_sets_the_default_of_the_cluster_once(
    tmp_path: Path, static: dict[str, str], value: str
) -> None:
    async def scene() -> None:
        store = SqliteStore.open(url(tmp_path))
        choose_features(store, {ELR: 1}, read_only=False)
        service = Service(store, node_id=1, catalog=kafka_43(), static=static)
        await service.start()
        await enforce_min_insync(service)
        await enforce_min_insync(service)
        assert service.state.snapshot.overrides(ALL) == {KEY: value}
        assert service.state.snapshot.revision == 1
        context = ServerContext.over(service, lambda: 0.0)
        call = ApiRequest(4, RequestContext(), "localhost", 9092)
        response = api_versions.handle(context, ApiVersionsRequest("test", "1"), call)
        assert {each.name: each.max_version_level for each in response.finalized_features} == {
            "metadata.version": 30,
            ELR: 1,
        }
        assert context.node(service.state, "User:me", None).has_elr
        await context.feed.close()
        await service.stop()

    asyncio.run(scene())


def test_with_level_0_nothing_is_set_and_the_feature_is_not_finalized(tmp_path: Path) -> None:
    async def scene() -> None:
        store = SqliteStore.open(url(tmp_path))
        choose_features(store, {ELR: 0}, read_only=False)
        service = Service(store, node_id=1, catalog=kafka_43(), static={})
        await service.start()
        await enforce_min_insync(service)
        assert service.state.snapshot.revision == 0
        context = ServerContext.over(service, lambda: 0.0)
        names = []
        for version in (3, 4):
            call = ApiRequest(version, RequestContext(), "localhost", 9092)
            response = api_versions.handle(context, ApiVersionsRequest("test", "1"), call)
            names.append([each.name for each in response.supported_features])
            assert [each.name for each in response.finalized_features] == ["metadata.version"]
        assert names == [["metadata.version"], ["metadata.version", ELR]]
        assert not context.node(service.state, "User:me", None).has_elr
        await context.feed.close()
        await service.stop()

    asyncio.run(scene())


def test_changing_the_level_later_sets_the_cluster_default(tmp_path: Path) -> None:
    async def scene() -> None:
        store = SqliteStore.open(url(tmp_path))
        choose_features(store, {ELR: 0}, read_only=False)
        service = Service(store, node_id=1, catalog=kafka_43(), static={})
        await service.start()
        assert await altered(service, ONE, AlterConfigOp(SET, KEY, "2")) is None
        caller = RequestContext("User:ops")

        await set_elr_version(service, 1, caller)

        assert (service.state.snapshot.overrides(ALL), service.state.snapshot.overrides(ONE)) == ({KEY: "1"}, {})
        (revision,) = await service.in_store(lambda store: store.changes(1, 9))
        assert revision.caller.principal == "User:ops"
        assert await altered(service, ALL, AlterConfigOp(DELETE, KEY)) == CANNOT_REMOVE

        await set_elr_version(service, 0, caller)

        assert service.state.snapshot.overrides(ALL) == {KEY: "1"}
        assert await altered(service, ALL, AlterConfigOp(DELETE, KEY)) is None
        await service.stop()

    asyncio.run(scene())
    again = SqliteStore.open(url(tmp_path))
    assert elr_version_of(again) == 0
    again.close()


def outcome(
    resource: Resource, *ops: tuple[OpType, str, str | None], replace: bool = False, has_elr: bool = True
) -> ApiError | None:
    node = AlterTarget(1, ConfigResolver(kafka_43(), {}, {KEY: "1"}, {}), has_elr=has_elr)
    start = AlterTarget(1, ConfigResolver(kafka_43(), {}, {}, {}))
    first = ResourceAlterations(ALL, [AlterConfigOp(SET, KEY, "1")])
    snapshot = Snapshot.EMPTY.apply(plan_alter(Snapshot.EMPTY, [first], start, replace=False).changes, 1)
    requested = ResourceAlterations(resource, [AlterConfigOp(*each) for each in ops])
    return plan_alter(snapshot, [requested], node, replace=replace).outcome[0]


CANNOT_REMOVE = ApiError(
    ErrorCode.INVALID_CONFIG, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."
)
CANNOT_ALTER = ApiError(
    ErrorCode.INVALID_CONFIG, "Broker-level min.insync.replicas cannot be altered while ELR is enabled."
)


def test_the_default_of_the_cluster_can_be_changed_but_not_removed() -> None:
    assert outcome(ALL, (SET, KEY, "2")) is None
    assert outcome(ALL, (DELETE, KEY, None)) == CANNOT_REMOVE
    assert outcome(ALL, (SET, "log.retention.ms", "1000"), (DELETE, KEY, None)) == CANNOT_REMOVE
    assert outcome(ALL, (SET, "log.retention.ms", "1000"), replace=True) == CANNOT_REMOVE
    assert outcome(ALL, (SET, "log.retention.ms", "1000"), (SET, KEY, "3"), replace=True) is None


def test_with_the_feature_a_broker_cannot_have_its_own_min_insync_replicas() -> None:
    assert outcome(ONE, (SET, KEY, "2")) == CANNOT_ALTER
    assert outcome(ONE, (DELETE, KEY, None)) == CANNOT_ALTER
    assert outcome(ONE, (SET, KEY, "2"), replace=True) == CANNOT_ALTER
    assert outcome(ONE, (SET, "num.io.threads", "9")) is None


def test_an_invalid_value_is_refused_as_invalid() -> None:
    for resource in (ALL, ONE):
        failure = outcome(resource, (SET, KEY, "0"))
        assert failure is not None
        assert failure.code is ErrorCode.INVALID_REQUEST


def test_without_the_feature_min_insync_replicas_can_be_removed_and_set_per_broker() -> None:
    assert outcome(ALL, (DELETE, KEY, None), has_elr=False) is None
    assert outcome(ONE, (SET, KEY, "2"), has_elr=False) is None


def test_a_gateway_does_not_set_min_insync_replicas_of_its_cluster() -> None:
    store = SimpleNamespace(url="sqlite:///gateway.db", elr_version=1)
    service = SimpleNamespace(store=store, writable=True)

    asyncio.run(enforce_min_insync(cast(Service, service)))  # would fail if it planned anything
