"""The random requests and ACLs of the ACL comparison."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kconf import AclBinding, AclType, Operation, PatternType, Permission
from kconf.model.acl import CLUSTER_NAME
from kconf.protocol.apis import BY_NAME
from kconf.protocol.messages.alter_client_quotas import AlteredQuota, QuotaOp
from kconf.protocol.messages.alter_configs import AlterableConfig, AlterConfigsResource
from kconf.protocol.messages.alter_partition_reassignments import ReassignablePartition, ReassignableTopic
from kconf.protocol.messages.alter_user_scram_credentials import ScramCredentialDeletion
from kconf.protocol.messages.create_acls import AclCreation
from kconf.protocol.messages.create_partitions import CreatePartitionsTopic
from kconf.protocol.messages.create_topics import CreatableTopic
from kconf.protocol.messages.delete_acls import DeleteAclsFilter
from kconf.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsTopic
from kconf.protocol.messages.delete_topics import DeleteTopicState
from kconf.protocol.messages.describe_client_quotas import QuotaEntityPart
from kconf.protocol.messages.describe_configs import DescribeConfigsResource
from kconf.protocol.messages.describe_producers import TopicRequest as ProducersOf
from kconf.protocol.messages.describe_topic_partitions import TopicRequest
from kconf.protocol.messages.describe_user_scram_credentials import ScramUserName
from kconf.protocol.messages.elect_leaders import TopicPartitions
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsResource,
)
from kconf.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsTopic
from kconf.protocol.messages.metadata import MetadataRequestTopic
from kconf.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tests.support.wire import Wire

USERS = ("alice", "bob")
TOPICS = ("orders", "orders-eu", "payments", "secret")
MISSING = ("orders-us", "nothing")
GROUPS = ("g1", "group")
INTERNAL = "__"  # internal topics of a real broker's coordinators
KINDS = (*(AclType.TOPIC,) * 3, *(AclType.CLUSTER,) * 2, *(AclType.GROUP,) * 2, AclType.TRANSACTIONAL_ID)
PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        + " ".join(f'user_{name}="{name}-secret"' for name in USERS)
        + ";"
    ),
    "auto.create.topics.enable": "false",
}
LOGIN = (4, "1", "listener.name.other.plain.sasl.jaas.config")


class Side(NamedTuple):
    plain: str
    sasl: str


class User(Wire):
    """A logged-in user."""

    def __init__(self, side: Side, name: str) -> None:
        super().__init__(side.sasl)
        assert self.ask("SaslHandshake", 1, mechanism="PLAIN").error_code == 0
        token = f"\0{name}\0{name}-secret".encode()
        assert self.ask("SaslAuthenticate", 1, auth_bytes=token).error_code == 0


class Question(NamedTuple):
    api: str
    fields: dict[str, Any]
    said: Callable[[Any], Any]
    version: int | None = None

    def ask(self, user: User) -> Any:
        version = BY_NAME[self.api].max if self.version is None else self.version
        return self.said(user.ask(self.api, version, **self.fields))


def drawn_acls(dice: random.Random) -> list[AclBinding]:
    found: dict[AclBinding, None] = {}
    for _ in range(dice.randint(1, 9)):
        kind = dice.choice(KINDS)
        pattern = dice.choice((PatternType.LITERAL, PatternType.PREFIXED))
        if kind is AclType.CLUSTER:
            name, pattern = CLUSTER_NAME, PatternType.LITERAL
        elif kind in (AclType.GROUP, AclType.TRANSACTIONAL_ID):
            name = dice.choice(("*", "g", *GROUPS))
        else:
            name = dice.choice(("*", "o", "orders", "orders-", "pay", "s", *TOPICS, *MISSING))
        binding = AclBinding(
            kind,
            name,
            dice.choice(("User:alice", "User:alice", "User:bob", "User:*", "User:Alice", "Group:alice")),
            dice.choice([each for each in Operation if Operation.ANY < each <= Operation.IDEMPOTENT_WRITE]),
            dice.choice((Permission.ALLOW, Permission.ALLOW, Permission.ALLOW, Permission.DENY)),
            pattern,
            dice.choice(("*", "*", "*", "127.0.0.1", "10.0.0.1")),
        )
        found[binding] = None
    return list(found)


def by_name(field: str, *more: str) -> Callable[[Any], Any]:
    def said(answer: Any) -> Any:
        rows = [each for each in getattr(answer, field) if not (each.name or "").startswith(INTERNAL)]
        return sorted((each.name or "", each.error_code, *(getattr(each, name) for name in more)) for each in rows)

    return said


def codes(field: str) -> Callable[[Any], Any]:
    return lambda answer: [each.error_code for each in getattr(answer, field)]


def questions(dice: random.Random) -> Iterable[Question]:
    """One request of each kind, about a random resource."""
    name = dice.choice((*TOPICS, *MISSING))
    group = dice.choice((*GROUPS, "other"))
    names = dice.sample((*TOPICS, *MISSING, "bad name", ""), 4)
    wanted = [MetadataRequestTopic(name=each) for each in names]
    asked = {"allow_auto_topic_creation": False, "include_topic_authorized_operations": True}
    operations = by_name("topics", "topic_authorized_operations")
    yield Question("Metadata", {"topics": wanted, **asked}, operations)
    yield Question("Metadata", {"topics": None, **asked}, operations)
    yield Question(
        "Metadata",
        {"topics": [], "include_cluster_authorized_operations": True},
        lambda answer: answer.cluster_authorized_operations,
        10,
    )
    yield Question(
        "DescribeCluster",
        {"include_cluster_authorized_operations": True},
        lambda answer: (answer.error_code, answer.cluster_authorized_operations, len(answer.brokers)),
    )
    partitions = {"topics": [TopicRequest(each) for each in sorted(names)], "response_partition_limit": 1000}
    yield Question("DescribeTopicPartitions", partitions, operations)
    yield Question("DescribeTopicPartitions", {**partitions, "topics": []}, operations)
    places = dict.fromkeys([(2, name), (2, names[0]), (4, "1"), (4, ""), (8, "1"), (16, "m"), (32, group)])
    yield Question(
        "DescribeConfigs",
        {"resources": [DescribeConfigsResource(*each, ["retention.ms"]) for each in places]},
        lambda answer: [(each.resource_type, each.resource_name, each.error_code) for each in answer.results],
    )
    settings = [
        (2, name, "retention.ms", dice.choice(("1000", "x"))),
        (4, "", "log.retention.ms", dice.choice(("1000", "x"))),
        (16, "m", "interval.ms", dice.choice(("1000", "x"))),
        (32, group, "consumer.session.timeout.ms", dice.choice(("50000", "x"))),
        (2, f"{name}-2", dice.choice(("retention.ms", "unknown")), "1"),
    ]
    yield Question(
        "IncrementalAlterConfigs",
        {
            "resources": [
                IncrementalAlterConfigsResource(kind, each, [IncrementalAlterableConfig(key, 0, value)])
                for kind, each, key, value in settings
            ],
            "validate_only": True,
        },
        lambda answer: sorted((each.resource_type, each.resource_name, each.error_code) for each in answer.responses),
    )
    login = [IncrementalAlterableConfig(LOGIN[2], 0, PROPERTIES["listener.name.sasl_plaintext.plain.sasl.jaas.config"])]
    yield Question(
        "IncrementalAlterConfigs",
        {"resources": [IncrementalAlterConfigsResource(*LOGIN[:2], login)], "validate_only": True},
        lambda answer: [(each.resource_type, each.resource_name, each.error_code) for each in answer.responses],
    )
    yield Question(
        "AlterConfigs",
        {
            "resources": [
                AlterConfigsResource(kind, each, [AlterableConfig(key, value)])
                for kind, each, key, value in settings[:4]
            ],
            "validate_only": True,
        },
        lambda answer: sorted((each.resource_type, each.resource_name, each.error_code) for each in answer.responses),
    )
    topics = [CreatableTopic(each, 1, 1, (), ()) for each in dict.fromkeys((name, "orders-us", "bad name"))]
    yield Question(
        "CreateTopics",
        {"topics": topics, "timeout_ms": 10000, "validate_only": True},
        by_name("topics", "topic_config_error_code", "num_partitions"),
    )
    yield Question(
        "CreatePartitions",
        {"topics": [CreatePartitionsTopic(name, 3, None)], "timeout_ms": 10000, "validate_only": True},
        by_name("results"),
    )
    doomed = [DeleteTopicState(each) for each in (*MISSING, "bad name")]
    yield Question("DeleteTopics", {"topics": doomed, "timeout_ms": 10000}, by_name("responses"))
    stranger = [DeleteTopicState(None, bytes(15) + b"\x07")]
    yield Question("DeleteTopics", {"topics": stranger, "timeout_ms": 10000}, by_name("responses"))
    yield Question(
        "DescribeAcls",
        {"resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1},
        lambda answer: (answer.error_code, sum(len(each.acls) for each in answer.resources)),
    )
    bad = AclCreation(2, "", 3, "User:x", "*", 3, 3)
    yield Question("CreateAcls", {"creations": [bad]}, codes("results"))
    yield Question("DeleteAcls", {"filters": [DeleteAclsFilter(2, "never-made", 3)]}, codes("filter_results"))
    yield Question("DescribeClientQuotas", {"components": [], "strict": False}, lambda answer: answer.error_code)
    quota = AlteredQuota([QuotaEntityPart("user", "u")], [QuotaOp("producer_byte_rate", 1.0, False)])
    yield Question("AlterClientQuotas", {"entries": [quota], "validate_only": True}, codes("entries"))
    yield Question(
        "DescribeUserScramCredentials",
        {"users": dice.choice(([], [ScramUserName("nobody")]))},  # 4.3.1 does not respond at all if null is refused
        lambda answer: [answer.error_code, *((each.user, each.error_code) for each in answer.results)],
    )
    yield Question(
        "AlterUserScramCredentials",
        {"deletions": [ScramCredentialDeletion("nobody", 1)], "upsertions": []},
        codes("results"),
    )
    yield Question(
        "ListConfigResources",
        {"resource_types": [2]},
        lambda answer: (
            answer.error_code,
            sorted(
                each.resource_name for each in answer.config_resources if not each.resource_name.startswith(INTERNAL)
            ),
        ),
    )
    yield Question("ListGroups", {}, lambda answer: (answer.error_code, len(answer.groups)))
    yield from data_plane_questions(name, group)


def data_plane_questions(name: str, group: str) -> Iterable[Question]:
    """Requests about offsets, groups, transactions, leaders and replicas."""
    yield Question(
        "ListOffsets",
        {"replica_id": -1, "topics": [ListOffsetsTopic(name, [ListOffsetsPartition(0, -1, -1)])]},
        partition_codes("topics", "partitions"),
    )
    records = [DeleteRecordsTopic(name, [DeleteRecordsPartition(0, 0)])]
    yield Question("DeleteRecords", {"topics": records, "timeout_ms": 10000}, partition_codes("topics", "partitions"))
    for topic in (name, "bad name"):
        producers = {"topics": [ProducersOf(topic, [0])]}
        yield Question("DescribeProducers", producers, partition_codes("topics", "partitions"))
    for kind, key in ((0, group), (1, group), (2, f"{group}:AAAAAAAAAAAAAAAAAAAAAQ:0")):
        keys = {"key_type": kind, "coordinator_keys": [key]}
        yield Question("FindCoordinator", keys, lambda answer: [_coordinator(each) for each in answer.coordinators])
    yield Question("DescribeGroups", {"groups": [group]}, codes("groups"))
    yield Question(
        "DescribeGroups",
        {"groups": [group], "include_authorized_operations": True},
        lambda answer: [(each.error_code, each.authorized_operations) for each in answer.groups],
        5,
    )
    consumers = {"group_ids": [group], "include_authorized_operations": False}
    yield Question("ConsumerGroupDescribe", consumers, codes("groups"))
    yield Question("DeleteGroups", {"groups_names": [group]}, codes("results"))
    topics = [OffsetFetchRequestTopics(name, partition_indexes=[0])]
    yield Question(
        "OffsetFetch",
        {"groups": [OffsetFetchRequestGroup(group, topics=topics)]},
        lambda answer: [
            (each.error_code, [one.error_code for topic in each.topics for one in topic.partitions])
            for each in answer.groups
        ],
        9,
    )
    old_topics = [OffsetFetchRequestTopic(name, [0])]
    for version in (1, 7):
        yield Question(
            "OffsetFetch",
            {"group_id": group, "topics": old_topics},
            lambda answer: (answer.error_code, partition_codes("topics", "partitions")(answer)),
            version,
        )
    yield Question("OffsetDelete", {"group_id": group, "topics": ()}, lambda answer: answer.error_code)
    yield Question("DescribeTransactions", {"transactional_ids": [group]}, codes("transaction_states"))
    yield Question(
        "ListTransactions", {"state_filters": (), "producer_id_filters": ()}, lambda answer: answer.error_code
    )
    yield Question("DescribeLogDirs", {"topics": None}, lambda answer: (answer.error_code, bool(answer.results)))
    yield Question("DescribeLogDirs", {"topics": None}, lambda answer: bool(answer.results), 1)
    yield Question("DescribeDelegationToken", {"owners": None}, lambda answer: answer.error_code)
    yield Question(
        "ElectLeaders",
        {"topic_partitions": [TopicPartitions(name, [0])], "timeout_ms": 10000},
        lambda answer: (
            answer.error_code,
            [one.error_code for each in answer.replica_election_results for one in each.partition_result],
        ),
    )
    yield Question(
        "AlterPartitionReassignments",
        {"topics": [ReassignableTopic(name, [ReassignablePartition(0, [1])])], "timeout_ms": 10000},
        lambda answer: (answer.error_code, partition_codes("responses", "partitions")(answer)),
    )
    yield Question("ListPartitionReassignments", {"topics": None}, lambda answer: answer.error_code)


def partition_codes(topics: str, field: str) -> Callable[[Any], Any]:
    return lambda answer: [each.error_code for topic in getattr(answer, topics) for each in getattr(topic, field)]


def _coordinator(found: Any) -> tuple[int, int]:
    """A share coordinator that is not ready yet counts as one that this user may describe."""
    return (0, 1) if found.error_code == 15 else (found.error_code, found.node_id)
