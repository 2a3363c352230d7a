"""Who may do something, compared with the authorizer for every principal and host, named by an ACL or not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kconf.engine.access.acls import AclIndex, Authorizer
from kconf.engine.access.who_can import Grant, who_can
from kconf.model.acl import AclBinding, AclType, Operation, PatternType, Permission
from tests.unit.engine.access.test_acls import acl, kept

HERE, THERE = "10.0.0.1", "10.0.0.2"


def grants(*bindings: AclBinding, operation: Operation = Operation.READ) -> list[tuple[str, str, tuple[str, ...]]]:
    found = who_can(bindings, operation, AclType.TOPIC, "orders")
    return [(each.principal, each.host, each.exceptions) for each in found]


def test_principals_of_literal_prefixed_and_wildcard_acls_are_listed() -> None:
    found = grants(
        acl(Operation.READ),
        acl(Operation.ALL, "ord", principal="User:bob", prefixed=True),
        acl(Operation.READ, "*", principal="User:carol", host=HERE),
        acl(Operation.WRITE, principal="User:dave"),
        acl(Operation.READ, "payments", principal="User:erin"),
    )

    assert found == [("User:alice", "*", ()), ("User:bob", "*", ()), ("User:carol", HERE, ())]


def test_describe_is_allowed_by_read_and_not_denied_by_a_deny_of_read() -> None:
    found = grants(acl(Operation.READ), acl(Operation.READ, deny=True), operation=Operation.DESCRIBE)

    assert found == [("User:alice", "*", ())]


def test_a_denied_principal_is_listed_as_an_exception_of_a_wider_grant() -> None:
    found = grants(
        acl(Operation.READ, "*", principal="User:*"),
        acl(Operation.ALL, "ord", principal="User:eve", prefixed=True, deny=True),
        acl(Operation.READ, principal="User:bob", host=HERE, deny=True),
        acl(Operation.READ, principal="User:*", host=THERE, deny=True),
        acl(Operation.READ),
    )

    assert found == [
        ("User:*", "*", (THERE, "User:bob from 10.0.0.1", "User:eve")),
        ("User:alice", "*", (THERE,)),
    ]


_ACLS = st.builds(
    AclBinding,
    st.just(AclType.TOPIC),
    st.sampled_from(["orders", "ord", "*", "other"]),
    st.sampled_from(["User:*", "User:alice", "User:bob"]),
    st.sampled_from([Operation.READ, Operation.DESCRIBE, Operation.ALL, Operation.WRITE]),
    st.sampled_from([Permission.ALLOW, Permission.DENY]),
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    st.sampled_from(["*", HERE, THERE]),
)


@given(st.lists(_ACLS, max_size=7), st.sampled_from([Operation.READ, Operation.DESCRIBE]))
def test_the_listed_grants_are_those_that_the_authorizer_allows(acls: list[AclBinding], operation: Operation) -> None:
    authorizer = Authorizer(AclIndex(kept(*acls)))
    found = who_can(acls, operation, AclType.TOPIC, "orders")
    asked = [(who, at) for who in ("User:alice", "User:bob", "User:new") for at in (HERE, THERE, "10.0.0.3")]

    for who, at in asked:
        allowed = authorizer.allows(who, at, operation, AclType.TOPIC, "orders")
        assert any(_covers(each, who, at) for each in found) == allowed, (who, at, found)


def _covers(grant: Grant, who: str, at: str) -> bool:
    named = grant.principal in (who, "User:*") and grant.host in (at, "*")
    return named and not {who, at, f"{who} from {at}"} & set(grant.exceptions)
