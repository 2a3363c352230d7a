"""An export, read back, has no differences."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kconf.engine.declarative.diff import differences
from kconf.engine.declarative.export import declared_files
from kconf.engine.declarative.model import Declared
from kconf.engine.declarative.parser import read_declared
from kconf.engine.declarative.prune import PRUNABLE, Prune, pruned, undeclared
from kconf.errors import ApiError, ErrorCode
from kconf.model.acl import AclBinding, AclType, Operation, PatternType, Permission
from kconf.model.cluster_state import ClusterState, MissingPart
from kconf.model.entry import View
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource
from kconf.model.scram import CredentialInfo, Mechanism
from tests.unit.engine.declarative.declaring import entry, keys, shape, view

ORDERS = Resource.topic("orders")
BROKER = Resource.broker(1)

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(lambda name: name.strip())
values = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.integers(1, 2**53).map(float)
entities = st.one_of(
    st.builds(lambda user: QuotaEntity.of({"user": user}), st.none() | names),
    st.builds(lambda user, client: QuotaEntity.of({"user": user, "client-id": client}), names, st.none() | names),
)
bindings = st.builds(
    AclBinding,
    st.sampled_from([AclType.TOPIC, AclType.GROUP, AclType.TRANSACTIONAL_ID]),
    names,
    names.map(lambda name: f"User:{name}"),
    st.sampled_from([Operation.READ, Operation.WRITE, Operation.ALL]),
    st.sampled_from([Permission.ALLOW, Permission.DENY]),
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    st.sampled_from(["*", "10.0.0.1"]),
)


def plain(_name: str, raw: str) -> str:
    return raw


@st.composite
def readings(draw: st.DrawFn) -> ClusterState:
    topics = draw(st.dictionaries(names, st.dictionaries(names, values, max_size=3), max_size=4))
    resources = {Resource.topic(name): own for name, own in topics.items()}
    return ClusterState(
        topics={name: shape(draw(st.integers(1, 99)), draw(st.integers(1, 9))) for name in topics},
        configs={resource: view(resource, own) for resource, own in resources.items()},
        quotas=draw(st.dictionaries(entities, st.fixed_dictionaries({"producer_byte_rate": numbers}), max_size=3)),
        users=draw(st.dictionaries(names, st.just((CredentialInfo(Mechanism.SCRAM_SHA_512, 4096),)), max_size=3)),
        acls=draw(st.lists(bindings, unique=True, max_size=4)),
    )


@given(readings())
def test_an_export_leaves_nothing_to_change_and_nothing_to_prune(reading: ClusterState) -> None:
    files = declared_files(reading, Declared(), plain)
    files["own.yaml"] = "selector: [topic, broker, quota, user, acl]"

    back = read_declared(files.items(), keys)

    assert differences(back, reading, keys).found == []
    assert pruned(back, reading, keys, Prune(PRUNABLE)).found == []


def test_exported_files_have_the_form_in_which_people_write_them() -> None:
    reading = ClusterState(
        topics={"orders": shape(3, 2), "__consumer_offsets": shape(internal=True)},
        configs={
            ORDERS: view(ORDERS, {"retention.ms": "1", "tags": "a,b", "leader.replication.throttled.replicas": "*"}),
            BROKER: View((entry(BROKER, "ssl.key.password", "hunter2", sensitive=True),)),
        },
        quotas={QuotaEntity.of({"client-id": "app", "user": None}): {"request_percentage": 12.5}},
        users={"alice": (CredentialInfo(Mechanism.SCRAM_SHA_512, 8192),), "admin": ()},
        acls=[AclBinding(AclType.TOPIC, "a*", "User:bob", each) for each in (Operation.WRITE, Operation.READ)],
    )

    assert declared_files(reading, Declared(), lambda name, raw: f"{raw}ms" if name.endswith(".ms") else raw) == {
        "topics.yaml": """\
version: 1
topics:
  orders:
    partitions: 3
    replication: 2
    configs:
      retention.ms: 1ms
      tags: a,b
""",
        "brokers.yaml": "version: 1\nbrokers:\n  1:\n    ssl.key.password: {sensitive: true}\n",
        "quotas.yaml": """\
version: 1
quotas:
- client-id: app
  user-default: true
  limits:
    request_percentage: 12.5
""",
        "users.yaml": "version: 1\nusers:\n  alice:\n    SCRAM-SHA-512: {iterations: 8192}\n",
        "acls.yaml": """\
version: 1
acls:
- principal: User:bob
  resource: topic:a*
  operations: [READ, WRITE]
""",
    }


def test_an_override_added_to_a_broker_that_was_exported_without_any_is_drift() -> None:
    default = Resource.brokers()
    files = declared_files(ClusterState(configs={default: view(default, {})}), Declared(), plain)
    later = ClusterState(configs={default: view(default, {"log.retention.ms": "1"})})
    declared = read_declared([*files.items(), ("more", "brokers: {default: {message.max.bytes: 1}}")], keys)

    assert files == {"brokers.yaml": "version: 1\nbrokers:\n  default: {}\n"}
    assert [(each.resource, each.key) for each in undeclared(declared, later, keys)] == [(default, "log.retention.ms")]


def test_unreadable_parts_are_marked_and_never_pruned() -> None:
    """If a name is also a pattern, only that name is marked."""
    refused = ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    group, other = Resource.group("/a*/"), Resource.group("/ab/")
    shapes = {"orders": shape(), "other": shape()}
    seen = {Resource.topic("other"): view(Resource.topic("other"), {})}
    what = ("topic:orders", "brokers", "group:/a*/", "users", "quotas", "acls")
    reading = ClusterState(topics=shapes, configs=seen, missing=[MissingPart(each, refused) for each in what])

    files = declared_files(reading, Declared(), plain)

    assert files["unread.yaml"].splitlines()[:3] == [
        "version: 1",
        "# This export could not read the following; --prune ignores it:",
        "# topic:orders: TOPIC_AUTHORIZATION_FAILED",
    ]
    whole = read_declared([*files.items(), ("own", "selector: [topic, broker, group, quota, user, acl]")], keys)
    full = ClusterState(
        topics=shapes,
        configs={each: view(each, {"tags": "x"}) for each in (ORDERS, BROKER, group, other)},
        quotas={QuotaEntity.of({"user": "u"}): {"producer_byte_rate": 1.0}},
        users={"u": (CredentialInfo(Mechanism.SCRAM_SHA_256, 4096),)},
        acls=[AclBinding(AclType.TOPIC, "orders", "User:u", Operation.READ)],
    )
    assert differences(whole, full, keys).found == []
    removed = pruned(whole, full, keys, Prune(PRUNABLE)).found
    assert [(each.resource, each.key) for each in removed] == [(other, "tags")]


def test_parts_that_a_cluster_does_not_support_are_not_marked_as_unreadable() -> None:
    disabled = ApiError(ErrorCode.SECURITY_DISABLED)

    assert declared_files(ClusterState(missing=[MissingPart("acls", disabled)]), Declared(), plain) == {}
