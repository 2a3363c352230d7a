"""The brokers of a gateway's cluster."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kconf.errors import SecurityDisabled, StoreUnavailable
from kconf.model.cluster import ClusterDescription, FeatureDescription, Node
from kconf.model.entry import View
from kconf.model.resource import Resource
from kconf.store.upstream.brokers import UpstreamBrokers


def client_of(cluster: list[str]) -> Any:
    """A client whose addresses lead to the last cluster of a list."""

    def describe_acls(*_: object, **__: object) -> None:
        raise SecurityDisabled

    nodes = {1: Node(1, "broker", 9092)}
    return SimpleNamespace(
        describe_cluster=lambda **_: ClusterDescription(cluster[-1], None, nodes),
        describe_configs=lambda resources, **_: {each: View(()) for each in resources},
        describe_acls=describe_acls,
        describe_features=lambda: FeatureDescription({"metadata.version": (1, 29)}, {}, None, {}),
    )


def test_addresses_that_lead_to_another_cluster_are_a_problem_until_they_lead_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = ["one"]
    brokers = UpstreamBrokers(client_of(cluster))
    assert (brokers.cluster_id, brokers.problem) == ("one", None)
    cluster.append("two")
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="belong to cluster two, not to one"):
            brokers.read()
    assert brokers.problem is not None
    assert [each.getMessage() for each in caplog.records if "changes are refused" in each.getMessage()] == [
        "changes are refused: the brokers belong to cluster two, not to one, which this gateway serves"
    ]
    cluster.pop()
    assert brokers.read() == "one"
    assert brokers.problem is None
    assert Resource.broker(1).name in {str(each) for each in brokers.members.brokers}
