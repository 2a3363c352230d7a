"""The authorizer's rules, and what creating and deleting ACLs would do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kconf.engine.access.acls import (
    AclIndex,
    Authorizer,
    bindings,
    host_at_kafka,
    key_of,
    matches,
    pattern_of,
    plan_create_acls,
    plan_delete_acls,
)
from kconf.errors import ApiError, ErrorCode
from kconf.model.acl import AclBinding, AclFilter, AclType, Operation, PatternType, Permission
from kconf.model.snapshot import Snapshot

ALICE = "User:alice"


def acl(
    operation: Operation,
    name: str = "orders",
    *,
    principal: str = ALICE,
    deny: bool = False,
    prefixed: bool = False,
    host: str = "*",
    kind: AclType = AclType.TOPIC,
) -> AclBinding:
    permission = Permission.DENY if deny else Permission.ALLOW
    pattern = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    return AclBinding(kind, name, principal, operation, permission, pattern, host)


def kept(*requests: AclBinding) -> Snapshot:
    planned = plan_create_acls(Snapshot.EMPTY, requests)
    assert not any(planned.outcome)
    return Snapshot.EMPTY.apply(planned.changes, 1)


def may(
    operation: Operation, *requests: AclBinding, name: str = "orders", principal: str = ALICE, host: str = "10.0.0.1"
) -> bool:
    return Authorizer(AclIndex(kept(*requests))).allows(principal, host, operation, AclType.TOPIC, name)


def test_without_acls_the_default_setting_decides() -> None:
    assert not may(Operation.READ)
    assert Authorizer(AclIndex(), allow_if_none=True).allows(ALICE, "h", Operation.READ, AclType.TOPIC, "t")


def test_the_default_does_not_apply_to_a_resource_that_has_any_acl() -> None:
    index = AclIndex(kept(acl(Operation.READ, principal="User:bob")))
    assert not Authorizer(index, allow_if_none=True).allows(ALICE, "h", Operation.READ, AclType.TOPIC, "orders")


def test_super_users_may_do_everything() -> None:
    index = AclIndex(kept(acl(Operation.ALL, deny=True)))
    assert Authorizer(index, super_users=[ALICE]).allows(ALICE, "h", Operation.ALTER, AclType.TOPIC, "orders")


def test_a_deny_takes_precedence_over_an_allow() -> None:
    assert not may(Operation.READ, acl(Operation.READ), acl(Operation.ALL, "*", principal="User:*", deny=True))


@pytest.mark.parametrize("implying", [Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER])
def test_describe_is_implied_by_an_allow_but_not_by_a_deny(implying: Operation) -> None:
    assert may(Operation.DESCRIBE, acl(implying))
    assert may(Operation.DESCRIBE, acl(Operation.DESCRIBE), acl(implying, deny=True))


def test_describe_configs_is_implied_by_alter_configs_alone() -> None:
    assert may(Operation.DESCRIBE_CONFIGS, acl(Operation.ALTER_CONFIGS))
    assert not may(Operation.DESCRIBE_CONFIGS, acl(Operation.DESCRIBE))


def test_a_prefix_covers_names_that_begin_with_it() -> None:
    assert may(Operation.READ, acl(Operation.READ, "ord", prefixed=True))
    assert not may(Operation.READ, acl(Operation.READ, "ord", prefixed=True), name="or")
    assert not may(Operation.READ, acl(Operation.READ, "ord"))


def test_an_acl_for_another_host_does_not_apply() -> None:
    assert may(Operation.READ, acl(Operation.READ, host="10.0.0.1"))
    assert not may(Operation.READ, acl(Operation.READ, host="10.0.0.2"))


@pytest.mark.parametrize(
    ("written", "client", "at_kafka"),
    [
        ("10.0.0.1", "10.0.0.1", True),
        ("0:0:0:0:0:0:0:1", "::1", True),
        ("fd00:0:0:0:0:0:0:ab%eth0", "fd00::ab%eth0", True),
        ("::1", "::1", False),
        ("FD00:0:0:0:0:0:0:AB", "fd00::ab", False),
        ("::ffff:10.0.0.1", "10.0.0.1", False),
        ("not:an:address", "::1", False),
    ],
)
def test_kafka_compares_hosts_with_addresses_as_java_writes_them(written: str, client: str, at_kafka: bool) -> None:
    index = AclIndex(kept(acl(Operation.READ, host=written)), host_of=host_at_kafka)
    assert Authorizer(index).allows(ALICE, client, Operation.READ, AclType.TOPIC, "orders") is at_kafka


def test_a_star_matches_every_user_and_every_name() -> None:
    assert may(Operation.READ, acl(Operation.READ, "*", principal="User:*"))
    assert not may(Operation.READ, acl(Operation.READ, "*", principal="Group:*"))


def test_deleting_the_last_acl_of_a_prefix_removes_it_from_the_index() -> None:
    snapshot = kept(acl(Operation.READ, "ord", prefixed=True))
    planned = plan_delete_acls(snapshot, [AclFilter()])
    index = AclIndex(snapshot)
    for change in planned.changes:
        index.replace(change.resource, {})

    assert index.about(AclType.TOPIC, "orders") == []


def test_creating_an_existing_acl_changes_nothing() -> None:
    snapshot = kept(acl(Operation.READ))
    planned = plan_create_acls(snapshot, [acl(Operation.READ), acl(Operation.WRITE), acl(Operation.WRITE)])

    assert planned.outcome == [None, None, None]
    assert len(planned.changes) == 1


def test_a_plan_is_guarded_by_the_revisions_of_its_patterns() -> None:
    snapshot, made = kept(acl(Operation.READ)), acl(Operation.READ, "other")
    orders, other = pattern_of(acl(Operation.READ)).resource, pattern_of(made).resource

    assert plan_create_acls(snapshot, [acl(Operation.WRITE), made]).guards == {orders: 1, other: 0}
    assert plan_delete_acls(snapshot, [AclFilter()]).guards == {orders: 1}


def test_an_invalid_acl_fails_and_others_are_created() -> None:
    wrong = [
        acl(Operation.ANY),
        acl(Operation.READ, ""),
        acl(Operation.READ, principal="alice"),
        acl(Operation.ALTER, "other", kind=AclType.CLUSTER),
        acl(Operation.READ)._replace(pattern=PatternType.MATCH),
    ]
    planned = plan_create_acls(Snapshot.EMPTY, [*wrong, acl(Operation.READ)])

    assert [failure.code if failure else 0 for failure in planned.outcome] == [ErrorCode.INVALID_REQUEST] * 5 + [0]
    assert len(planned.changes) == 1


def test_an_acl_that_matches_two_filters_is_reported_for_both_and_removed_once() -> None:
    snapshot = kept(acl(Operation.READ), acl(Operation.WRITE))
    planned = plan_delete_acls(snapshot, [AclFilter(operation=Operation.READ), AclFilter()])

    assert [len(found) for found in planned.outcome] == [1, 2]
    assert not list(bindings(snapshot.apply(planned.changes, 2)))


def test_an_acl_that_the_cluster_of_a_gateway_did_not_delete_has_its_error() -> None:
    kept_one, gone_one = acl(Operation.READ, "orders"), acl(Operation.READ, "payments")
    snapshot = kept(kept_one, gone_one)
    planned = plan_delete_acls(snapshot, [AclFilter()])
    refusal = ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    assert planned.revised is not None
    (found,) = planned.revised(planned.outcome, {pattern_of(kept_one).resource: refusal}, snapshot)

    assert dict(found) == {kept_one: refusal, gone_one: None}


@pytest.mark.parametrize(
    ("pattern", "name", "found"),
    [
        (PatternType.ANY, "orders", {"orders", "p:orders"}),
        (PatternType.LITERAL, "orders", {"orders"}),
        (PatternType.PREFIXED, "ord", {"p:ord"}),
        (PatternType.MATCH, "orders", {"orders", "*", "p:ord", "p:orders"}),
        (PatternType.MATCH, None, {"orders", "*", "p:ord", "p:orders"}),
        (PatternType.LITERAL, None, {"orders", "*"}),
    ],
)
def test_a_filter_matches_acls_by_pattern_type_and_name(
    pattern: PatternType, name: str | None, found: set[str]
) -> None:
    every = [
        acl(Operation.READ),
        acl(Operation.READ, "*"),
        acl(Operation.READ, "ord", prefixed=True),
        acl(Operation.READ, "orders", prefixed=True),
    ]
    wanted = AclFilter(name=name, pattern=pattern)

    names = {"p:" * (each.pattern == PatternType.PREFIXED) + each.name for each in every if matches(each, wanted)}

    assert names == found


names = st.sampled_from(["a", "ab", "abc", "*", "b"])
some_acls = st.builds(
    acl,
    st.sampled_from([Operation.READ, Operation.WRITE, Operation.ALL, Operation.DESCRIBE, Operation.ALTER_CONFIGS]),
    names,
    principal=st.sampled_from([ALICE, "User:bob", "User:*"]),
    deny=st.booleans(),
    prefixed=st.booleans(),
    host=st.sampled_from(["*", "h1", "h2"]),
)


@given(
    st.lists(some_acls, max_size=8),
    st.sampled_from([Operation.READ, Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS, Operation.ALTER]),
    st.sampled_from(["a", "abc", "zzz"]),
    st.booleans(),
)
def test_the_index_decides_as_a_scan_of_all_acls(
    requests: list[AclBinding], operation: Operation, name: str, allow_if_none: bool
) -> None:
    authorizer = Authorizer(AclIndex(kept(*requests)), allow_if_none=allow_if_none)

    assert authorizer.allows(ALICE, "h1", operation, AclType.TOPIC, name) == scan(
        requests, operation, name, allow_if_none
    )


def scan(requests: list[AclBinding], operation: Operation, name: str, allow_if_none: bool) -> bool:
    """The rules applied literally, one ACL after the other."""
    about = [
        each
        for each in requests
        if (each.name in (name, "*") if each.pattern == PatternType.LITERAL else name.startswith(each.name))
    ]
    if not about:
        return allow_if_none
    mine = [each for each in about if each.principal in (ALICE, "User:*") and each.host in ("h1", "*")]
    if any(each.permission == Permission.DENY and each.operation in (operation, Operation.ALL) for each in mine):
        return False
    enough = {operation, Operation.ALL}
    if operation == Operation.DESCRIBE:
        enough |= {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}
    if operation == Operation.DESCRIBE_CONFIGS:
        enough |= {Operation.ALTER_CONFIGS}
    return any(each.permission == Permission.ALLOW and each.operation in enough for each in mine)


def test_cached_decisions_are_dropped_when_any_acl_changes() -> None:
    index = AclIndex()
    authorizer = Authorizer(index)
    allow = AclBinding(AclType.TOPIC, "t", "User:a", Operation.READ)
    asked = ("User:a", "h", Operation.READ, AclType.TOPIC, "t")
    assert not authorizer.allows(*asked)
    index.replace(pattern_of(allow).resource, {key_of(allow): ""})
    assert authorizer.allows(*asked)
    assert not authorizer.allows("User:b", "h", Operation.READ, AclType.TOPIC, "t"), "not another's answer"
    assert not authorizer.allows("User:a", "h", Operation.WRITE, AclType.TOPIC, "t")
    index.replace(pattern_of(allow).resource, {})
    assert not authorizer.allows(*asked)


def test_the_cache_of_decisions_is_limited_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kconf.engine.access.acls.MAX_CACHED_BYTES", 20_000)
    authorizer = Authorizer(AclIndex())
    for number in range(100):
        assert not authorizer.allows("User:a", "h", Operation.READ, AclType.TOPIC, f"{'t' * 500}{number}")
    assert 10 < len(authorizer.decisions) < 30
    assert authorizer.decisions.bytes <= 20_000


def test_a_decision_about_a_name_of_32_kb_is_not_cached() -> None:
    authorizer = Authorizer(AclIndex())
    assert not authorizer.allows("User:a", "h", Operation.READ, AclType.TOPIC, "t" * 32_767)
    assert len(authorizer.decisions) == 0
