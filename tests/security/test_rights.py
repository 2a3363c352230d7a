"""API × operation × resource × allow / deny / none: every API needs exactly the rights of the spec (8.11).

The oracle below implements spec 8.10 literally, one ACL after the other, without kconf's index. Each row of the table
has a request, the rights it needs, and the error code without them. It is tried with every operation on every resource
type: only that operation allowed, ALL allowed but that operation denied, and no ACL at all.
"""

# ruff: noqa: E501 – a row of the table is a line

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.engine.access.acls import AclIndex, Authorizer, key_of, pattern_of
from kconf.model.acl import CLUSTER_NAME, AclBinding, AclType, Operation, Permission
from kconf.model.journal import RequestContext
from kconf.protocol.apis import APIS, BY_NAME
from kconf.protocol.headers import read_response, request
from kconf.protocol.messages.alter_client_quotas import AlteredQuota, QuotaOp
from kconf.protocol.messages.alter_config import AddedConfigEntry, AlteredEntity
from kconf.protocol.messages.alter_configs import AlterableConfig, AlterConfigsResource
from kconf.protocol.messages.alter_quotas import AlteredQuotaResource, WantedQuota
from kconf.protocol.messages.alter_user_scram_credentials import ScramCredentialDeletion
from kconf.protocol.messages.create_acls import AclCreation
from kconf.protocol.messages.create_partitions import CreatePartitionsTopic
from kconf.protocol.messages.create_topics import CreatableTopic
from kconf.protocol.messages.delete_acls import DeleteAclsFilter
from kconf.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsTopic
from kconf.protocol.messages.delete_topics import DeleteTopicState
from kconf.protocol.messages.describe_client_quotas import QuotaEntityPart
from kconf.protocol.messages.describe_config import DescribedEntity
from kconf.protocol.messages.describe_configs import DescribeConfigsResource
from kconf.protocol.messages.describe_configs_at import ResourceAt
from kconf.protocol.messages.describe_producers import TopicRequest as ProducersOf
from kconf.protocol.messages.describe_quotas import DescribedQuotaResource, QuotaResource
from kconf.protocol.messages.describe_topic_partitions import TopicRequest
from kconf.protocol.messages.fetch import FetchPartition, FetchTopic
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsResource,
)
from kconf.protocol.messages.list_config_entities import WantedConfigEntity
from kconf.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsTopic
from kconf.protocol.messages.metadata import MetadataRequestTopic
from kconf.protocol.messages.offset_fetch import OffsetFetchRequestGroup
from kconf.protocol.messages.produce import PartitionProduceData, TopicProduceData
from kconf.server.api.router import HANDLERS
from kconf.server.auth.authorizer import authorize_function
from kconf.server.connection_context import ConnectionContext
from kconf.server.context import ServerContext
from kconf.service import Service
from kconf.store.memory import MemoryStore
from tests.support.routing import FastPathAlone, routed

T, NEW, G, X = "orders", "new", "group", "transaction"
SHARE = f"{G}:AAAAAAAAAAAAAAAAAAAAAQ:0"
TOPIC, GROUP, CLUSTER, TRANSACTION = 29, 30, 31, 53
ALICE, HOST = "User:alice", "10.1.2.3"

May = Callable[[Operation, AclType, str], bool]


def on_cluster(operation: Operation) -> Callable[[May], bool]:
    return lambda may: may(operation, AclType.CLUSTER, CLUSTER_NAME)


def on_topic(operation: Operation, name: str = T) -> Callable[[May], bool]:
    return lambda may: may(operation, AclType.TOPIC, name)


def on_group(operation: Operation) -> Callable[[May], bool]:
    return lambda may: may(operation, AclType.GROUP, G)


def on_transaction(operation: Operation) -> Callable[[May], bool]:
    return lambda may: may(operation, AclType.TRANSACTIONAL_ID, X)


@dataclass(frozen=True)
class Row:
    api: str
    fields: Callable[[Any], dict[str, Any]]
    needs: Callable[[May], bool]
    refusal: int
    codes: Callable[[Any], Iterable[int]]
    kind: AclType = AclType.CLUSTER
    name: str = CLUSTER_NAME
    what: str = ""


def each(field: str) -> Callable[[Any], Iterable[int]]:
    return lambda answer: [one.error_code for one in getattr(answer, field)]


def partitions(topics: str, field: str) -> Callable[[Any], Iterable[int]]:
    return lambda answer: [one.error_code for topic in getattr(answer, topics) for one in getattr(topic, field)]


def top(answer: Any) -> Iterable[int]:
    return [answer.error_code]


def describe(kind: int, name: str) -> Callable[[Any], dict[str, Any]]:
    return lambda _: {"resources": [DescribeConfigsResource(kind, name, None)]}


def alter(kind: int, name: str, key: str, value: str) -> Callable[[Any], dict[str, Any]]:
    return lambda _: {"resources": [AlterConfigsResource(kind, name, [AlterableConfig(key, value)])]}


def incremental(kind: int, name: str, key: str, value: str) -> Callable[[Any], dict[str, Any]]:
    return lambda _: {
        "resources": [IncrementalAlterConfigsResource(kind, name, [IncrementalAlterableConfig(key, 0, value)])]
    }


def create_topic_may(may: May) -> bool:
    return on_cluster(Operation.CREATE)(may) or on_topic(Operation.CREATE, NEW)(may)


def delete_topic_may(may: May) -> bool:
    visible = on_topic(Operation.DESCRIBE)(may) and on_topic(Operation.DELETE)(may)
    return on_cluster(Operation.DELETE)(may) or visible


ON_TOPIC: dict[str, Any] = {"kind": AclType.TOPIC, "name": T}
ON_NEW: dict[str, Any] = {"kind": AclType.TOPIC, "name": NEW}
ON_GROUP: dict[str, Any] = {"kind": AclType.GROUP, "name": G}
ON_TRANSACTION: dict[str, Any] = {"kind": AclType.TRANSACTIONAL_ID, "name": X}
QUOTA = [QuotaEntityPart("user", "u")]
READ, DESCRIBE, ALTER = Operation.READ, Operation.DESCRIBE, Operation.ALTER
DESCRIBE_CONFIGS, ALTER_CONFIGS = Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS

ROWS = [
    Row("Metadata", lambda _: {"topics": [MetadataRequestTopic(name=T)]}, on_topic(DESCRIBE), TOPIC, each("topics"), **ON_TOPIC),
    Row("DescribeTopicPartitions", lambda _: {"topics": [TopicRequest(T)]}, on_topic(DESCRIBE), TOPIC, each("topics"), **ON_TOPIC),
    Row("CreateTopics", lambda _: {"topics": [CreatableTopic(NEW, 1, 1, (), ())], "timeout_ms": 1000}, create_topic_may, TOPIC, each("topics"), **ON_NEW),
    Row("CreateTopics", lambda _: {"topics": [CreatableTopic(NEW, 1, 1, (), ())], "timeout_ms": 1000}, create_topic_may, TOPIC, each("topics"), what="by cluster"),
    Row("DeleteTopics", lambda _: {"topics": [DeleteTopicState(T)], "timeout_ms": 1000}, delete_topic_may, TOPIC, each("responses"), **ON_TOPIC),
    Row("DeleteTopics", lambda _: {"topics": [DeleteTopicState(T)], "timeout_ms": 1000}, delete_topic_may, TOPIC, each("responses"), what="by cluster"),
    Row("DeleteTopics", lambda uuid: {"topics": [DeleteTopicState(None, uuid)], "timeout_ms": 1000}, delete_topic_may, TOPIC, each("responses"), what="by id", **ON_TOPIC),
    Row("CreatePartitions", lambda _: {"topics": [CreatePartitionsTopic(T, 2)], "timeout_ms": 1000}, on_topic(ALTER), TOPIC, each("results"), **ON_TOPIC),
    Row("DescribeConfigs", describe(2, T), on_topic(DESCRIBE_CONFIGS), TOPIC, each("results"), **ON_TOPIC),
    Row("DescribeConfigs", describe(2, T), on_topic(DESCRIBE_CONFIGS), TOPIC, each("results"), what="topic by cluster"),
    Row("DescribeConfigs", describe(4, "1"), on_cluster(DESCRIBE_CONFIGS), CLUSTER, each("results"), what="broker"),
    Row("DescribeConfigs", describe(4, ""), on_cluster(DESCRIBE_CONFIGS), CLUSTER, each("results"), what="brokers"),
    Row("DescribeConfigs", describe(8, "1"), on_cluster(DESCRIBE_CONFIGS), CLUSTER, each("results"), what="loggers"),
    Row("DescribeConfigs", describe(16, "m"), on_cluster(DESCRIBE_CONFIGS), CLUSTER, each("results"), what="client metrics"),
    Row("DescribeConfigs", describe(32, G), on_group(DESCRIBE_CONFIGS), GROUP, each("results"), what="group", **ON_GROUP),
    Row("AlterConfigs", alter(2, T, "retention.ms", "1"), on_topic(ALTER_CONFIGS), TOPIC, each("responses"), **ON_TOPIC),
    Row("AlterConfigs", alter(2, T, "retention.ms", "1"), on_topic(ALTER_CONFIGS), TOPIC, each("responses"), what="topic by cluster"),
    Row("AlterConfigs", alter(4, "", "log.retention.ms", "1"), on_cluster(ALTER_CONFIGS), CLUSTER, each("responses"), what="brokers"),
    Row("AlterConfigs", alter(16, "m", "interval.ms", "100"), on_cluster(ALTER_CONFIGS), CLUSTER, each("responses"), what="client metrics"),
    Row("AlterConfigs", alter(32, G, "consumer.session.timeout.ms", "50000"), on_group(ALTER_CONFIGS), GROUP, each("responses"), what="group", **ON_GROUP),
    Row("IncrementalAlterConfigs", incremental(2, T, "retention.ms", "1"), on_topic(ALTER_CONFIGS), TOPIC, each("responses"), **ON_TOPIC),
    Row("IncrementalAlterConfigs", incremental(2, T, "retention.ms", "1"), on_topic(ALTER_CONFIGS), TOPIC, each("responses"), what="topic by cluster"),
    Row("IncrementalAlterConfigs", incremental(4, "1", "log.retention.ms", "1"), on_cluster(ALTER_CONFIGS), CLUSTER, each("responses"), what="broker"),
    Row("IncrementalAlterConfigs", incremental(8, "1", "kconf", "INFO"), on_cluster(ALTER_CONFIGS), CLUSTER, each("responses"), what="loggers"),
    Row("IncrementalAlterConfigs", incremental(16, "m", "interval.ms", "100"), on_cluster(ALTER_CONFIGS), CLUSTER, each("responses"), what="client metrics"),
    Row("IncrementalAlterConfigs", incremental(32, G, "consumer.session.timeout.ms", "50000"), on_group(ALTER_CONFIGS), GROUP, each("responses"), what="group", **ON_GROUP),
    Row("DescribeClientQuotas", lambda _: {"components": [], "strict": False}, on_cluster(DESCRIBE_CONFIGS), CLUSTER, top),
    Row("AlterClientQuotas", lambda _: {"entries": [AlteredQuota(QUOTA, [QuotaOp("producer_byte_rate", 1.0, False)])], "validate_only": False}, on_cluster(ALTER_CONFIGS), CLUSTER, each("entries")),
    Row("DescribeUserScramCredentials", lambda _: {"users": None}, on_cluster(DESCRIBE), CLUSTER, top),
    Row("AlterUserScramCredentials", lambda _: {"deletions": [ScramCredentialDeletion("u", 1)], "upsertions": []}, on_cluster(ALTER), CLUSTER, each("results")),
    Row("DescribeAcls", lambda _: {"resource_type_filter": 1, "resource_name_filter": None}, on_cluster(DESCRIBE), CLUSTER, top),
    Row("CreateAcls", lambda _: {"creations": [AclCreation(2, "x", 3, "User:x", "*", 3, 3)]}, on_cluster(ALTER), CLUSTER, each("results")),
    Row("DeleteAcls", lambda _: {"filters": [DeleteAclsFilter(2, "y")]}, on_cluster(ALTER), CLUSTER, each("filter_results")),
    Row("ListConfigResources", lambda _: {"resource_types": []}, on_cluster(DESCRIBE_CONFIGS), CLUSTER, top),
    Row("AlterConfig", lambda _: {"entities": [AlteredEntity("topic", T, [AddedConfigEntry("retention.ms", "1")], [])]}, on_topic(ALTER_CONFIGS), TOPIC, each("entities"), **ON_TOPIC),
    Row("AlterConfig", lambda _: {"entities": [AlteredEntity("client", "c", [AddedConfigEntry("producer_byte_rate", "1")], [])]}, on_cluster(ALTER_CONFIGS), CLUSTER, each("entities"), what="client"),
    Row("DescribeConfig", lambda _: {"entities": [DescribedEntity("topic", T)]}, on_topic(DESCRIBE_CONFIGS), TOPIC, each("entities"), **ON_TOPIC),
    Row("DescribeConfig", lambda _: {"entities": [DescribedEntity("client", "c")]}, on_cluster(DESCRIBE_CONFIGS), CLUSTER, each("entities"), what="client"),
    Row("DescribeQuotas", lambda _: {"resources": [DescribedQuotaResource([QuotaResource(5, "u")])]}, on_cluster(DESCRIBE_CONFIGS), CLUSTER, each("resources")),
    Row("AlterQuotas", lambda _: {"validate_only": False, "resources": [AlteredQuotaResource([QuotaResource(5, "u")], [WantedQuota(0, 1.0)])]}, on_cluster(ALTER_CONFIGS), CLUSTER, lambda answer: [one.error_code for one in answer.resources[0].quotas]),
    Row("ListConfigEntities", lambda _: {"entities": [WantedConfigEntity(5, None)]}, on_cluster(DESCRIBE_CONFIGS), CLUSTER, top),
    Row("ListConfigChanges", lambda _: {"after": 0}, on_cluster(DESCRIBE_CONFIGS), CLUSTER, top),
    Row("DescribeConfigsAt", lambda _: {"revision": 1, "resources": [ResourceAt(2, T)]}, on_cluster(DESCRIBE_CONFIGS), CLUSTER, top),
    Row("ListAttempts", lambda _: {"after": 0}, on_cluster(DESCRIBE_CONFIGS), CLUSTER, top),
    Row("Produce", lambda uuid: {"topic_data": [TopicProduceData("", uuid, [PartitionProduceData(0, b"")])], "acks": 1}, on_topic(Operation.WRITE), TOPIC, partitions("responses", "partition_responses"), **ON_TOPIC),
    Row("Fetch", lambda uuid: {"topics": [FetchTopic("", uuid, [FetchPartition(0)])]}, on_topic(READ), TOPIC, partitions("responses", "partitions"), **ON_TOPIC),
    Row("ListOffsets", lambda _: {"replica_id": -1, "topics": [ListOffsetsTopic(T, [ListOffsetsPartition(0)])]}, on_topic(DESCRIBE), TOPIC, partitions("topics", "partitions"), **ON_TOPIC),
    Row("DeleteRecords", lambda _: {"topics": [DeleteRecordsTopic(T, [DeleteRecordsPartition(0, 0)])], "timeout_ms": 1000}, on_topic(Operation.DELETE), TOPIC, partitions("topics", "partitions"), **ON_TOPIC),
    Row("DescribeProducers", lambda _: {"topics": [ProducersOf(T, [0])]}, on_topic(READ), TOPIC, partitions("topics", "partitions"), **ON_TOPIC),
    Row("OffsetFetch", lambda _: {"groups": [OffsetFetchRequestGroup(G, topics=None)]}, on_group(DESCRIBE), GROUP, each("groups"), **ON_GROUP),
    Row("OffsetDelete", lambda _: {"group_id": G, "topics": ()}, on_group(Operation.DELETE), GROUP, top, **ON_GROUP),
    Row("FindCoordinator", lambda _: {"coordinator_keys": [G]}, on_group(DESCRIBE), GROUP, each("coordinators"), **ON_GROUP),
    Row("FindCoordinator", lambda _: {"coordinator_keys": [X], "key_type": 1}, on_transaction(DESCRIBE), TRANSACTION, each("coordinators"), what="transaction", **ON_TRANSACTION),
    Row("FindCoordinator", lambda _: {"coordinator_keys": [SHARE], "key_type": 2}, on_cluster(Operation.CLUSTER_ACTION), CLUSTER, each("coordinators"), what="share partition"),
    Row("DescribeGroups", lambda _: {"groups": [G]}, on_group(DESCRIBE), GROUP, each("groups"), **ON_GROUP),
    Row("DeleteGroups", lambda _: {"groups_names": [G]}, on_group(Operation.DELETE), GROUP, each("results"), **ON_GROUP),
    Row("ConsumerGroupDescribe", lambda _: {"group_ids": [G], "include_authorized_operations": False}, on_group(DESCRIBE), GROUP, each("groups"), **ON_GROUP),
    Row("DescribeTransactions", lambda _: {"transactional_ids": [X]}, on_transaction(DESCRIBE), TRANSACTION, each("transaction_states"), **ON_TRANSACTION),
    Row("DescribeLogDirs", lambda _: {"topics": None}, on_cluster(DESCRIBE), CLUSTER, top),
    Row("ElectLeaders", lambda _: {"topic_partitions": None}, on_cluster(ALTER), CLUSTER, top),
    Row("AlterPartitionReassignments", lambda _: {}, on_cluster(ALTER), CLUSTER, top),
    Row("ListPartitionReassignments", lambda _: {}, on_cluster(DESCRIBE), CLUSTER, top),
    Row("UpdateFeatures", lambda _: {"feature_updates": []}, on_cluster(ALTER), CLUSTER, top),
]  # fmt: skip

# These return what the caller may see, or an empty result.
FREE = {
    "ApiVersions",
    "SaslHandshake",
    "SaslAuthenticate",
    "DescribeCluster",
    "ListGroups",
    "ListTransactions",
    "DescribeDelegationToken",
}


def test_every_api_is_tested_or_free_of_rights() -> None:
    assert {APIS[key].name for key in HANDLERS} == {row.api for row in ROWS} | FREE


class Case(NamedTuple):
    name: str
    acls: tuple[AclBinding, ...]


OPERATIONS = [each for each in Operation if each > Operation.ANY]


def cases(row: Row) -> Iterable[Case]:
    yield Case("no ACL", ())
    places = {
        (row.kind, row.name),
        (row.kind, "*"),
        (AclType.CLUSTER, CLUSTER_NAME),
        (AclType.TOPIC, "another"),
        (AclType.USER, row.name),
    }
    for kind, name in sorted(places):
        for operation in OPERATIONS:
            word = f"{operation.name} on {kind.name}:{name}"
            yield Case(f"allow {word}", (AclBinding(kind, name, ALICE, operation),))
            everything = AclBinding(kind, name, ALICE, Operation.ALL)
            deny = AclBinding(kind, name, "User:*", operation, Permission.DENY)
            yield Case(f"deny {word} beside ALL", (everything, deny))
            yield Case(f"allow {word} to another", (AclBinding(kind, name, "User:bob", operation),))
            yield Case(f"allow {word} elsewhere", (AclBinding(kind, name, ALICE, operation, host="10.9.9.9"),))


def oracle(acls: Iterable[AclBinding]) -> May:
    """Spec 8.10, literally."""
    implied = {
        Operation.DESCRIBE: {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER},
        Operation.DESCRIBE_CONFIGS: {Operation.ALTER_CONFIGS},
    }

    def may(operation: Operation, kind: AclType, name: str) -> bool:
        applicable = [
            acl
            for acl in acls
            if acl.resource_type == kind
            and acl.name in (name, "*")
            and acl.principal in (ALICE, "User:*")
            and acl.host in (HOST, "*")
        ]
        if any(acl.permission == Permission.DENY and acl.operation in (operation, Operation.ALL) for acl in applicable):
            return False
        enough = {operation, Operation.ALL} | implied.get(operation, set())
        return any(acl.permission == Permission.ALLOW and acl.operation in enough for acl in applicable)

    return may


class World:
    """A server without sockets, with the ACLs of a test case."""

    def __init__(self) -> None:
        static = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
        self.service = Service(MemoryStore(), node_id=1, catalog=kafka_43(), static=static)

    async def start(self) -> None:
        await self.service.start()
        self.context = ServerContext.over(self.service, lambda: 0.0)
        self.fast_path = FastPathAlone(self.context)

    async def ask(self, row: Row, case: Case) -> Any:
        topic = self.service.state.snapshot.topics.get(T)
        if topic is None:
            await self._as(None, "CreateTopics", {"topics": [CreatableTopic(T, 1, 1, (), ())], "timeout_ms": 1000})
            topic = self.service.state.snapshot.topics[T]
        if NEW in self.service.state.snapshot.topics:
            await self._as(None, "DeleteTopics", {"topics": [DeleteTopicState(NEW)], "timeout_ms": 1000})
        if topic.partitions > 1:
            await self._as(None, "DeleteTopics", {"topics": [DeleteTopicState(T)], "timeout_ms": 1000})
            await self._as(None, "CreateTopics", {"topics": [CreatableTopic(T, 1, 1, (), ())], "timeout_ms": 1000})
            topic = self.service.state.snapshot.topics[T]
        index = AclIndex()
        patterns = {pattern_of(acl) for acl in case.acls}
        for pattern in patterns:
            index.replace(pattern.resource, {key_of(acl): "" for acl in case.acls if pattern_of(acl) == pattern})
        return await self._as(Authorizer(index), row.api, row.fields(UUID(bytes=topic.id.bytes).bytes))

    async def _as(self, authorizer: Authorizer | None, api: str, fields: dict[str, Any]) -> Any:
        connection = ConnectionContext(HOST, "127.0.0.1", 9092)
        connection.principal = ALICE
        connection.authorize = authorize_function(authorizer, ALICE, HOST)
        row = BY_NAME[api]
        frame = request(row, row.max, 1, "x", row.request(**fields))
        if api == "DescribeConfigs":
            fast = self.fast_path.answer(frame, connection.authorize)
            if fast is not None:
                return read_response(row, row.max, fast[4:])[1]
        return read_response(row, row.max, (await routed(self.context, frame, connection))[4:])[1]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.api}{' ' + row.what if row.what else ''}")
def test_an_api_needs_exactly_the_rights_of_its_row(row: Row) -> None:
    async def scenario() -> None:
        world = World()
        await world.start()
        wrong = []
        for case in cases(row):
            codes = set(row.codes(await world.ask(row, case)))
            refused = row.refusal in codes
            assert len(codes) == 1, "one resource, one answer"
            if refused == row.needs(oracle(case.acls)):
                wrong.append((case.name, codes))
        assert wrong == []
        await world.context.audit_log.close()
        await world.context.feed.close()
        await world.service.stop()

    asyncio.run(scenario())


def test_a_refusal_is_recorded_with_its_code() -> None:
    async def scenario() -> None:
        world = World()
        await world.start()
        rows = [
            row for row in ROWS if row.api in ("IncrementalAlterConfigs", "CreateAcls", "AlterUserScramCredentials")
        ]
        for row in rows:
            await world.ask(row, Case("no ACL", ()))
        await world.context.audit_log.flush()
        reader = world.service.store.journal_reader()
        noted = [(each.caller.principal, each.caller.host, each.caller.api, each.code) for each in reader.attempts(0)]
        assert [(ALICE, HOST, row.api, row.refusal) for row in rows] == noted
        await world.context.audit_log.close()
        await world.context.feed.close()
        await world.service.stop()

    asyncio.run(scenario())


def test_the_caller_of_an_accepted_change_is_in_the_journal() -> None:
    async def scenario() -> None:
        world = World()
        await world.start()
        row = next(row for row in ROWS if row.api == "CreateAcls")
        await world.ask(row, Case("allowed", (AclBinding(AclType.CLUSTER, CLUSTER_NAME, ALICE, Operation.ALTER),)))
        (*_, last) = world.service.store.changes(0)
        assert last.caller == RequestContext(ALICE, "x", HOST, "CreateAcls", 1)
        await world.context.audit_log.close()
        await world.context.feed.close()
        await world.service.stop()

    asyncio.run(scenario())
