"""`kconf serve --read-only`: reads are answered, and changes are refused with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kconf import (
    AclBinding,
    AclType,
    AlterConfigOp,
    Mechanism,
    NewTopic,
    Operation,
    OpType,
    QuotaEntity,
    Resource,
    Results,
    SyncAdminClient,
    UserScramCredentialDeletion,
    scram_upsertion,
)
from kconf.errors import ErrorCode
from tests.support.process import KconfProcess

ORDERS = Resource.topic("orders")
ALICE = QuotaEntity.of({"user": "alice"})
RULE = AclBinding(AclType.TOPIC, "orders", "User:bob", Operation.READ)
PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
SET = [AlterConfigOp(OpType.SET, "retention.ms", "1")]
WRITES = {
    "incremental_alter_configs": lambda admin: admin.incremental_alter_configs({ORDERS: SET, Resource.brokers(): []}),
    "alter_configs": lambda admin: admin.alter_configs({ORDERS: {"retention.ms": "1"}}),
    "create_topics": lambda admin: admin.create_topics([NewTopic("new", 1, 1)]),
    "create_partitions": lambda admin: admin.create_partitions({"orders": 9}),
    "delete_topics": lambda admin: admin.delete_topics(["orders"]),
    "alter_client_quotas": lambda admin: admin.alter_client_quotas({ALICE: {"producer_byte_rate": 2.0}}),
    "upsert credentials": lambda admin: admin.alter_user_scram_credentials(
        [scram_upsertion("alice", Mechanism.SCRAM_SHA_256, "other")]
    ),
    "delete credentials": lambda admin: admin.alter_user_scram_credentials(
        [UserScramCredentialDeletion("alice", Mechanism.SCRAM_SHA_256)]
    ),
    "create_acls": lambda admin: admin.create_acls([RULE._replace(name="other")]),
    "delete_acls": lambda admin: admin.delete_acls([RULE.filter()]),
}


@pytest.fixture(scope="module")
def left() -> Iterator[KconfProcess]:
    """The store of a stopped server."""
    with KconfProcess(properties=PROPERTIES) as process:
        with SyncAdminClient(process.bootstrap) as admin:
            admin.create_topics([NewTopic("orders", 2, 1)]).raise_for_failures()
            admin.alter_client_quotas({ALICE: {"producer_byte_rate": 1.0}}).raise_for_failures()
            password = scram_upsertion("alice", Mechanism.SCRAM_SHA_256, "opensesame")
            admin.alter_user_scram_credentials([password]).raise_for_failures()
            admin.create_acls([RULE]).raise_for_failures()
        process.stop()
        yield process


@pytest.fixture(scope="module")
def admin(left: KconfProcess) -> Iterator[SyncAdminClient]:
    with (
        KconfProcess(store=left.store, properties=PROPERTIES, args=["--read-only"]) as process,
        SyncAdminClient(process.bootstrap) as client,
    ):
        yield client


@pytest.mark.parametrize("write", WRITES)
def test_a_write_is_refused_with_the_reason(admin: SyncAdminClient, write: str) -> None:
    before = admin.list_changes(0)
    results: Results[Any, Any] = WRITES[write](admin)

    assert {each.code for each in results.failures.values()} == {ErrorCode.POLICY_VIOLATION}
    assert {each.message for each in results.failures.values()} == {
        "this server is read-only: it was started with --read-only"
    }
    assert len(results.failures) == len(results)
    assert admin.list_changes(0) == before


def test_a_read_only_server_answers_reads(admin: SyncAdminClient) -> None:
    assert admin.list_topics()["orders"].partitions == 2
    assert admin.describe_configs([ORDERS])[ORDERS]["retention.ms"].value == "604800000"
    assert admin.describe_acls() == [RULE]
    assert list(admin.describe_user_scram_credentials()) == ["alice"]


def test_a_dry_run_is_checked_by_policies(admin: SyncAdminClient) -> None:
    good = admin.incremental_alter_configs({ORDERS: SET}, validate_only=True)
    bad = admin.incremental_alter_configs(
        {ORDERS: [AlterConfigOp(OpType.SET, "retention.ms", "a week")]}, validate_only=True
    )

    assert not good.failures
    assert bad.failures[ORDERS].code == ErrorCode.INVALID_CONFIG
