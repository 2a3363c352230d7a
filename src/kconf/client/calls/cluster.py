"""Describes the nodes, groups and features of a cluster. `ListNodes` and `ListControllers` are for routing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kconf.client.calls.base import EVERY, Call, CallResult, ClusterCall, NodeVersions, api_error
from kconf.errors import ApiError
from kconf.model.acl import Operation
from kconf.model.cluster import ClusterDescription, FeatureDescription, GroupListing, Node

CONTROLLERS = 2
_NOT_REQUESTED = -(2**31)


class ClusterNodes(NamedTuple):
    nodes: Mapping[int, Node]
    controller: int


class ListNodes(ClusterCall[ClusterNodes]):
    """Metadata without topics."""

    name = "Metadata"

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        from kconf.protocol.messages.metadata import MetadataRequest

        return MetadataRequest([], allow_auto_topic_creation=False)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        if body.error_code:
            return CallResult({None: api_error(body.error_code, None)})
        nodes = {each.node_id: Node(each.node_id, each.host, each.port, each.rack) for each in body.brokers}
        return CallResult({None: ClusterNodes(nodes, body.controller_id)}, body.throttle_time_ms)


class ListControllers(ClusterCall[ClusterNodes]):
    """The nodes of KRaft controllers, which do not support Metadata (KIP-919)."""

    name = "DescribeCluster"
    min_version = 1
    hint = "controllers accept clients since Kafka 3.7"

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        from kconf.protocol.messages.describe_cluster import DescribeClusterRequest

        return DescribeClusterRequest(False, CONTROLLERS)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        if body.error_code:
            return CallResult({None: api_error(body.error_code, body.error_message)})
        nodes = {each.broker_id: Node(each.broker_id, each.host, each.port, each.rack) for each in body.brokers}
        return CallResult({None: ClusterNodes(nodes, body.controller_id)}, body.throttle_time_ms)


class DescribeCluster(ClusterCall[ClusterDescription]):
    name = "DescribeCluster"

    def __init__(self, *, authorized_operations: bool, fenced: bool, controllers: bool) -> None:
        super().__init__()
        self._operations, self._fenced, self._controllers = authorized_operations, fenced, controllers
        self.min_version = 2 if fenced else 1 if controllers else 0
        self.hint = "fenced brokers are listed since Kafka 4.0" if fenced else ""

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        from kconf.protocol.messages.describe_cluster import DescribeClusterRequest

        return DescribeClusterRequest(self._operations, CONTROLLERS if self._controllers else 1, self._fenced)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        if body.error_code:
            return CallResult({None: api_error(body.error_code, body.error_message)}, body.throttle_time_ms)
        nodes = {
            each.broker_id: Node(each.broker_id, each.host, each.port, each.rack, each.is_fenced)
            for each in body.brokers
        }
        operations = operations_of(body.cluster_authorized_operations)
        description = ClusterDescription(body.cluster_id, nodes.get(body.controller_id), nodes, operations)
        return CallResult({None: description}, body.throttle_time_ms)

    def fallback(self) -> Call[None, ClusterDescription, ClusterDescription] | None:
        return None if self.min_version else _ClusterByMetadata(authorized_operations=self._operations)


class _ClusterByMetadata(ClusterCall[ClusterDescription]):
    """For brokers before Kafka 2.8."""

    name = "Metadata"

    def __init__(self, *, authorized_operations: bool) -> None:
        super().__init__()
        self._operations = authorized_operations

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        from kconf.protocol.messages.metadata import MetadataRequest

        return MetadataRequest([], False, self._operations)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        nodes = {each.node_id: Node(each.node_id, each.host, each.port, each.rack) for each in body.brokers}
        operations = operations_of(body.cluster_authorized_operations)
        description = ClusterDescription(body.cluster_id, nodes.get(body.controller_id), nodes, operations)
        return CallResult({None: description}, body.throttle_time_ms)


def operations_of(bits: int) -> frozenset[Operation] | None:
    """The operations in a bit field. Unknown operations are left out."""
    if bits == _NOT_REQUESTED:
        return None
    return frozenset(each for each in Operation if bits >> each & 1)


class ListGroups(Call[int, list[GroupListing], list[GroupListing]]):
    """Lists the groups of all brokers. Every broker knows the groups that it coordinates."""

    name = "ListGroups"
    route = EVERY

    def __init__(self) -> None:
        super().__init__(())

    def route_of(self, item: int) -> int:
        return item

    def write(self, node: NodeVersions, version: int, items: Sequence[int]) -> object:
        from kconf.protocol.messages.list_groups import ListGroupsRequest

        return ListGroupsRequest()

    def read(self, version: int, frame: bytes, start: int, items: Sequence[int]) -> CallResult:
        body = self.body(version, frame, start)
        if body.error_code:
            return CallResult(dict.fromkeys(items, api_error(body.error_code, None)), body.throttle_time_ms)
        groups = [
            GroupListing(each.group_id, each.protocol_type, each.group_state, each.group_type) for each in body.groups
        ]
        return CallResult(dict.fromkeys(items, groups), body.throttle_time_ms)

    def finish(self, outcomes: dict[int, list[GroupListing] | ApiError]) -> list[GroupListing]:
        found: dict[str, GroupListing] = {}
        for outcome in outcomes.values():
            if isinstance(outcome, ApiError):
                raise outcome.error()
            found.update((each.name, each) for each in outcome)
        return [found[name] for name in sorted(found)]


class DescribeFeatures(ClusterCall[FeatureDescription]):
    """ApiVersions: the features of a cluster, and the APIs of the node that responds."""

    name = "ApiVersions"

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        from kconf.protocol.messages.api_versions import ApiVersionsRequest
        from kconf.version import __version__

        return ApiVersionsRequest("kconf", __version__)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        if body.error_code:
            return CallResult({None: api_error(body.error_code, None)}, body.throttle_time_ms)
        found = FeatureDescription(
            {each.name: (each.min_version, each.max_version) for each in body.supported_features},
            {each.name: each.max_version_level for each in body.finalized_features},
            None if body.finalized_features_epoch < 0 else body.finalized_features_epoch,
            {each.api_key: (each.min_version, each.max_version) for each in body.api_keys},
        )
        return CallResult({None: found}, body.throttle_time_ms)
