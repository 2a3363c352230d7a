"""Scenarios for a user with few rights: tests/cli runs them on kconf, tests/conformance on a broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from kconf import CreatedTopic, NewTopic, TopicNotAuthorized
from tests.cli.commands.scenarios import People, a_name, until
from tests.unit.client.drivers import KINDS, driver

ALICE: Final = "alice"
DENIED: Final = "TOPIC_AUTHORIZATION_FAILED"


class Pair:
    """Two users: root may do everything, alice very little. Each runs commands."""

    def __init__(self, root: People, alice: People, monkeypatch: pytest.MonkeyPatch) -> None:
        self._root, self._alice, self._monkeypatch = root, alice, monkeypatch
        monkeypatch.delenv("KCONF_CONTEXT", raising=False)

    @property
    def root(self) -> People:
        self._monkeypatch.setenv("KCONF_CONFIG", str(self._root.config))
        return self._root

    @property
    def alice(self) -> People:
        self._monkeypatch.setenv("KCONF_CONFIG", str(self._alice.config))
        return self._alice

    def topic(self, *operations: str) -> str:
        """A topic with overrides, on which alice may perform these operations."""
        name = a_name("rights")
        root = self.root
        root.topics(name, configs=[("retention.ms", "864000000"), ("segment.ms", "3600000")])
        root(f"acl add --principal User:{ALICE} --operation {','.join(operations)} --on topic:{name}")
        until(lambda: [each["topic"] for each in self.alice.items("topic list") if each["topic"] == name], [name])
        return name


def an_export_marks_what_may_not_be_read(pair: Pair) -> None:
    """The exit code is 1, JSON lists it, and pruning with these files does not remove it."""
    topic = pair.topic("describe")
    files = pair.alice.directory / "files"

    exported = pair.alice.whole(f"export topic:{topic} --to {files}", status=1)

    assert [(each["resource"], each["error"]) for each in exported["items"] if each["error"]] == [
        (f"topic:{topic}", "TOPIC_AUTHORIZATION_FAILED")
    ]
    text = (files / "topics.yaml").read_text()
    assert "configs" not in text
    assert 'unmanaged: ["*"]' in text.replace("'", '"')
    assert f"# topic:{topic}: TOPIC_AUTHORIZATION_FAILED" in (files / "unread.yaml").read_text()
    (files / "own.yaml").write_text(f"selector: [topic:{topic}]")
    assert pair.root.items(f"plan -f {files} --prune=topics") == []
    assert pair.alice.items(f"plan -f {files}") == []
    printed = pair.alice(f"export topic:{topic}", status=1)
    assert printed.out.startswith("version: 1\ntopics:")
    assert "skipped topic:" in printed.err


def an_export_of_everything_prunes_nothing_that_was_hidden(pair: Pair) -> None:
    topic = pair.topic("describe")
    pair.root(f"quota set --user {topic} producer_byte_rate=1MiB")
    files = pair.alice.directory / "everything"

    exported = pair.alice.whole(f"export --to {files} --force", status=1)

    failed = {each["resource"] for each in exported["items"] if each["error"]}
    assert failed >= {f"topic:{topic}", "quotas", "users", "acls"}
    (files / "own.yaml").write_text(f"selector: [topic:{topic}, broker, group, client-metrics, quota, user, acl]")
    found = pair.root.items(f"plan -f {files} --prune=topics,users,acls,quotas --max-deletes 1000")
    assert found == []


def a_plan_does_not_claim_what_it_could_not_read(pair: Pair) -> None:
    topic = pair.topic("describe")
    files = pair.alice.directory / "plan.yaml"
    files.write_text(f"topics: {{{topic}: {{partitions: 1}}}}")

    for command in ("plan", "diff", "apply --yes"):
        told = pair.alice.whole(f"{command} -f {files}", status=1)
        assert [(each["resource"], each["outcome"], each["error"]) for each in told["items"]] == [
            (f"topic:{topic}", "unknown", "TOPIC_AUTHORIZATION_FAILED")
        ]
        assert not any("matches the files" in each for each in told["notes"])


def a_topic_that_may_not_be_described_is_not_called_new(pair: Pair) -> None:
    name = a_name("hidden")
    pair.root.topics(name)
    files = pair.alice.directory / "hidden.yaml"
    files.write_text(f"topics: {{{name}: {{partitions: 1, configs: {{segment.ms: 1h}}}}}}")

    for command in ("plan", "diff", "apply --yes"):
        told = pair.alice.whole(f"{command} -f {files}", status=1)

        assert [(each["resource"], each["outcome"], each["error"]) for each in told["items"]] == [
            (f"topic:{name}", "unknown", DENIED)
        ]


def blame_says_what_it_could_not_read(pair: Pair) -> None:
    """For a cluster without a change feed: unreadable values must not look unset."""
    topic = pair.topic("describe")
    alice = pair.alice
    alice.add_context("here", journal=str(alice.directory / "journal"))

    told = alice.whole(f"blame topic:{topic}", status=1)

    assert [each["key"] for each in told["items"]] == [None]
    assert f"cannot read topic:{topic}; its values are not shown" in told["notes"]


def check_is_not_clean_where_it_could_not_read(pair: Pair) -> None:
    topic = pair.topic("describe")

    told = pair.alice.whole("check", status=1)

    assert any(each.startswith(f"topic:{topic} could not be read") for each in told["unread"])
    assert "no problems found" not in told["notes"]


def a_value_that_may_not_be_read_is_shown_as_unknown(pair: Pair) -> None:
    topic = pair.topic("describe", "alter-configs")
    root = pair.root
    root(f"acl add --principal User:{ALICE} --operation describe-configs --on topic:{topic} --deny")
    until(lambda: pair.alice.whole(f"describe topic:{topic}", status=1)["items"][0]["error"], DENIED)
    why = f"not authorized to describe topic:{topic}"

    blind = pair.alice(f"set topic:{topic} segment.ms=2h")
    refused = pair.alice(f"set topic:{topic} retention.ms=1h", status=2)
    (item,) = pair.alice.items(f"set topic:{topic} retention.ms=1h --dry-run")
    (unset,) = pair.alice.items(f"unset topic:{topic} segment.ms")

    assert "(unknown)" in blind.out
    assert why in blind.err
    assert "(unset)" not in blind.out + refused.out
    assert f"{why}: its current value is unknown" in refused.err
    assert (item["old"], item["old_unknown"], item["data_loss"]) == (None, True, f"{why}: its current value is unknown")
    assert (unset["old_unknown"], unset["outcome"]) == (True, "done")
    until(lambda: pair.root.overrides(f"topic:{topic}"), {"retention.ms": "864000000"})


def a_key_that_a_topic_does_not_have_is_no_question_of_data(pair: Pair) -> None:
    topic = pair.topic("describe")

    told = pair.root.whole(f"set topic:{topic} log.retention.ms=1h", status=1)

    assert [(each["error"], each["data_loss"]) for each in told["items"]] == [("INVALID_CONFIG", None)]
    assert "log.retention.ms: did you mean retention.ms?" in told["notes"]


def a_created_topic_does_not_show_what_may_not_be_described(pair: Pair) -> None:
    """KIP-525: reading partitions, replication factor or configs of the result raises 29, in both clients."""
    name = a_name("made")
    pair.root(f"acl add --principal User:{ALICE} --operation create --on 'topic:{name}*'")
    alice = pair.alice

    def made(kind: str) -> CreatedTopic:
        topic = NewTopic(f"{name}-{kind}", 1, 1)
        with driver(kind, alice.bootstrap, properties=alice.properties) as admin:
            until(lambda: admin.create_topics([topic], validate_only=True).failures, {})
            created: CreatedTopic = admin.create_topics([topic])[topic.name]
            return created

    for kind in KINDS:
        created = made(kind)
        for read in ("config", "num_partitions", "replication_factor"):
            with pytest.raises(TopicNotAuthorized, match=f"{name}-{kind}"):
                getattr(created, read)
    pair.root(f"acl add --principal User:{ALICE} --operation describe-configs --on 'topic:{name}*'")
    with alice.admin() as admin:
        topic = NewTopic(f"{name}-seen", 2, 1)
        until(lambda: admin.create_topics([topic], validate_only=True)[topic.name].details[:2], (2, 1))
        assert len(admin.create_topics([topic])[topic.name].config) >= 30


SCENARIOS: tuple[Callable[[Pair], None], ...] = (
    an_export_marks_what_may_not_be_read,
    an_export_of_everything_prunes_nothing_that_was_hidden,
    a_plan_does_not_claim_what_it_could_not_read,
    a_topic_that_may_not_be_described_is_not_called_new,
    check_is_not_clean_where_it_could_not_read,
    a_value_that_may_not_be_read_is_shown_as_unknown,
    a_key_that_a_topic_does_not_have_is_no_question_of_data,
    a_created_topic_does_not_show_what_may_not_be_described,
)
