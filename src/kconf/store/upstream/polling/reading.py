"""Reads the state of a cluster from one broker, through its Admin APIs, in slices.

All requests go to the same broker, one after the other, so that a later one never shows an older state. Only broker
configs are read from each broker itself. `HIDDEN` is the placeholder of a sensitive value, which brokers do not show.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar
from uuid import UUID

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.calls.acls import DescribeAcls
from kconf.client.calls.base import Call, CallResult, ClusterCall, NodeVersions, api_error
from kconf.client.calls.client_quotas import DescribeClientQuotas
from kconf.client.calls.cluster import DescribeCluster
from kconf.client.calls.configs import DescribeConfigs, ListConfigResources
from kconf.client.calls.scram import AllUserScramCredentials
from kconf.client.kraft.access_records import acl_value
from kconf.configdef.lookup import known_key
from kconf.configdef.validate import normalize
from kconf.engine.access.acls import ResourcePattern
from kconf.engine.access.scram_credentials import user_resource
from kconf.engine.declarative.diff import quota_value
from kconf.errors import (
    ApiError,
    AuthenticationFailed,
    BrokerNotAvailable,
    ConnectionFailed,
    ErrorCode,
    KafkaError,
    KconfError,
    NotAuthorized,
    RemoteProtocolError,
    RequestTimedOut,
)
from kconf.model.acl import AclFilter, AclType, Operation, PatternType
from kconf.model.cluster import ClusterDescription
from kconf.model.entry import Entry, View, own_source
from kconf.model.quota import QuotaEntity, QuotaFilter
from kconf.model.resource import NO_OVERRIDES, Overrides, Resource, ResourceType, Topic
from kconf.model.snapshot import Snapshot
from kconf.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

HIDDEN: Final = "poll:hidden"
SLICE: Final = 250  # resources per request
KINDS: Final = (
    ResourceType.BROKER,
    ResourceType.CLIENT_METRICS,
    ResourceType.GROUP,
    ResourceType.QUOTA,
    ResourceType.SCRAM,
    ResourceType.ACL,
)
"""The kinds of resources besides topics. Each is read completely."""

_TIMEOUT: Final = 10.0  # seconds for a request
_LONGEST: Final = 0x7FFF  # bytes of a string in a request
_TOO_LONG: Final = ApiError(ErrorCode.INVALID_REQUEST, "the name is too long for a request to the cluster")
_FEW: Final = 8  # entities or patterns that are requested one by one
_LOST: Final = frozenset({ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NETWORK_EXCEPTION, ErrorCode.BROKER_NOT_AVAILABLE})
_UNKNOWN_TOPIC: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})

_UNREACHABLE: Final = (ConnectionFailed, RequestTimedOut, BrokerNotAvailable, AuthenticationFailed)
_UNREADABLE: Final = (*_UNREACHABLE, RemoteProtocolError)

T = TypeVar("T")
Listing = Mapping[str, "Topic | ApiError"]


class Reading(NamedTuple):
    """Resources as a broker shows them. A topic that is None does not exist. `refused` could not be read."""

    topics: Mapping[str, Topic | None]
    configs: Mapping[Resource, Overrides]
    refused: Mapping[Resource, ApiError]


class _ListTopics(ClusterCall[Listing]):
    """Topics with their replicas: all, or the existing ones of these names."""

    name = "Metadata"
    min_version = 10
    hint = "before Kafka 2.8, topics have no IDs"

    def __init__(self, names: Iterable[str] | None) -> None:
        super().__init__()
        self._names = None if names is None else [MetadataRequestTopic(name=each) for each in names]

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        return MetadataRequest(self._names, allow_auto_topic_creation=False)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        if body.error_code:
            return CallResult({None: api_error(body.error_code, None)}, body.throttle_time_ms)
        found: dict[str, Topic | ApiError] = {}
        for each in body.topics:
            if each.name is None or each.error_code in _UNKNOWN_TOPIC:
                continue
            replicas = {one.partition_index: tuple(one.replica_nodes) for one in each.partitions}
            topic = Topic(each.name, UUID(bytes=each.topic_id), tuple(replicas[number] for number in sorted(replicas)))
            found[each.name] = api_error(each.error_code, None) if each.error_code else topic
        return CallResult({None: found}, body.throttle_time_ms)


class StateReader:
    """Used by one thread at a time. Every method raises KafkaError if the broker is unavailable or refuses."""

    def __init__(self, client: SyncAdminClient) -> None:
        self._client = client

    def close(self) -> None:
        self._client.close()

    def cluster(self, node: int | None) -> ClusterDescription:
        """The brokers, and the gateway's authorized operations on the cluster, from this broker."""
        return self._send(DescribeCluster(authorized_operations=True, fenced=False, controllers=False), node)

    def list_topics(self, node: int) -> Listing:
        return self._send(_ListTopics(None), node)

    def topics(self, node: int, names: Collection[str], known: Mapping[str, Topic]) -> Reading:
        """Topics with their configs. Topics in `known` are not listed again."""
        unsure = [each for each in names if each not in known]
        found: dict[str, Topic | ApiError] = {each: known[each] for each in names if each in known}
        if unsure:
            listed = self._send(_ListTopics(unsure), node)
            found |= listed
        topics: dict[str, Topic | None] = {each: None for each in names if each not in found}
        topics |= {name: each for name, each in found.items() if isinstance(each, Topic)}
        refused = {Resource.topic(name): each for name, each in found.items() if isinstance(each, ApiError)}
        existing = [Resource.topic(name) for name, each in topics.items() if each is not None]
        configs, failures = self._configs(node, existing)
        for resource, failure in failures.items():
            if failure.code in _UNKNOWN_TOPIC:
                topics[resource.name] = None
            else:
                refused[resource] = failure
        return Reading(topics, configs, refused)

    def kind(self, node: int, kind: ResourceType, known: Iterable[Resource], cluster: ClusterDescription) -> Reading:
        """All resources of a kind. Resources in `known` that no longer exist are returned without values."""
        refused: Mapping[Resource, ApiError] = {}
        found: dict[Resource, Overrides]
        match kind:
            case ResourceType.BROKER:
                found, refused = self._brokers(node, cluster.nodes)
                return Reading({}, found, refused)
            case ResourceType.QUOTA:
                found = self._quotas(node, None)
            case ResourceType.SCRAM:
                found = self._users(node, cluster)
            case ResourceType.ACL:
                found = self._acls(node, None)
            case _:
                named = self._send(ListConfigResources([kind]), node)
                found, refused = self._configs(node, named)
        gone = {each: NO_OVERRIDES for each in known if each not in found and each not in refused}
        return Reading({}, {**found, **gone}, refused)

    def some(self, node: int, resources: Collection[Resource]) -> Reading:
        """Read these resources only. No cluster has those whose names are too long for a request."""
        too_long = {
            each: _TOO_LONG for each in resources if any(len(text.encode()) > _LONGEST for text in _texts(each))
        }
        resources = [each for each in resources if each not in too_long]
        topics = [each.name for each in resources if each.type is ResourceType.TOPIC]
        reading = self.topics(node, topics, {}) if topics else Reading({}, {}, {})
        configs, refused = dict(reading.configs), {**reading.refused, **too_long}
        others: dict[ResourceType, list[Resource]] = {}
        for each in resources:
            if each.type is not ResourceType.TOPIC:
                others.setdefault(each.type, []).append(each)
        for kind, wanted in others.items():
            found, failures = self._some(node, kind, wanted)
            configs |= {each: found.get(each, NO_OVERRIDES) for each in wanted if each not in failures}
            refused |= failures
        return Reading(reading.topics, configs, refused)

    def _some(
        self, node: int, kind: ResourceType, wanted: Sequence[Resource]
    ) -> tuple[Mapping[Resource, Overrides], Mapping[Resource, ApiError]]:
        match kind:
            case ResourceType.QUOTA:
                return self._quotas(node, [QuotaEntity.from_resource(each) for each in wanted]), {}
            case ResourceType.SCRAM:
                return self._users(node, self.cluster(node)), {}
            case ResourceType.ACL:
                return self._acls(node, [ResourcePattern.of(each) for each in wanted]), {}
            case _:
                return self._configs(node, wanted)

    def _brokers(
        self, node: int, nodes: Iterable[int]
    ) -> tuple[dict[Resource, Overrides], Mapping[Resource, ApiError]]:
        """The configs of each broker, read from itself. Those of an unavailable broker do not change."""
        configs, refused = self._configs(node, [Resource.brokers(), *map(Resource.broker, nodes)])
        failure = refused.get(Resource.brokers()) or refused.get(Resource.broker(node))
        if failure is not None:
            raise failure.error()
        return configs, {}

    def _configs(
        self, node: int, resources: Sequence[Resource]
    ) -> tuple[dict[Resource, Overrides], Mapping[Resource, ApiError]]:
        found: dict[Resource, Overrides] = {}
        failures: dict[Resource, ApiError] = {}
        others = [each for each in resources if each.type is ResourceType.BROKER and each.name]
        for part in (*_parts([each for each in resources if each not in others], SLICE), others):
            if part:
                described = self._send(DescribeConfigs(part, synonyms=part is others), None if part is others else node)
                lost = [each for each in described.failures.values() if each.code in _LOST]
                if lost and part is not others:
                    raise lost[0].error()
                failures |= described.failures
                found |= {each: _own(each, described[each]) for each in part if each not in described.failures}
        return found, failures

    def _quotas(self, node: int, entities: Sequence[QuotaEntity] | None) -> dict[Resource, Overrides]:
        filters = [None] if entities is None or len(entities) > _FEW else [QuotaFilter.exactly(e) for e in entities]
        return {
            entity.resource: {key: quota_value(key, value) for key, value in values.items()}
            for each in filters
            for entity, values in self._send(DescribeClientQuotas(each), node).items()
        }

    def _users(self, node: int, cluster: ClusterDescription) -> dict[Resource, Overrides]:
        """SCRAM credentials.

        Checks authorization first: Kafka 4.3.1 does not respond to an unauthorized request for all users.
        """
        allowed = cluster.authorized_operations
        if allowed is not None and Operation.DESCRIBE not in allowed:
            raise NotAuthorized(NotAuthorized.stock)
        found = self._send(AllUserScramCredentials(), node)
        return {
            user_resource(user): {each.mechanism.word: f"iterations={each.iterations} {HIDDEN}" for each in found[user]}
            for user in found
            if user not in found.failures
        }

    def _acls(self, node: int, patterns: Sequence[ResourcePattern] | None) -> dict[Resource, Overrides]:
        filters = [None] if patterns is None or len(patterns) > _FEW else [_exactly(each) for each in patterns]
        found: dict[Resource, dict[str, str]] = {}
        for each in filters:
            for binding in self._send(DescribeAcls(each), node):
                resource, key, value, _ = acl_value(binding, is_set=True)
                found.setdefault(resource, {})[key] = value or ""
        return dict(found)

    def _send(self, call: Call[Any, Any, T], node: int | None) -> T:
        call.node = node
        return self._client._send(call, _TIMEOUT)


def read_all(
    reader: StateReader,
    node: int,
    cluster: ClusterDescription,
    known: Snapshot,
    unknown: Mapping[ResourceType, ApiError],
    *,
    may_refuse: bool,
) -> tuple[Reading, Mapping[ResourceType, ApiError]]:
    """Read everything except the `unknown` kinds.

    Returns also the kinds that the broker refuses, if that is allowed.
    """
    topics: dict[str, Topic | None] = {}
    configs: dict[Resource, Overrides] = {}
    resources: dict[Resource, ApiError] = {}
    kinds = dict(unknown)

    def add(found: Reading) -> None:
        topics.update(found.topics)
        configs.update(found.configs)
        resources.update(found.refused)

    for part in _parts(sorted({*reader.list_topics(node), *known.topics}), SLICE):
        add(reader.topics(node, part, {}))
    for kind in (each for each in KINDS if each not in unknown):
        try:
            add(reader.kind(node, kind, of_kind(known, kind), cluster))
        except KafkaError as error:
            if is_unreachable(error) or kind is ResourceType.BROKER or not may_refuse:
                raise
            kinds[kind] = error.failure()
    return Reading(topics, configs, resources), kinds


def of_kind(snapshot: Snapshot, kind: ResourceType) -> list[Resource]:
    return [each for each in snapshot.configs if each.type is kind]


def is_unreachable(error: KconfError) -> bool:
    """Whether a broker did not respond, as opposed to an error response."""
    return isinstance(error, _UNREACHABLE)


def concerns_broker(error: KconfError) -> bool:
    """Whether a broker did not respond, or in a way that cannot be read, so that other requests would fail too."""
    return isinstance(error, _UNREADABLE)


def _texts(resource: Resource) -> Iterable[str]:
    """The names in a request about a resource. The name of a quota or an ACL consists of several texts."""
    match resource.type:
        case ResourceType.QUOTA:
            return [name for _, name in QuotaEntity.from_resource(resource).parts if name is not None]
        case ResourceType.ACL:
            return [ResourcePattern.of(resource).name]
        case _:
            return [resource.name]


def _exactly(pattern: ResourcePattern) -> AclFilter:
    return AclFilter(AclType(pattern.type), pattern.name, pattern=PatternType(pattern.pattern))


def _own(resource: Resource, view: View) -> Overrides:
    """The overrides of a resource itself. Resources with the same View share one mapping."""
    source = own_source(resource)
    found: Overrides | None = view.memo.get(source)
    if found is None:
        found = view.memo[source] = {
            each.name: HIDDEN if each.sensitive else _shown(resource, each)
            for each in view.entries
            if each.source == source
        }
    return found


def _shown(resource: Resource, entry: Entry) -> str:
    """The configured value.

    While a broker applies a new value, that is in the synonyms, and the entry has the old one.
    """
    for synonym in entry.synonyms:
        if synonym.source == entry.source and synonym.name == entry.name and synonym.value is not None:
            key = known_key(resource.type, entry.name)
            return synonym.value if key is None else normalize(key, synonym.value) or ""
    return entry.value or ""


def _parts(items: Sequence[T], size: int) -> list[Sequence[T]]:
    return [items[start : start + size] for start in range(0, len(items), size)]
