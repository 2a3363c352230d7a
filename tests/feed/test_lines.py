"""The journal in the protocol: every committed change in order, with principal, old and new value, and reason."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import request
from kconf.protocol.messages.alter_client_quotas import AlteredQuota, QuotaOp
from kconf.protocol.messages.alter_configs import AlterableConfig, AlterConfigsResource
from kconf.protocol.messages.alter_user_scram_credentials import ScramCredentialDeletion, ScramCredentialUpsertion
from kconf.protocol.messages.create_topics import CreateTopicsRequest
from kconf.protocol.messages.describe_client_quotas import QuotaEntityPart
from kconf.protocol.messages.describe_configs_at import ResourceAt
from kconf.protocol.messages.list_config_changes import ChangeFilter
from tests.feed.reading import changes, set_key
from tests.support.admin import APPEND, BROKER, DELETE, GROUP, SET, TOPIC, Admin, new_topic
from tests.support.process import KconfProcess


def lines(revision: Any) -> list[tuple[str, str, str, str | None, str | None]]:
    return [(each.resource_name, each.op, each.key, each.before, each.after) for each in revision.changes]


def test_a_line_has_the_principal_the_key_both_values_and_the_reason(server: KconfProcess, topic: str) -> None:
    with Admin(server.bootstrap, client_id="a-tool") as admin:
        admin.create(topic, configs={"flush.ms": "6"})
        began = int(time.time() * 1000)
        start = changes(admin).current
        set_key(admin, topic, "5", reason="ticket 12 – größer")
        set_key(admin, topic, "7")

        first, second = changes(admin, start).revisions

    assert (first.revision, second.revision) == (start + 1, start + 2)
    assert began <= first.time_ms <= second.time_ms <= time.time() * 1000
    assert (first.principal, first.client_id, first.host) == ("User:ANONYMOUS", "a-tool", "127.0.0.1")
    assert (first.api, first.reason, first.origin) == ("IncrementalAlterConfigs", "ticket 12 – größer", "kconf")
    assert second.request_id == first.request_id + 1
    assert second.reason is None
    assert lines(first) == [(topic, "set", "segment.ms", None, "5")]
    assert lines(second) == [(topic, "set", "segment.ms", "5", "7")]
    assert (first.changes[0].kind, first.changes[0].resource_type) == ("config", TOPIC)


def test_every_way_to_change_a_resource_records_the_resulting_values(admin: Admin, topic: str) -> None:
    """APPEND and SUBTRACT record the resulting value, a replacement is expanded, and a no-op has no line."""
    admin.create(topic, configs={"cleanup.policy": "compact", "flush.ms": "6"})
    start = changes(admin).current
    admin.alter((TOPIC, topic), ("cleanup.policy", APPEND, "delete"), ("flush.ms", DELETE, None))
    admin.alter((TOPIC, topic), ("cleanup.policy", SET, "compact,delete"))
    admin.replace([((TOPIC, topic), {"segment.ms": "5"})])
    kept = AlterConfigsResource(TOPIC, topic, [AlterableConfig("flush.ms", "8")])
    admin.ask("AlterConfigs", 2, resources=[kept], incremental_update=True)

    found = changes(admin, start).revisions

    assert [each.api for each in found] == ["IncrementalAlterConfigs", "AlterConfigs", "AlterConfigs"]
    assert [lines(each) for each in found] == [
        [
            (topic, "append", "cleanup.policy", "compact", "compact,delete"),
            (topic, "delete", "flush.ms", "6", None),
        ],
        [(topic, "set", "segment.ms", None, "5"), (topic, "replace", "cleanup.policy", "compact,delete", None)],
        [(topic, "set", "flush.ms", None, "8")],
    ]


def test_topics_are_created_grown_and_deleted_in_lines_too(admin: Admin, topic: str) -> None:
    start = changes(admin).current
    admin.create(topic, partitions=2, configs={"flush.ms": "6"})
    admin.grow(topic, 3)
    admin.delete(topic)

    made, grown, gone = changes(admin, start).revisions

    assert [each.api for each in (made, grown, gone)] == ["CreateTopics", "CreatePartitions", "DeleteTopics"]
    of_topic = [next(each for each in one.changes if each.kind == "topic") for one in (made, grown, gone)]
    sizes = [
        tuple(None if text is None else len(json.loads(text)["replicas"]) for text in (each.before, each.after))
        for each in of_topic
    ]
    assert sizes == [(None, 2), (2, 3), (3, None)]
    ids = {json.loads(text)["id"] for each in of_topic for text in (each.before, each.after) if text is not None}
    assert len(ids) == 1
    assert (topic, "set", "flush.ms", None, "6") in [(n, "set", k, b, a) for n, _, k, b, a in lines(made)]
    assert [(each.key, each.before, each.after) for each in gone.changes if each.kind == "config"] == [
        ("flush.ms", "6", None)
    ]


def test_a_changed_secret_is_reported_without_its_value(own_server: KconfProcess, own_admin: Admin) -> None:
    key = "listener.name.external.ssl.keystore.password"
    for value in ("hunter2", "hunter3", "hunter2"):
        assert set_key(own_admin, "1", value, key=key, kind=BROKER) == 0

    answer = changes(own_admin)
    own_server.kill()
    own_server.start()
    with Admin(own_server.bootstrap) as admin:
        from_store = changes(admin)

    told = [each.changes[0] for each in answer.revisions]
    assert all(each.sensitive and each.after.startswith("hmac:") for each in told)
    assert told[0].after == told[1].before == told[2].after != told[1].after
    assert "hunter" not in repr(answer)
    assert from_store.revisions == answer.revisions


def test_pages_of_any_size_contain_the_same_revisions(own_server: KconfProcess, own_admin: Admin) -> None:
    own_admin.create(*(f"t{n}" for n in range(5)), configs={"flush.ms": "6", "segment.ms": "7"})
    for n in range(20):
        set_key(own_admin, f"t{n % 5}", str(1000 + n))
    whole = list(changes(own_admin).revisions)

    def paged(admin: Admin, size: int) -> list[Any]:
        found: list[Any] = []
        after = 0
        while (page := changes(admin, after, lines=size)).revisions:
            assert page.next_after == page.revisions[-1].revision
            assert len(page.revisions) == 1 or sum(len(each.changes) for each in page.revisions) <= size
            found += page.revisions
            after = page.next_after
        return found

    assert [each.revision for each in whole] == list(range(1, len(whole) + 1))
    for size in (-1, 0, 1, 3, 16, 1000, 2**31 - 1):
        assert paged(own_admin, size) == whole
    own_server.restart()  # now from the store
    with Admin(own_server.bootstrap) as admin:
        for size in (1, 3, 1000):
            assert paged(admin, size) == whole


@pytest.mark.parametrize("stored", [False, True])
def test_changes_are_filtered_by_resource_and_by_type(own_server: KconfProcess, own_admin: Admin, stored: bool) -> None:
    own_admin.create("a", "b")
    set_key(own_admin, "a", "1000")
    own_admin.alter_all([((TOPIC, "a"), [("flush.ms", SET, "1")]), ((TOPIC, "b"), [("flush.ms", SET, "1")])])
    set_key(own_admin, "g", "50000", key="consumer.session.timeout.ms", kind=GROUP)
    set_key(own_admin, "b", "1000")
    if stored:
        own_server.restart()

    def found(*filters: tuple[int, str | None]) -> list[tuple[int, list[str]]]:
        with Admin(own_server.bootstrap) as admin:
            answer = changes(admin, 1, filters=filters)
        assert answer.next_after == answer.current == 5
        return [(each.revision, [line.resource_name for line in each.changes]) for each in answer.revisions]

    assert found((TOPIC, "a")) == [(2, ["a"]), (3, ["a"])]
    assert found((TOPIC, "a"), (GROUP, "g")) == [(2, ["a"]), (3, ["a"]), (4, ["g"])]
    assert found((TOPIC, None)) == [(2, ["a"]), (3, ["a", "b"]), (5, ["b"])]
    assert found((GROUP, None), (TOPIC, "b")) == [(3, ["b"]), (4, ["g"]), (5, ["b"])]
    assert found((TOPIC, "none")) == found((77, None)) == found((77, "x")) == []


def test_more_than_10_000_filters_are_refused(admin: Admin) -> None:
    many = [ChangeFilter(TOPIC, f"t{n}") for n in range(10_001)]

    assert admin.ask("ListConfigChanges", 0, after=0, filters=many).error_code == 42
    assert admin.ask("ListConfigChanges", 0, after=0, filters=many[:10_000]).error_code == 0


def test_revision_minus_1_starts_after_the_newest_revision(admin: Admin, topic: str) -> None:
    admin.create(topic)
    answer = changes(admin, -1)

    assert (answer.error_code, list(answer.revisions)) == (0, [])
    assert answer.next_after == answer.current > 0


def test_a_revision_that_does_not_exist_yet_is_out_of_range(admin: Admin) -> None:
    """A reader of another cluster, or of a restored older store, must get an error instead of waiting."""
    current = changes(admin).current
    answer = changes(admin, current + 1, wait=20_000)

    assert (answer.error_code, answer.current, answer.next_after) == (1, current, current + 1)


def test_texts_beyond_kafkas_limit_do_not_stop_the_feed(own_server: KconfProcess) -> None:
    """The assignment of a large topic exceeds Kafka's string limit; an invalid client ID is longer when repaired."""
    question = request(BY_NAME["CreateTopics"], 7, 1, "?" * 30_000, CreateTopicsRequest([new_topic("broken")]))
    with own_server.connect() as line:
        line.sendall(question.replace(b"?" * 30_000, b"\xff" * 30_000))
        assert line.recv(1)
    with Admin(own_server.bootstrap) as admin:
        admin.create("large", partitions=9_000)
        admin.create("next")
        found = changes(admin).revisions

    assert [each.changes[0].resource_name for each in found] == ["broken", "large", "next"]
    assert len(found[0].client_id.encode()) == 90_000
    assert len(found[1].changes[0].after) > 32_767


def test_the_length_of_a_reason_is_limited(admin: Admin, topic: str) -> None:
    admin.create(topic)

    assert set_key(admin, topic, "5", reason="x" * 4096) == 0
    assert set_key(admin, topic, "6", reason="x" * 4097) == 42
    assert admin.overrides(topic) == {"segment.ms": "5"}


def test_credentials_and_quotas_are_lines_too(own_server: KconfProcess, own_admin: Admin) -> None:
    """Credentials are redacted; quotas are not."""
    upsertion = ScramCredentialUpsertion("alice", 1, 4096, b"salt", b"salted-password-of-alice-is-here")
    own_admin.ask("AlterUserScramCredentials", 0, upsertions=[upsertion])
    entry = AlteredQuota([QuotaEntityPart("user", "alice")], [QuotaOp("producer_byte_rate", 1024.0, False)])
    own_admin.ask("AlterClientQuotas", 1, entries=[entry], validate_only=False)
    own_admin.ask("AlterUserScramCredentials", 0, deletions=[ScramCredentialDeletion("alice", 1)])

    answer = changes(own_admin)
    made, quota, gone = ((each.api, *each.changes) for each in answer.revisions)

    assert (made[0], made[1].resource_type, made[1].resource_name) == ("AlterUserScramCredentials", 1001, "alice")
    assert made[1].sensitive
    assert made[1].after.startswith("hmac:")
    assert (quota[0], quota[1].resource_type, quota[1].key) == ("AlterClientQuotas", 1000, "producer_byte_rate")
    assert (quota[1].before, float(quota[1].after)) == (None, 1024.0)
    assert (gone[1].before, gone[1].after) == (made[1].after, None)
    past = own_admin.ask("DescribeConfigsAt", 0, revision=1, resources=[ResourceAt(1001, "alice")]).results[0]
    assert [(each.value, each.is_sensitive) for each in past.overrides] == [(None, True)]
    assert "salted" not in repr(answer)
