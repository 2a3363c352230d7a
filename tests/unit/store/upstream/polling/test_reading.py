"""What a gateway reads from a broker: its own values only, and what a broker refuses is not taken for absent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import pytest

from kconf import SyncAdminClient
from kconf.engine.access.acls import key_of, pattern_of
from kconf.errors import ApiError, ErrorCode, NotAuthorized
from kconf.model.acl import AclBinding, AclType, Operation, PatternType, Permission
from kconf.model.cluster import ClusterDescription
from kconf.model.journal import Change, ChangeKind
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource, ResourceType, Topic
from kconf.model.snapshot import Snapshot, topic_to_json
from kconf.protocol.messages.describe_acls import AclDescription, DescribeAclsResource, DescribeAclsResponse
from kconf.protocol.messages.describe_client_quotas import (
    DescribeClientQuotasResponse,
    DescribedQuota,
    QuotaEntityPart,
    QuotaValue,
)
from kconf.protocol.messages.describe_configs import (
    DescribeConfigsEntry,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from kconf.protocol.messages.describe_user_scram_credentials import (
    DescribedScramUser,
    DescribeUserScramCredentialsResponse,
    ScramCredentialInfo,
)
from kconf.protocol.messages.list_config_resources import ListConfigResourcesResponse, ListedConfigResource
from kconf.protocol.messages.metadata import MetadataBroker, MetadataPartition, MetadataResponse, MetadataTopic
from kconf.store.upstream.polling.reading import HIDDEN, KINDS, StateReader, read_all
from tests.unit.client.fake import FakeBroker

UNKNOWN, REFUSED = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.TOPIC_AUTHORIZATION_FAILED
CLUSTER = ClusterDescription("fake", None, {}, None)
ALICE, BOB = (QuotaEntity.of({"user": name}) for name in ("alice", "bob"))
READ = AclBinding(AclType.TOPIC, "orders", "User:alice", Operation.READ, Permission.ALLOW, PatternType.LITERAL)


class Scripted:
    """A broker with these topics, and the configs of any resources. An error code replaces what it refuses."""

    def __init__(self, broker: FakeBroker) -> None:
        self.topics: dict[str, Topic | ErrorCode] = {}
        self.configs: dict[Resource, list[DescribeConfigsEntry] | ErrorCode] = {}
        self.quotas: dict[QuotaEntity, Mapping[str, float]] = {}
        self.listed: list[str] = []
        self._broker = broker
        broker.handlers |= {
            "Metadata": self._metadata,
            "DescribeConfigs": self._describe,
            "ListConfigResources": self._list,
            "DescribeClientQuotas": self._describe_quotas,
            "DescribeAcls": lambda *_: DescribeAclsResponse(
                resources=[DescribeAclsResource(2, "orders", 3, [AclDescription("User:alice", "*", 3, 3)])]
            ),
            "DescribeUserScramCredentials": lambda *_: DescribeUserScramCredentialsResponse(
                results=[
                    DescribedScramUser("alice", credential_infos=[ScramCredentialInfo(1, 4096)]),
                    DescribedScramUser("bob", ErrorCode.RESOURCE_NOT_FOUND),
                ]
            ),
        }

    def requested(self, name: str) -> list[Any]:
        """The bodies of all requests of an API."""
        return [body for (api, _), body in zip(self._broker.asked, self._broker.requests, strict=True) if api == name]

    def _metadata(self, asked: Any, version: int) -> MetadataResponse:
        brokers = [MetadataBroker(1, "127.0.0.1", self._broker.port)]
        names = list(self.topics) if asked.topics is None else [each.name for each in asked.topics]
        return MetadataResponse(0, brokers, "fake", 1, [self._topic(name) for name in names])

    def _topic(self, name: str) -> MetadataTopic:
        found = self.topics.get(name, UNKNOWN)
        if isinstance(found, ErrorCode):
            return MetadataTopic(found, name)
        partitions = [MetadataPartition(0, number, 1, 0, each) for number, each in enumerate(found.replicas)]
        return MetadataTopic(0, name, found.id.bytes, False, partitions[::-1])

    def _describe(self, asked: Any, version: int) -> DescribeConfigsResponse:
        results = []
        for each in asked.resources:
            found = self.configs.get(Resource(ResourceType(each.resource_type), each.resource_name), [])
            code, entries = (found, []) if isinstance(found, ErrorCode) else (0, found)
            results.append(DescribeConfigsResult(code, None, each.resource_type, each.resource_name, entries))
        return DescribeConfigsResponse(0, results)

    def _list(self, asked: Any, version: int) -> ListConfigResourcesResponse:
        (kind,) = asked.resource_types
        return ListConfigResourcesResponse(config_resources=[ListedConfigResource(name, kind) for name in self.listed])

    def _describe_quotas(self, asked: Any, version: int) -> DescribeClientQuotasResponse:
        users = [each.match for each in asked.components] or [dict(each.parts)["user"] for each in self.quotas]
        return DescribeClientQuotasResponse(
            entries=[
                DescribedQuota(
                    [QuotaEntityPart(*part) for part in entity.parts],
                    [QuotaValue(key, value) for key, value in limits.items()],
                )
                for entity, limits in self.quotas.items()
                if dict(entity.parts)["user"] in users
            ]
        )


def entry(
    key: str, value: str | None, source: int = 1, *synonyms: tuple[str, int], secret: bool = False
) -> DescribeConfigsEntry:
    named = [DescribeConfigsSynonym(key, text, where) for text, where in synonyms]
    return DescribeConfigsEntry(key, value, False, config_source=source, is_sensitive=secret, synonyms=named)


def topic(number: int, *replicas: tuple[int, ...]) -> Topic:
    return Topic(f"t{number}", UUID(int=number), replicas or ((1,),))


@pytest.fixture
def script() -> Iterator[Scripted]:
    with FakeBroker() as broker:
        yield Scripted(broker)


@pytest.fixture
def reader(script: Scripted) -> Iterator[StateReader]:
    with SyncAdminClient(script._broker.address) as client:
        yield StateReader(client)


def test_topics_that_do_not_exist_differ_from_those_that_a_broker_refuses(
    script: Scripted, reader: StateReader
) -> None:
    """A topic may also be deleted after it was listed."""
    t1, t4, t5 = topic(1, (1, 2), (2, 1)), topic(4), topic(5)
    script.topics = {"t1": t1, "t3": REFUSED, "t4": t4, "t5": t5}
    script.configs = {
        Resource.topic("t1"): [entry("retention.ms", "5")],
        Resource.topic("t4"): UNKNOWN,
        Resource.topic("t5"): REFUSED,
    }

    found = reader.topics(1, ["t1", "t2", "t3", "t4", "t5"], {})

    assert found.topics == {"t1": t1, "t2": None, "t4": None, "t5": t5}
    assert found.configs == {Resource.topic("t1"): {"retention.ms": "5"}}
    assert {each: failure.code for each, failure in found.refused.items()} == {
        Resource.topic("t3"): REFUSED,
        Resource.topic("t5"): REFUSED,
    }


def test_known_topics_are_not_requested_again(script: Scripted, reader: StateReader) -> None:
    found = reader.topics(1, ["t1", "t2"], {"t1": topic(1)})

    assert found.topics == {"t1": topic(1), "t2": None}
    assert [[each.name for each in body.topics or ()] for body in script.requested("Metadata") if body.topics] == [
        ["t2"]
    ]
    assert reader.topics(1, ["t1"], {"t1": topic(1)}).topics == {"t1": topic(1)}


def test_only_own_values_are_overrides_and_secrets_are_hidden(script: Scripted, reader: StateReader) -> None:
    """A broker that still applies a value has it in the synonyms, as it was sent."""
    script.configs[Resource.brokers()] = [
        entry("num.io.threads", "8", 3, ("16 ", 3), ("8", 5)),
        entry("ssl.key.password", None, 3, secret=True),
        entry("my.own.key", "a", 3, (" b", 3)),
        entry("my.other.key", "c", 3, ("d", 5)),
        entry("background.threads", "10", 5),
        entry("log.retention.ms", "7", 4),
    ]

    found = reader.kind(1, ResourceType.BROKER, [], CLUSTER)

    assert found.configs == {
        Resource.brokers(): {
            "num.io.threads": "16",
            "ssl.key.password": HIDDEN,
            "my.own.key": " b",
            "my.other.key": "c",
        }
    }


def test_brokers_that_refuse_the_defaults_of_all_brokers_are_an_error(script: Scripted, reader: StateReader) -> None:
    script.configs[Resource.brokers()] = ErrorCode.CLUSTER_AUTHORIZATION_FAILED

    with pytest.raises(NotAuthorized):
        reader.kind(1, ResourceType.BROKER, [], CLUSTER)


def test_resources_that_are_not_listed_any_more_have_no_values(script: Scripted, reader: StateReader) -> None:
    here, hidden, gone = (Resource.group(name) for name in ("here", "hidden", "gone"))
    script.listed = ["here", "hidden"]
    script.configs = {
        here: [entry("consumer.session.timeout.ms", "50000", 8), entry("share.heartbeat.interval.ms", "5000", 5)],
        hidden: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    }

    found = reader.kind(1, ResourceType.GROUP, [here, hidden, gone], CLUSTER)

    assert found.configs == {here: {"consumer.session.timeout.ms": "50000"}, gone: {}}
    assert {each: failure.code for each, failure in found.refused.items()} == {
        hidden: ErrorCode.GROUP_AUTHORIZATION_FAILED
    }


def test_selected_resources_are_read_by_name(script: Scripted, reader: StateReader) -> None:
    script.topics = {"t1": topic(1)}
    script.configs[Resource.topic("t1")] = [entry("retention.ms", "5")]
    script.quotas = {ALICE: {"producer_byte_rate": 1024.0}, BOB: {"producer_byte_rate": 1.0}}

    found = reader.some(1, [Resource.topic("t1"), ALICE.resource, pattern_of(READ).resource, Resource.group("g")])

    assert found.topics == {"t1": topic(1)}
    assert found.configs == {
        Resource.topic("t1"): {"retention.ms": "5"},
        ALICE.resource: {"producer_byte_rate": "1024"},
        pattern_of(READ).resource: {key_of(READ): ""},
        Resource.group("g"): {},
    }
    (asked,) = script.requested("DescribeAcls")
    assert (asked.resource_type_filter, asked.resource_name_filter, asked.pattern_type_filter) == (2, "orders", 3)
    (quotas,) = script.requested("DescribeClientQuotas")
    assert ([(each.entity_type, each.match) for each in quotas.components], quotas.strict) == (
        [("user", "alice")],
        True,
    )


@pytest.mark.parametrize(("count", "requests"), [(8, 8), (9, 1)])
def test_more_than_eight_quotas_are_read_with_one_request(
    script: Scripted, reader: StateReader, count: int, requests: int
) -> None:
    entities = [QuotaEntity.of({"user": f"u{number}"}) for number in range(count)]
    script.quotas = {each: {"producer_byte_rate": 1.0} for each in [*entities, ALICE]}

    found = reader.some(1, [each.resource for each in entities])

    assert found.configs == {each.resource: {"producer_byte_rate": "1"} for each in entities}
    assert len(script.requested("DescribeClientQuotas")) == requests


def test_credentials_are_represented_by_their_iterations(script: Scripted, reader: StateReader) -> None:
    found = reader.kind(1, ResourceType.SCRAM, [], CLUSTER)

    assert found.configs == {Resource(ResourceType.SCRAM, "alice"): {"SCRAM-SHA-256": f"iterations=4096 {HIDDEN}"}}


def test_without_the_right_to_describe_the_cluster_credentials_are_not_requested(
    script: Scripted, reader: StateReader
) -> None:
    """Kafka 4.3.1 does not respond to such a request."""
    with pytest.raises(NotAuthorized):
        reader.kind(1, ResourceType.SCRAM, [], CLUSTER._replace(authorized_operations=frozenset({Operation.ALTER})))

    assert script.requested("DescribeUserScramCredentials") == []


def test_everything_is_read_except_kinds_that_are_unknown_or_refused(script: Scripted, reader: StateReader) -> None:
    """A topic that is not listed anymore is requested by name, because it may only be hidden now."""
    script.topics = {"t1": topic(1)}
    script.quotas = {ALICE: {"producer_byte_rate": 1.0}}
    created = Change(ChangeKind.TOPIC, Resource.topic("t9"), "", None, topic_to_json(topic(9)), "create")
    known = Snapshot.EMPTY.apply([created], 1)
    unknown = {ResourceType.ACL: ApiError(ErrorCode.SECURITY_DISABLED)}
    cluster = CLUSTER._replace(authorized_operations=frozenset({Operation.ALTER}))

    found, kinds = read_all(reader, 1, cluster, known, unknown, may_refuse=True)

    assert found.topics == {"t1": topic(1), "t9": None}
    assert {each.type for each in found.configs} == {ResourceType.TOPIC, ResourceType.BROKER, ResourceType.QUOTA}
    assert {kind: failure.code for kind, failure in kinds.items()} == {
        ResourceType.ACL: ErrorCode.SECURITY_DISABLED,
        ResourceType.SCRAM: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    }
    assert script.requested("DescribeAcls") == []
    assert set(kinds) < set(KINDS)
    with pytest.raises(NotAuthorized):
        read_all(reader, 1, cluster, known, unknown, may_refuse=False)


def test_names_that_no_request_can_contain_are_refused_and_the_others_are_read(
    script: Scripted, reader: StateReader
) -> None:
    script.topics = {"t1": topic(1)}
    script.configs[Resource.topic("t1")] = []
    too_long = [Resource.topic("\ufffd" * 12_000), Resource.group("g" * 40_000)]

    found = reader.some(1, [too_long[0], Resource.topic("t1"), too_long[1]])

    assert found.topics == {"t1": topic(1)}
    assert {each: failure.code for each, failure in found.refused.items()} == dict.fromkeys(
        too_long, ErrorCode.INVALID_REQUEST
    )


def test_a_quota_of_two_long_names_is_read(script: Scripted, reader: StateReader) -> None:
    """Each name fits into a request. Otherwise, a change of this quota would wait for it in vain, and others too."""
    long = QuotaEntity.of({"user": "u" * 20_000, "client-id": "c" * 20_000})
    too_long = QuotaEntity.of({"user": "u" * 40_000})
    script.quotas = {long: {"request_percentage": 50.0}}

    found = reader.some(1, [long.resource, too_long.resource])

    assert found.configs == {long.resource: {"request_percentage": "50.0"}}
    assert found.refused.keys() == {too_long.resource}
