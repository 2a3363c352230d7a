"""The release of a node, from its features and API versions."""

from __future__ import annotations

import pytest

from kconf.configdef.releases.data import COMPLETE, release_data
from kconf.configdef.releases.detect import ClusterRelease, common_release, release_of

LEADER_AND_ISR = {4: (0, 7)}


def apis(release: str) -> dict[int, tuple[int, int]]:
    return {int(key): (0, highest) for key, highest in (release_data(release).apis or {}).items()}


@pytest.mark.parametrize(
    ("level", "release"),
    [
        (20, ClusterRelease("3.9", "older than 3.9")),
        (21, ClusterRelease("3.9", "3.9")),
        (25, ClusterRelease("4.0", "4.0")),
        (26, ClusterRelease("4.0", "4.0 or newer")),
        (27, ClusterRelease("4.1", "4.1")),
        (29, ClusterRelease("4.2", "4.2")),
        (30, ClusterRelease("4.3", "4.3")),
        (33, ClusterRelease("4.4", "4.4")),
        (34, ClusterRelease("4.4", "newer than 4.4")),
    ],
)
def test_the_highest_metadata_version_identifies_the_release(level: int, release: ClusterRelease) -> None:
    assert release_of({"metadata.version": (7, level)}, {}) == release


@pytest.mark.parametrize("release", COMPLETE)
def test_api_versions_alone_give_a_lower_bound_of_the_release(release: str) -> None:
    found = release_of({}, apis(release))

    assert found.text.endswith(" or newer")
    assert COMPLETE.index(found.catalog) >= COMPLETE.index(release)


def test_a_broker_in_zookeeper_mode_is_3_9_or_older() -> None:
    old = {key: (low, high - 1) for key, (low, high) in apis("3.9").items()}

    assert release_of({}, apis("3.9") | LEADER_AND_ISR) == ("3.9", "3.9")
    assert release_of({}, old | LEADER_AND_ISR) == ("3.9", "older than 3.9")


def test_a_release_without_evidence_is_unknown() -> None:
    assert release_of({}, {}) == ("4.3", "unknown")
    assert not release_of({}, {}).is_exact


def test_apis_older_than_those_of_3_9_have_its_keys_but_not_its_name() -> None:
    """A server that is not Kafka may have few of its APIs, in old versions."""
    assert release_of({}, {32: (0, 1)}) == ("3.9", "unknown")
    assert release_of({}, {32: (0, 1)} | LEADER_AND_ISR) == ("3.9", "older than 3.9")


def test_during_an_upgrade_a_cluster_has_the_keys_of_its_oldest_node() -> None:
    old, new = ClusterRelease("4.1", "4.1"), ClusterRelease("4.3", "4.3")

    assert common_release([new, old, new]) == ClusterRelease("4.1", "4.1 to 4.3")
    assert common_release([new, new]) == new
    assert common_release([new, new]).is_exact
    assert not common_release([new, old]).is_exact
