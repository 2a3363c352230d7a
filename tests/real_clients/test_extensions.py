"""kconf's extensions of Kafka's protocol: tags that other clients ignore, and requests with their own API keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kconf.protocol.messages.alter_client_quotas import AlteredQuota, QuotaOp
from kconf.protocol.messages.alter_user_scram_credentials import ScramCredentialUpsertion
from kconf.protocol.messages.create_partitions import CreatePartitionsTopic
from kconf.protocol.messages.create_topics import CreatableTopic
from kconf.protocol.messages.delete_topics import DeleteTopicState
from kconf.protocol.messages.describe_client_quotas import QuotaEntityPart
from kconf.protocol.messages.describe_configs import DescribeConfigsResource
from kconf.protocol.messages.describe_configs_at import ResourceAt
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsResource,
)
from kconf.protocol.messages.list_config_changes import ChangeFilter
from tests.support.admin import DELETE, SET, TOPIC, Admin
from tests.support.process import KconfProcess


@pytest.fixture
def admin(server: KconfProcess) -> Iterator[Admin]:
    with Admin(server.bootstrap) as connection:
        yield connection


def describe(admin: Admin, topic: str, version: int = 4) -> Any:
    return admin.ask("DescribeConfigs", version, resources=[DescribeConfigsResource(TOPIC, topic)])


def alter(admin: Admin, topic: str, value: str, *, expected: int = -1, **options: Any) -> int:
    config = IncrementalAlterableConfig("segment.ms", SET, value)
    resource = IncrementalAlterConfigsResource(TOPIC, topic, [config], expected)
    answer = admin.ask("IncrementalAlterConfigs", 1, resources=[resource], **options)
    code: int = answer.responses[0].error_code
    return code


def begin(admin: Admin) -> int:
    """The revision after which the journal begins: 0, except for a gateway."""
    answer = admin.ask("ListConfigChanges", 0, after=0)
    return answer.oldest - 1 if answer.error_code else 0


def changes(admin: Admin, topic: str, after: int | None = None) -> list[Any]:
    after = begin(admin) if after is None else after
    answer = admin.ask("ListConfigChanges", 0, after=after, filters=[ChangeFilter(TOPIC, topic)])
    assert answer.error_code == 0
    return list(answer.revisions)


def test_a_describe_response_has_its_revision(admin: Admin, topic: str) -> None:
    """Tag 40003 of DescribeConfigs v4."""
    admin.create(topic)
    before = describe(admin, topic).revision
    alter(admin, topic, "5")

    assert describe(admin, topic).revision > before > 0
    assert describe(admin, topic, version=3).revision == -1


def test_a_change_is_refused_if_the_resource_changed_since_it_was_described(admin: Admin, topic: str) -> None:
    """Tag 40001 of IncrementalAlterConfigs v1: compare and set."""
    admin.create(topic)
    seen = describe(admin, topic).revision

    assert alter(admin, topic, "5", expected=seen) == 0
    assert alter(admin, topic, "6", expected=seen) == 95
    assert admin.overrides(topic) == {"segment.ms": "5"}
    assert alter(admin, topic, "6", expected=describe(admin, topic).revision) == 0


def test_a_change_of_another_resource_does_not_invalidate_the_revision(admin: Admin, topic: str) -> None:
    admin.create(topic, f"{topic}-other")
    seen = describe(admin, topic).revision
    alter(admin, f"{topic}-other", "5")

    assert alter(admin, topic, "5", expected=seen) == 0


def test_a_reason_is_in_the_journal(admin: Admin, topic: str) -> None:
    """Tag 40002 of IncrementalAlterConfigs v1, and ListConfigChanges."""
    admin.create(topic)
    alter(admin, topic, "5", reason="ticket 12")

    last = changes(admin, topic)[-1]

    assert (last.reason, last.principal, last.client_id, last.api) == (
        "ticket 12",
        "User:ANONYMOUS",
        "wire",
        "IncrementalAlterConfigs",
    )
    assert [(each.op, each.key, each.before, each.after) for each in last.changes] == [("set", "segment.ms", None, "5")]


def test_a_reason_of_a_created_grown_or_deleted_topic_is_in_the_journal(admin: Admin, topic: str) -> None:
    """Tag 40002 of CreateTopics v5, CreatePartitions v2 and DeleteTopics v4."""
    admin.ask("CreateTopics", 7, topics=[CreatableTopic(topic, 1, 1, [], [])], reason="first")
    admin.ask("CreatePartitions", 3, topics=[CreatePartitionsTopic(topic, 2)], reason="second")
    admin.ask("DeleteTopics", 6, topics=[DeleteTopicState(topic)], reason="third")

    assert [(each.api, each.reason) for each in changes(admin, topic)] == [
        ("CreateTopics", "first"),
        ("CreatePartitions", "second"),
        ("DeleteTopics", "third"),
    ]


def test_a_reason_of_a_quota_or_a_credential_is_in_the_journal(admin: Admin, topic: str) -> None:
    """Tag 40002 of AlterClientQuotas v1 and AlterUserScramCredentials v0; the ACLs': tests/cli/declarative."""
    quota = AlteredQuota([QuotaEntityPart("user", topic)], [QuotaOp("request_percentage", 5.0)])
    admin.ask("AlterClientQuotas", 1, entries=[quota], reason="first")
    credential = ScramCredentialUpsertion(topic, 1, 4096, b"salt", b"x" * 32)
    admin.ask("AlterUserScramCredentials", 0, upsertions=[credential], reason="second")
    long = admin.ask("AlterClientQuotas", 1, entries=[quota], reason="x" * 4097)
    refused = admin.ask("AlterUserScramCredentials", 0, upsertions=[credential], reason="x" * 4097)

    revisions = admin.ask("ListConfigChanges", 0, after=begin(admin)).revisions
    mine = [each for each in revisions if any(topic in one.resource_name for one in each.changes)]
    assert [(each.api, each.reason) for each in mine] == [
        ("AlterClientQuotas", "first"),
        ("AlterUserScramCredentials", "second"),
    ]
    assert ([each.error_code for each in long.entries], [each.error_code for each in refused.results]) == ([42], [42])


def test_a_topic_with_too_long_a_reason_is_not_created(admin: Admin, topic: str) -> None:
    requested = CreatableTopic(topic, 1, 1, [], [])

    answer = admin.ask("CreateTopics", 7, topics=[requested], reason="x" * 4097)

    assert [(each.name, each.error_code) for each in answer.topics] == [(topic, 42)]
    assert changes(admin, topic) == []


def test_a_reader_of_changes_continues_where_it_stopped(admin: Admin, topic: str) -> None:
    admin.create(topic)
    first = admin.ask("ListConfigChanges", 0, after=0)
    alter(admin, topic, "5")

    second = admin.ask("ListConfigChanges", 0, after=first.next_after)

    assert [each.revision for each in second.revisions] == [first.current + 1]
    assert second.next_after == second.current == first.current + 1


def test_a_reader_of_changes_can_wait_for_the_next_one(server: KconfProcess, topic: str) -> None:
    with Admin(server.bootstrap) as reader, Admin(server.bootstrap) as writer:
        writer.create(topic)
        current = reader.ask("ListConfigChanges", 0, after=0).current
        nothing = reader.ask("ListConfigChanges", 0, after=current, max_wait_ms=1)
        alter(writer, topic, "5")

        assert not nothing.revisions
        assert reader.ask("ListConfigChanges", 0, after=current, max_wait_ms=20_000).revisions


def test_a_resource_is_described_as_of_a_revision(admin: Admin, topic: str) -> None:
    """DescribeConfigsAt."""
    admin.create(topic, configs={"flush.ms": "1"})
    made = describe(admin, topic).revision
    alter(admin, topic, "5")
    admin.alter((TOPIC, topic), ("flush.ms", DELETE, None))

    def at(revision: int) -> tuple[bool, dict[str, str]]:
        answer = admin.ask("DescribeConfigsAt", 0, revision=revision, resources=[ResourceAt(TOPIC, topic)])
        assert (answer.error_code, answer.revision) == (0, revision)
        (result,) = answer.results
        return result.existed, {each.name: each.value for each in result.overrides}

    assert at(made - 1) == (False, {})
    assert at(made) == (True, {"flush.ms": "1"})
    assert at(made + 1) == (True, {"flush.ms": "1", "segment.ms": "5"})
    assert at(made + 2) == (True, {"segment.ms": "5"})


def test_refusals_and_dry_runs_are_recorded(admin: Admin, topic: str) -> None:
    """ListAttempts."""
    admin.create(topic)
    alter(admin, topic, "0")
    alter(admin, topic, "5", validate_only=True)

    tried = [each for each in admin.ask("ListAttempts", 0, after=0).attempts if each.resource_name == topic]

    assert [(each.outcome, each.dry_run, list(each.keys)) for each in tried] == [
        (40, False, ["segment.ms"]),
        (0, True, ["segment.ms"]),
    ]
