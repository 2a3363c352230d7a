"""Reading the journal requires DESCRIBE_CONFIGS on the cluster, also during a wait; ACL changes are lines too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kconf import AclBinding, AclFilter, AclType, Operation, Permission, SyncAdminClient
from kconf.protocol.messages.describe_configs_at import ResourceAt
from tests.feed.conftest import METRICS
from tests.feed.reading import changes, until, waiting
from tests.feed.test_waiting import LONG, beside
from tests.support.admin import TOPIC, Admin
from tests.support.process import KconfProcess

REFUSED = 31
GUARDED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}


@pytest.fixture
def guarded() -> Iterator[KconfProcess]:
    with KconfProcess(properties=GUARDED, args=METRICS) as process:
        yield process


def test_revoking_the_right_ends_a_wait_with_a_refusal(guarded: KconfProcess) -> None:
    """The change that ends the wait is the one that removes the right."""
    everyone = (AclType.CLUSTER, "kafka-cluster", "User:ANONYMOUS")
    acls = [
        AclBinding(*everyone, Operation.DESCRIBE_CONFIGS, Permission.DENY),
        AclBinding(*everyone, Operation.ALTER, Permission.ALLOW),  # to remove it later
    ]
    with Admin(guarded.bootstrap) as reader, SyncAdminClient(guarded.bootstrap) as other:
        answer = beside(lambda: changes(reader, 0, wait=LONG))
        until(lambda: waiting(guarded) == 1)
        other.create_acls(acls).raise_for_failures()

        found = answer.result(60)
        assert (found.error_code, list(found.revisions), found.current) == (REFUSED, [], 0)
        past = reader.ask("DescribeConfigsAt", 0, revision=0, resources=[ResourceAt(TOPIC, "t")])
        assert (changes(reader).error_code, past.error_code) == (REFUSED, REFUSED)
        assert reader.ask("ListAttempts", 0, after=0).error_code == REFUSED

        other.delete_acls([AclFilter()]).raise_for_failures()
        made, gone = changes(reader).revisions

    assert [each.api for each in (made, gone)] == ["CreateAcls", "DeleteAcls"]
    assert [each.resource_type for each in (*made.changes, *gone.changes)] == [1002] * 4
    assert all("ANONYMOUS" in each.key + (each.after or "") and each.before is None for each in made.changes)
    assert sorted((each.key, each.before) for each in gone.changes) == sorted(
        (each.key, each.after) for each in made.changes
    )
