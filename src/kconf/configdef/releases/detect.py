"""Detects the Kafka release of a node from its ApiVersions response.

A KRaft node reports the highest metadata.version that it supports, which identifies its release. A node without that
feature is a broker in ZooKeeper mode, up to 3.9, or another implementation of the protocol. Then only its API versions
are known, and the result is a lower bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kconf.configdef.releases.data import BASE, COMPLETE, RELEASES, release_data

METADATA_VERSION: Final = "metadata.version"
_LEADER_AND_ISR: Final = 4  # an API that only brokers in ZooKeeper mode, up to 3.9, have


class ClusterRelease(NamedTuple):
    """`catalog` is the release whose catalog fits best. `text` is what is certain, such as `4.1 or newer`."""

    catalog: str
    text: str

    @property
    def is_exact(self) -> bool:
        return self.text == self.catalog


def release_of(supported: Mapping[str, tuple[int, int]], apis: Mapping[int, tuple[int, int]]) -> ClusterRelease:
    """The release of a node, derived from its features and API versions."""
    if METADATA_VERSION in supported:
        return _by_level(supported[METADATA_VERSION][1])
    return _by_apis(apis)


def common_release(found: Sequence[ClusterRelease]) -> ClusterRelease:
    """The release of a cluster: the oldest release of its nodes, which may differ during an upgrade."""
    ordered = sorted(dict.fromkeys(found), key=lambda each: RELEASES.index(each.catalog))
    oldest, newest = ordered[0], ordered[-1]
    return oldest if len(ordered) == 1 else ClusterRelease(oldest.catalog, f"{oldest.text} to {newest.text}")


def _by_level(level: int) -> ClusterRelease:
    if level == release_data(BASE).metadata_version:  # the usual case, without reading the data of other releases
        return ClusterRelease(BASE, BASE)
    levels = {each: release_data(each).metadata_version for each in RELEASES}
    oldest, newest = RELEASES[0], RELEASES[-1]
    if level < levels[oldest]:
        return ClusterRelease(oldest, f"older than {oldest}")
    if level > levels[newest]:
        return ClusterRelease(newest, f"newer than {newest}")
    found = [each for each in RELEASES if levels[each] <= level][-1]
    return ClusterRelease(found, found if levels[found] == level else f"{found} or newer")


def _by_apis(apis: Mapping[int, tuple[int, int]]) -> ClusterRelease:
    oldest = RELEASES[0]
    if not apis:
        return ClusterRelease(BASE, "unknown")
    covered = [each for each in COMPLETE if _covers(apis, release_data(each).apis or {})]
    if not covered:
        return ClusterRelease(oldest, f"older than {oldest}" if _LEADER_AND_ISR in apis else "unknown")
    if _LEADER_AND_ISR in apis:
        return ClusterRelease(oldest, oldest)
    return ClusterRelease(covered[-1], f"{covered[-1]} or newer")


def _covers(apis: Mapping[int, tuple[int, int]], wanted: Mapping[str, int]) -> bool:
    """Whether all APIs that a node has are at least at the version of a release."""
    return all(apis[int(key)][1] >= highest for key, highest in wanted.items() if int(key) in apis)
