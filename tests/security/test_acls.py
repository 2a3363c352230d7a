"""ACLs on a real process: they apply to open connections at once, hide resources, and survive a restart."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kconf import (
    AclBinding,
    AclFilter,
    AclType,
    InvalidRequest,
    KafkaError,
    NotAuthorized,
    Operation,
    PatternType,
    Permission,
    Resource,
    SyncAdminClient,
    TopicNotAuthorized,
)
from kconf.model.acl import CLUSTER_NAME
from tests.security.sasl_server import ALICE, ROOT, Secured

ME = f"User:{ALICE.name}"
READ = AclBinding(AclType.TOPIC, "seen", ME, Operation.READ)
CONFIGS = AclBinding(AclType.TOPIC, "seen", ME, Operation.DESCRIBE_CONFIGS)


@pytest.fixture
def root(secured: Secured) -> Iterator[SyncAdminClient]:
    with SyncAdminClient.from_properties(secured.java("SASL_PLAINTEXT", "SCRAM-SHA-256", ROOT)) as admin:
        yield admin
        admin.delete_acls([AclFilter()]).raise_for_failures()


@pytest.fixture
def alice(secured: Secured) -> Iterator[SyncAdminClient]:
    with SyncAdminClient.from_properties(secured.java("SASL_PLAINTEXT", "SCRAM-SHA-256")) as admin:
        admin.describe_cluster()  # logged in, before anything is allowed
        yield admin


def may_describe(admin: SyncAdminClient, topic: str = "seen") -> bool:
    try:
        admin.describe_configs([Resource.topic(topic)])[Resource.topic(topic)]
    except TopicNotAuthorized:
        return False
    return True


def test_without_acls_only_super_users_see_resources(root: SyncAdminClient, alice: SyncAdminClient) -> None:
    assert set(root.list_topics()) >= {"seen", "hidden"}
    assert alice.list_topics() == {}
    assert not may_describe(alice)
    with pytest.raises(NotAuthorized):
        alice.describe_acls()


def test_a_changed_acl_applies_to_open_connections_at_once(root: SyncAdminClient, alice: SyncAdminClient) -> None:
    for _ in range(5):
        root.create_acls([CONFIGS]).raise_for_failures()
        assert may_describe(alice)
        assert not may_describe(alice, "hidden")
        root.delete_acls([CONFIGS.filter()]).raise_for_failures()
        assert not may_describe(alice)


def test_the_fast_path_does_not_show_hidden_topics(root: SyncAdminClient, alice: SyncAdminClient) -> None:
    """The same request is sent by a user with the right, and then by a user without it."""
    for _ in range(3):
        assert may_describe(root, "hidden")
        assert not may_describe(alice, "hidden")


def test_topics_without_describe_permission_are_not_listed(root: SyncAdminClient, alice: SyncAdminClient) -> None:
    root.create_acls([READ]).raise_for_failures()
    assert set(alice.list_topics()) == {"seen"}
    described = alice.describe_topics(["seen", "hidden", "missing"])
    assert described["seen"].name == "seen"
    for name in ("hidden", "missing"):
        with pytest.raises(TopicNotAuthorized):
            described[name]


def test_a_deny_takes_precedence_over_an_allow(root: SyncAdminClient, alice: SyncAdminClient) -> None:
    everything = AclBinding(AclType.TOPIC, "*", ME, Operation.ALL)
    never = AclBinding(
        AclType.TOPIC, "hid", "User:*", Operation.DESCRIBE_CONFIGS, Permission.DENY, PatternType.PREFIXED
    )
    root.create_acls([everything, never]).raise_for_failures()
    assert may_describe(alice)
    assert not may_describe(alice, "hidden")


def test_acls_are_described_as_they_were_created(root: SyncAdminClient) -> None:
    made = [
        READ,
        CONFIGS,
        AclBinding(AclType.TOPIC, "ord", ME, Operation.ALL, pattern=PatternType.PREFIXED),
        AclBinding(AclType.CLUSTER, CLUSTER_NAME, "User:*", Operation.DESCRIBE, Permission.DENY, host="10.0.0.1"),
        AclBinding(AclType.GROUP, "*", "Group:x", Operation.READ),
        AclBinding(AclType.USER, "u", ME, Operation.DESCRIBE_TOKENS),
        AclBinding(AclType.TRANSACTIONAL_ID, 'quotes " and \\', ME, Operation.WRITE),
    ]
    root.create_acls(made).raise_for_failures()
    root.create_acls(made[:2]).raise_for_failures()  # already exists
    assert sorted(root.describe_acls()) == sorted(made)
    assert root.describe_acls(AclFilter(AclType.TOPIC, "orders", pattern=PatternType.MATCH)) == [made[2]]
    gone = root.delete_acls([AclFilter(AclType.TOPIC, "seen")])
    assert sorted(gone[AclFilter(AclType.TOPIC, "seen")]) == sorted([READ, CONFIGS])
    assert sorted(root.describe_acls()) == sorted(made[2:])


def test_an_invalid_acl_is_refused_and_others_are_created(root: SyncAdminClient) -> None:
    bad = AclBinding(AclType.CLUSTER, "another", ME, Operation.DESCRIBE)
    results = root.create_acls([READ, bad])
    assert results[READ] is None
    with pytest.raises(InvalidRequest):
        results[bad]
    assert root.describe_acls() == [READ]


def test_everything_is_in_the_journal_and_refusals_in_the_attempts(
    root: SyncAdminClient, alice: SyncAdminClient
) -> None:
    root.create_acls([READ]).raise_for_failures()
    last = root.list_changes().revisions[-1]
    assert (last.caller.principal, last.caller.api, last.caller.host) == (
        f"User:{ROOT.name}",
        "CreateAcls",
        "127.0.0.1",
    )
    with pytest.raises(KafkaError):
        alice.create_acls([CONFIGS])[CONFIGS]
    attempt = root.list_attempts()[-1]
    assert (attempt.caller.principal, attempt.caller.api, attempt.code) == (ME, "CreateAcls", 31)


def test_acls_survive_a_restart(secured: Secured, root: SyncAdminClient) -> None:
    root.create_acls([CONFIGS]).raise_for_failures()
    secured.server.restart()
    with SyncAdminClient.from_properties(secured.java("SASL_SSL", "SCRAM-SHA-512")) as alice:
        assert may_describe(alice)
        assert not may_describe(alice, "hidden")
