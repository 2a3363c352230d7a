"""Who may change a cluster without its gateway, and the commands that prevent it."""

from __future__ import annotations

from shlex import split
from typing import Any

from kconf.cli.commands.acl import _filters
from kconf.cli.main import parser
from kconf.engine.access.acls import matches
from kconf.errors import SecurityDisabled
from kconf.model.acl import CLUSTER_NAME, AclBinding, AclType, Operation, PatternType, Permission
from kconf.operations.access.direct_changes import direct_rights

GATEWAY = "User:gateway"
ALICE = AclBinding(AclType.TOPIC, "orders", "User:alice", Operation.ALTER_CONFIGS)
ALLOWED = [
    ALICE,
    ALICE._replace(host="10.0.0.1"),
    ALICE._replace(name="orders.", pattern=PatternType.PREFIXED),
    ALICE._replace(name="*", principal="User:*", operation=Operation.ALL),
    ALICE._replace(principal="User:it's me", operation=Operation.DELETE),
    ALICE._replace(resource_type=AclType.CLUSTER, name=CLUSTER_NAME, operation=Operation.ALTER),
    ALICE._replace(resource_type=AclType.GROUP, name="billing"),
]
OTHERS = [
    ALICE._replace(principal=GATEWAY),
    ALICE._replace(permission=Permission.DENY),
    ALICE._replace(permission=Permission.DENY, host="10.0.0.1"),
    ALICE._replace(operation=Operation.READ),
    ALICE._replace(resource_type=AclType.GROUP, name="billing", operation=Operation.DELETE),
]


class Cluster:
    def __init__(self, bindings: list[AclBinding] | None) -> None:
        self._bindings = bindings

    def describe_acls(self) -> list[AclBinding]:
        if self._bindings is None:
            raise SecurityDisabled("no authorizer")
        return self._bindings


def test_principals_other_than_the_gateway_that_may_make_changes_are_found() -> None:
    cluster: Any = Cluster([*ALLOWED, *OTHERS])
    found = direct_rights(cluster, GATEWAY)
    assert found is not None
    assert [each.binding for each in found] == sorted(ALLOWED)


def test_each_command_deletes_its_acl_and_no_other() -> None:
    everything = [*ALLOWED, *OTHERS]
    cluster: Any = Cluster(everything)
    found = direct_rights(cluster, GATEWAY)
    assert found
    for binding, cure in found:
        options = parser().parse_args(split(cure)[1:])
        filters = _filters(options)
        assert [each for each in everything if any(matches(each, one) for one in filters)] == [binding]


def test_without_an_authorizer_everyone_may_change_the_cluster() -> None:
    cluster: Any = Cluster(None)
    assert direct_rights(cluster, GATEWAY) is None
