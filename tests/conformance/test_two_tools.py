"""A real Kafka that kconf and Kafka's own tools change in turn: kconf reports only what it knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.broker import KafkaBroker
from lab.tools import ToolServer
from tests.cli.commands.scenarios import People, a_name, until
from tests.cli.history.scenarios import now


class TwoTools(People):
    """kconf with a journal, and kafka-configs.sh and kafka-topics.sh."""

    tools: ToolServer

    def alter(self, topic: str, *words: str) -> None:
        where = ("--alter", "--entity-type", "topics", "--entity-name", topic)
        done = self.tools.kafka_configs(self.bootstrap, *where, *words)
        assert done.returncode == 0, done

    def topic_command(self, *words: str) -> None:
        done = self.tools.kafka_topics(self.bootstrap, *words)
        assert done.returncode == 0, done

    def shows(self, topic: str, **wanted: str) -> None:
        expected = {key.replace("_", "."): value for key, value in wanted.items()}
        until(lambda: self.overrides(f"topic:{topic}"), expected)

    def blamed(self, topic: str, key: str | None) -> dict[str, Any]:
        (found,) = [each for each in self.items(f"blame topic:{topic}") if each["key"] == key]
        return found


@pytest.fixture
def people(kafka_431: KafkaBroker, tools: ToolServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TwoTools:
    found = TwoTools(tmp_path, kafka_431.bootstrap)
    found.tools = tools
    found.add_context("here", journal=str(tmp_path / "journal"))
    monkeypatch.setenv("KCONF_CONFIG", str(found.config))
    monkeypatch.delenv("KCONF_CONTEXT", raising=False)
    return found


def test_a_value_that_another_tool_set_is_not_attributed_to_the_last_recorded_author(people: TwoTools) -> None:
    name = a_name()
    people(f"topic create {name} --partitions 1 --replication-factor 1")
    people(f"set topic:{name} retention.ms=5d --reason 'ticket 12' --allow-data-loss")
    people.shows(name, retention_ms="432000000")
    mine = people.blamed(name, "retention.ms")
    assert (mine["record"], mine["reason"], mine["changed_outside_after"]) == ("matches", "ticket 12", None)
    then = now()
    people.alter(name, "--add-config", "retention.ms=3600000,segment.ms=700000")
    people.shows(name, retention_ms="3600000", segment_ms="700000")

    theirs = people.blamed(name, "retention.ms")
    assert (theirs["value"], theirs["record"]) == ("3600000", "changed_outside")
    assert [theirs[each] for each in ("principal", "os_user", "reason", "time", "revision", "origin")] == [None] * 6
    assert theirs["changed_outside_after"] == mine["time"]
    added = people.blamed(name, "segment.ms")
    made = people.blamed(name, None)
    assert (added["record"], added["changed_outside_after"], added["principal"]) == (
        "changed_outside",
        made["time"],
        None,
    )
    table = people(f"blame topic:{name}").out
    assert "changed outside kconf after" in table
    assert "ticket 12" not in table

    found = people.items(f"diff topic:{name} --from {then}", status=3)
    assert [(each["key"], each["before"], each["after"], each["principal"], each["record"]) for each in found] == [
        ("retention.ms", "432000000", "3600000", None, "changed_outside"),
        ("segment.ms", None, "700000", None, "changed_outside"),
    ]
    assert "changed outside kconf after" in people(f"diff topic:{name} --from {then}", status=3).out
    plan = people.whole(f"rollback topic:{name} --to {then} --dry-run")
    assert [(each["key"], each["op"], each["old"], each["new"]) for each in plan["items"]] == [
        ("retention.ms", "set", "3600000", "432000000"),
        ("segment.ms", "delete", "700000", "604800000"),
    ]
    assert any("retention.ms was changed without being recorded" in each for each in plan["notes"]), plan["notes"]
    people(f"rollback topic:{name} --to {then} --yes")
    people.shows(name, retention_ms="432000000")


def test_unrecorded_values_are_unknown_and_are_not_rolled_back(people: TwoTools) -> None:
    name = a_name()
    people.topic_command("--create", "--topic", name, "--config", "retention.ms=3600000")
    people.shows(name, retention_ms="3600000")
    then = now()
    people.alter(name, "--add-config", "retention.ms=7200000")
    people.shows(name, retention_ms="7200000")

    found = people.blamed(name, "retention.ms")
    assert (found["value"], found["record"], found["principal"]) == ("7200000", "unrecorded", None)
    diff = people.whole(f"diff topic:{name} --from {then}")
    assert (diff["items"], diff["unknown"]) == ([], [f"topic:{name}", f"topic:{name} retention.ms"])
    assert "no differences" not in diff["notes"]
    plan = people.whole(f"rollback topic:{name} --to {then} --dry-run")
    assert (plan["items"], plan["unknown"]) == ([], [f"topic:{name} retention.ms"])
    (note,) = [each for each in plan["notes"] if "whether it changed is unknown" in each]
    assert note.startswith(f"topic:{name} retention.ms has no recorded value before ")


def test_an_override_that_another_tool_removed_is_shown_as_removed(people: TwoTools) -> None:
    name = a_name()
    people(f"topic create {name} --partitions 1 --replication-factor 1 --config retention.ms=5d")
    people.shows(name, retention_ms="432000000")
    then = now()
    people.alter(name, "--delete-config", "retention.ms")
    people.shows(name)

    gone = people.blamed(name, "retention.ms")
    assert (gone["value"], gone["record"], gone["principal"]) == (None, "changed_outside", None)
    assert gone["changed_outside_after"] is not None
    (found,) = people.items(f"diff topic:{name} --from {then}", status=3)
    assert (found["before"], found["after"], found["principal"]) == ("432000000", None, None)
    (planned,) = people.items(f"rollback topic:{name} --to {then} --dry-run --allow-data-loss")
    assert (planned["op"], planned["new"]) == ("set", "432000000")


def test_a_topic_that_another_tool_recreated_has_no_values_of_the_old_one(people: TwoTools) -> None:
    name = a_name()
    people(f"topic create {name} --partitions 1 --replication-factor 1 --config retention.ms=5d")
    people.shows(name, retention_ms="432000000")
    then = now()
    people.topic_command("--delete", "--topic", name)
    with people.admin() as admin:
        until(lambda: name in admin.list_topics(), False)
    people.topic_command("--create", "--topic", name, "--config", "retention.ms=432000000")
    people.shows(name, retention_ms="432000000")

    found = people.blamed(name, "retention.ms")
    assert (found["value"], found["record"], found["principal"]) == ("432000000", "recreated_outside", None)
    assert found["changed_outside_after"] is not None
    plan = people.whole(f"rollback topic:{name} --to {then} --dry-run")
    assert plan["items"] == []
    assert f"topic:{name} was recreated outside kconf; it is not changed" in plan["notes"]


def test_a_credential_that_another_tool_changed_has_no_author_and_its_password_is_not_restored(
    people: TwoTools, tmp_path: Path
) -> None:
    user, word = f"user-{a_name()}", tmp_path / "word"
    word.write_text("first-word\n")
    before = now()
    people(f"scram set --user {user} --password-file {word} --reason 'ticket 7'")
    with people.admin() as admin:
        until(lambda: user in admin.describe_user_scram_credentials(), True)
        then = now()
        secret = "SCRAM-SHA-256=[iterations=8192,password=other-word]"
        where = ("--alter", "--entity-type", "users", "--entity-name", user, "--add-config", secret)
        assert people.tools.kafka_configs(people.bootstrap, *where).returncode == 0
        until(lambda: {each.iterations for each in admin.describe_user_scram_credentials([user])[user]}, {4096, 8192})

    theirs, mine = people.items(f"blame user:{user}")
    assert [(each["record"], each["reason"]) for each in (theirs, mine)] == [
        ("changed_outside", None),
        ("unreadable", "ticket 7"),
    ]
    assert "unless changed outside kconf since" in people(f"blame user:{user}").out
    (found,) = people.items(f"diff user:{user} --from {then}", status=3)
    assert (found["before"], found["after"]) == ("(sensitive), iterations=4096", "(sensitive), iterations=8192")
    (refused,) = people.items(f"rollback user:{user} --to {then} --dry-run", status=1)
    assert (refused["key"], refused["outcome"]) == ("SCRAM-SHA-256", "failed")
    assert "it cannot be restored" in refused["message"]
    planned = people.items(f"rollback user:{user} --to {before} --yes")
    assert [(each["op"], each["new"], each["outcome"]) for each in planned] == [("delete", None, "done")] * 2
