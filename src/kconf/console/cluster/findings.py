"""Problems of a cluster, as reported by `kconf check`: ghost configs, unknown keys, brokers that differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kconf.console.cluster.snapshot import ClusterSnapshot, Feed
from kconf.errors import KconfError
from kconf.operations.metadata_log.check import check_cluster, check_state

if TYPE_CHECKING:
    from kconf.model.resource import Resource
    from kconf.operations.target import Target


def read_findings(target: Target, snapshot: ClusterSnapshot) -> Mapping[tuple[Resource, str], str]:
    """Messages by resource and key. Ghost configs are found only if the metadata log is followed."""
    found = check_state(snapshot.state)
    if snapshot.feed is Feed.LOG:
        try:
            found = check_cluster(target).findings
        except (KconfError, OSError):
            return snapshot.findings  # retried when the cluster is read next
    return {(each.resource, each.key): f"{each.kind}: {each.detail}" for each in found}
