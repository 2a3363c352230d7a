"""Reads the end of the committed metadata log of a KRaft cluster. Any broker forwards the request to the leader."""

from __future__ import annotations

from collections.abc import Sequence

from kconf.client.calls.base import CallResult, ClusterCall, NodeVersions, api_error

METADATA_TOPIC = "__cluster_metadata"


class DescribeLogEnd(ClusterCall[int | None]):
    """The offset after the last committed record, or None while a new leader does not know it.

    Requires DESCRIBE on the cluster.
    """

    name = "DescribeQuorum"
    hint = "only KRaft clusters have a metadata log"

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        from kconf.protocol.messages import describe_quorum as messages

        partition = messages.DescribeQuorumPartition(0)
        return messages.DescribeQuorumRequest([messages.DescribeQuorumTopic(METADATA_TOPIC, [partition])])

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        if body.error_code:
            return CallResult({None: api_error(body.error_code, body.error_message)})
        for partition in (each for topic in body.topics for each in topic.partitions):
            if partition.error_code:
                return CallResult({None: api_error(partition.error_code, partition.error_message)})
            return CallResult({None: partition.high_watermark if partition.high_watermark >= 0 else None})
        return CallResult({None: None})
