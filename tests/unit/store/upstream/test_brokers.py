"""What a gateway learns from the brokers when it starts, and which ACLs it can govern."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kconf.client.calls.cluster import DescribeFeatures
from kconf.client.settings import Bootstrap, ClientSettings
from kconf.errors import (
    ConnectionFailed,
    ErrorCode,
    KafkaError,
    KconfError,
    NotAuthorized,
    SecurityDisabled,
    StoreUnavailable,
    UnknownServerError,
    UnsupportedVersion,
)
from kconf.model.acl import AclFilter
from kconf.model.cluster import ClusterDescription, FeatureDescription, Node
from kconf.model.entry import Entry, Source, Synonym, View
from kconf.model.resource import Resource, ResourceType
from kconf.model.results import Results
from kconf.server.upstream.authorizer_check import AuthorizerCheck
from kconf.store.base import UNNAMED_AUTHORIZER
from kconf.store.upstream.brokers import UpstreamBrokers

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
RANGER = "org.apache.ranger.authorization.kafka.authorizer.RangerKafkaAuthorizer"
NODES = {5: Node(5, "five", 9095, "a"), 3: Node(3, "three", 9093)}


def static(**values: str) -> View:
    names = {name.replace("_", "."): value for name, value in values.items()}
    return View(
        tuple(
            Entry(name, value, Source.STATIC, synonyms=(Synonym(name, value, Source.STATIC),))
            for name, value in names.items()
        )
    )


def _nothing() -> object:
    return None


class Cluster:
    """Replaces a client."""

    def __init__(self) -> None:
        self.described = ClusterDescription("C", None, NODES)
        self.configs: View | KconfError = static()
        self.acls: KconfError | None = None
        self.controller: KafkaError | None = SecurityDisabled("no authorizer")
        self.features = FeatureDescription(
            {"metadata.version": (7, 30)}, {"eligible.leader.replicas.version": 1}, 1, {}
        )
        self.asked: list[Resource] = []
        self.deletions, self.on_delete = 0, _nothing
        self.settings = ClientSettings(Bootstrap(()), check=AuthorizerCheck())
        self.is_old = False

    def describe_cluster(self, *, fenced: bool = False, timeout: float | None = None) -> ClusterDescription:
        if fenced and self.is_old:
            raise UnsupportedVersion("fenced brokers are listed since Kafka 4.0")
        return self.described

    def describe_configs(self, resources: list[Resource], **_: object) -> Mapping[Resource, View]:
        if isinstance(self.configs, KconfError):
            raise self.configs
        self.asked += resources
        return dict.fromkeys(resources, self.configs)

    def describe_acls(self, wanted: object, *, timeout: float | None = None) -> list[Any]:
        if self.acls is not None:
            raise self.acls
        return []

    def delete_acls(self, filters: list[AclFilter], *, timeout: float | None = None) -> Results[AclFilter, list[Any]]:
        self.deletions += 1
        self.on_delete()
        (each,) = filters
        assert None not in (each.name, each.principal, each.host)  # matches at most one ACL
        if isinstance(self.controller, ConnectionFailed):
            raise self.controller
        return Results({each: [] if self.controller is None else self.controller.failure()})

    def _send(self, call: DescribeFeatures, timeout: float | None = None) -> FeatureDescription:
        assert call.node == min(each.id for each in self.described.nodes.values() if not each.fenced)
        return self.features


def brokers(cluster: Cluster) -> UpstreamBrokers:
    return UpstreamBrokers(cluster)  # type: ignore[arg-type]


def test_the_members_have_the_addresses_of_the_brokers() -> None:
    cluster = Cluster()

    found = brokers(cluster)

    assert (found.cluster_id, found.release, found.elr_version) == ("C", "4.3", 1)
    assert cluster.asked == [Resource.broker(3)]
    assert found.members.servers == {}
    assert {each.id: (each.plaintext, each.rack, each.epoch) for each in found.members.brokers.values()} == {
        3: (("three", 9093), None, 1),
        5: (("five", 9095), "a", 1),
    }
    found.read()
    assert {each.epoch for each in found.members.brokers.values()} == {2}


def test_brokers_before_kafka_4_do_not_list_fenced_ones() -> None:
    cluster = Cluster()
    cluster.is_old = True
    assert brokers(cluster).members.brokers.keys() == NODES.keys()


def test_a_fenced_broker_is_registered_and_never_described() -> None:
    cluster = Cluster()
    found = brokers(cluster)
    assert (found.described, dict(found.members.fenced)) == (3, {})

    cluster.described = ClusterDescription("C", None, {**NODES, 3: NODES[3]._replace(fenced=True)})
    found.read()

    assert found.described == 5
    assert cluster.asked[-1] == Resource.broker(5)
    assert list(found.members.brokers) == [5]
    assert list(found.members.fenced) == [3]


def test_release_and_features_are_updated_after_an_upgrade(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster()
    cluster.features = FeatureDescription({"metadata.version": (7, 25)}, {}, 1, {})
    found = brokers(cluster)
    assert (found.release, found.elr_version) == ("4.0", None)

    cluster.features = FeatureDescription({"metadata.version": (7, 30)}, {"eligible.leader.replicas.version": 1}, 2, {})
    with caplog.at_level("INFO"):
        found.read()

    assert (found.release, found.elr_version) == ("4.3", 1)
    assert "the release of broker 3 is 4.3 now" in caplog.messages


@pytest.mark.parametrize(
    ("described", "message"),
    [
        (ClusterDescription(None, None, NODES), "did not report its ID"),
        (ClusterDescription("C", None, {}), "has no brokers at the moment"),
    ],
)
def test_a_cluster_that_cannot_be_managed_prevents_the_start(described: ClusterDescription, message: str) -> None:
    cluster = Cluster()
    cluster.described = described

    with pytest.raises(StoreUnavailable, match=message):
        brokers(cluster)


def test_static_configs_stay_the_same_object_while_they_do_not_change() -> None:
    """The gateway creates a new resolver whenever the object changes."""
    cluster = Cluster()
    cluster.configs = static(log_retention_ms="1")
    found = brokers(cluster)
    before = found.static

    cluster.configs = static(log_retention_ms="1")
    found.read()
    assert found.static is before
    cluster.configs = static(log_retention_ms="2")
    found.read()
    assert found.static == {"log.retention.ms": "2"}


def test_without_the_right_to_describe_brokers_the_error_names_it() -> None:
    cluster = Cluster()
    cluster.configs = NotAuthorized("no")

    with pytest.raises(StoreUnavailable, match="needs DescribeConfigs on the cluster"):
        brokers(cluster)


@pytest.mark.parametrize("error", [None, UnsupportedVersion("cannot list ACLs")])
@pytest.mark.parametrize(
    ("shown", "authorizer", "refusal"),
    [
        ({"authorizer_class_name": STANDARD}, STANDARD, None),
        ({"authorizer_class_name": RANGER}, RANGER, f"the cluster's authorizer {RANGER} does not store its ACLs"),
        ({"authorizer_class_name": " "}, UNNAMED_AUTHORIZER, None),
        ({}, UNNAMED_AUTHORIZER, None),
    ],
)
def test_acls_are_managed_only_if_they_are_in_the_metadata_log(
    shown: dict[str, str], authorizer: str, refusal: str | None, error: KconfError | None
) -> None:
    """A broker with an authorizer returns any response other than SECURITY_DISABLED."""
    cluster = Cluster()
    cluster.configs, cluster.acls = static(**shown), error

    found = brokers(cluster)

    assert found.authorizer == authorizer
    if refusal is None:
        assert found.not_in_log == {}
    else:
        assert found.not_in_log.keys() == {ResourceType.ACL}
        failure = found.not_in_log[ResourceType.ACL]
        assert failure.code is ErrorCode.INVALID_REQUEST
        assert (failure.message or "").startswith(refusal)


def test_a_cluster_without_an_authorizer_has_no_acls() -> None:
    cluster = Cluster()
    cluster.acls = SecurityDisabled("no authorizer")

    found = brokers(cluster)

    assert found.authorizer is None
    assert {kind: each.code for kind, each in found.not_in_log.items()} == {
        ResourceType.ACL: ErrorCode.SECURITY_DISABLED
    }


@pytest.mark.parametrize("answer", [None, NotAuthorized("no"), UnknownServerError("unexpected")])
def test_an_authorizer_only_on_the_controller_counts_for_the_cluster(answer: KafkaError | None) -> None:
    """Brokers forward changes to the controller, which authorizes them. It may have been restarted first."""
    cluster = Cluster()
    cluster.acls = SecurityDisabled("no authorizer")
    found = brokers(cluster)
    assert found.authorizer is None

    cluster.controller = answer
    found.read()
    assert found.authorizer == UNNAMED_AUTHORIZER
    cluster.controller = ConnectionFailed("no controller at the moment")
    found.read()
    assert found.authorizer == UNNAMED_AUTHORIZER


def test_a_gateway_does_not_start_if_the_controller_cannot_be_asked_for_an_authorizer() -> None:
    cluster = Cluster()
    cluster.acls, cluster.controller = SecurityDisabled("no authorizer"), ConnectionFailed("no controller")
    with pytest.raises(ConnectionFailed):
        brokers(cluster)


def test_a_lost_connection_during_the_check_is_not_taken_for_an_authorizer() -> None:
    cluster = Cluster()
    cluster.acls = ConnectionFailed("lost")

    with pytest.raises(ConnectionFailed):
        brokers(cluster)


def test_brokers_of_another_cluster_are_a_problem_until_the_own_ones_are_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = Cluster()
    found = brokers(cluster)
    assert (found.cluster_id, found.problem) == ("C", None)

    cluster.described = ClusterDescription("D", None, NODES)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="belong to cluster D, not to C"):
            found.read()
    assert found.problem is not None
    assert [each.getMessage() for each in caplog.records if "changes are refused" in each.getMessage()] == [
        "changes are refused: the brokers belong to cluster D, not to C, which this gateway serves"
    ]

    cluster.described = ClusterDescription("C", None, NODES)
    found.read()
    assert found.problem is None
    assert found.members.brokers.keys() == NODES.keys()


def test_a_gateway_with_settings_for_an_authorizer_sends_no_request_about_acls_to_the_controller() -> None:
    cluster = Cluster()
    cluster.settings = cluster.settings._replace(check=None)
    cluster.acls, cluster.controller = SecurityDisabled("no authorizer"), ConnectionFailed("no controller")
    found = brokers(cluster)
    assert (found.authorizer, cluster.deletions) == (None, 0)


def test_members_are_up_to_date_even_if_the_controller_does_not_respond() -> None:
    cluster = Cluster()
    cluster.acls = SecurityDisabled("no authorizer")
    found = brokers(cluster)
    assert cluster.deletions == 1
    cluster.described = ClusterDescription("C", None, {5: NODES[5]})
    seen: list[object] = []
    cluster.on_delete = lambda: seen.append(list(found.members.brokers))
    found.read()
    assert seen == [[5]]
