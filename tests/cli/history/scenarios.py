"""History commands: tests/cli/history runs them on kconf, tests/conformance/test_history_commands.py on brokers.

On a broker the context has a `journal:` directory, and only kconf's own changes are recorded.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

from tests.cli.commands.scenarios import People, a_name, until

SECRET = "hunter2-planted"


def now() -> str:
    return datetime.now(UTC).isoformat()


def changes(people: People, line: str) -> list[tuple[Any, ...]]:
    return [(each["key"], each["before"], each["after"]) for each in people.items(f"history {line}")]


def history_tells_what_was_changed_by_whom_and_why(people: People) -> None:
    name = a_name("h")
    people(f"topic create {name} --partitions 1 --replication-factor 1")
    people(f"set topic:{name} segment.ms=1h --reason 'ticket 12'")
    until(lambda: people.overrides(f"topic:{name}"), {"segment.ms": "3600000"})
    middle = now()
    people(f"set topic:{name} segment.ms=2h max.message.bytes=2000000")
    until(lambda: people.overrides(f"topic:{name}").get("segment.ms"), "7200000")
    people(f"unset topic:{name} segment.ms")

    whole = people.whole(f"history topic:{name}")
    made, first, *rest = whole["items"]
    assert (made["op"], made["key"], made["after"]) == ("create", None, "1 partition, 1 replica")
    assert (first["before"], first["after"], first["reason"]) == (None, "3600000", "ticket 12")
    assert first["principal"].startswith("User:")
    assert [(each["key"], each["before"], each["after"]) for each in rest] == [
        ("segment.ms", "3600000", "7200000"),
        ("max.message.bytes", None, "2000000"),
        ("segment.ms", "7200000", None),
    ]
    assert whole["source"] == ("journal" if people.contexts["here"].get("journal") else "feed")
    assert len(changes(people, f"topic:{name} --since {middle}")) == 3
    assert len(changes(people, f"topic:{name} --until {middle}")) == 2
    assert len(changes(people, f"topic:{name} --key max.message.bytes")) == 1
    assert changes(people, f"topic:{name} --last 1") == [("segment.ms", "7200000", None)]
    table = people(f"history topic:{name}").lines
    assert table[0].split()[0] == "TIME"
    assert "ticket 12" in table[2]
    assert "is not a time" in people.whole(f"history topic:{name} --since whenever", status=2)["message"]
    assert people.whole(f"history topic:{name} --source lake", status=2)["message"] == "here has no lake"


def blame_tells_who_set_what_is_set_now(people: People) -> None:
    name = a_name("b")
    people(f"topic create {name} --partitions 1 --replication-factor 1 --config segment.ms=3h")
    people(f"set topic:{name} max.message.bytes=2000000 --reason 'larger orders'")
    until(lambda: len(people.overrides(f"topic:{name}")), 2)

    shape, size, age = people.items(f"blame topic:{name}")

    assert (shape["key"], shape["value"]) == (None, "1 partition, 1 replica")
    assert (size["key"], size["value"], size["reason"]) == ("max.message.bytes", "2000000", "larger orders")
    assert (age["key"], age["value"], age["reason"]) == ("segment.ms", "10800000", None)
    assert age["time"] < size["time"]


def two_times_are_compared(people: People) -> None:
    name = a_name("t")
    people(f"topic create {name} --partitions 1 --replication-factor 1")
    begin = now()
    people(f"set topic:{name} segment.ms=1h")
    until(lambda: people.overrides(f"topic:{name}"), {"segment.ms": "3600000"})
    middle = now()
    people(f"set topic:{name} segment.ms=2h")
    until(lambda: people.overrides(f"topic:{name}"), {"segment.ms": "7200000"})
    people(f"set topic:{name} max.message.bytes=2000000")
    until(lambda: len(people.overrides(f"topic:{name}")), 2)
    people(f"unset topic:{name} max.message.bytes --allow-risk message-size")

    def between(line: str, status: int = 3) -> list[tuple[Any, ...]]:
        found = people.items(f"diff topic:{name} {line}", status=status)
        return [(each["key"], each["before"], each["after"]) for each in found]

    assert between(f"--from {begin}") == [("segment.ms", None, "7200000")]
    assert between(f"--from {begin} --to {middle}") == [("segment.ms", None, "3600000")]
    assert between(f"--from {middle}") == [("segment.ms", "3600000", "7200000")]
    assert between(f"--from {now()}", status=0) == []
    assert "exactly one of" in people.whole(f"diff topic:{name}", status=2)["message"]
    assert "is after" in people.whole(f"diff --from {middle} --to {begin}", status=2)["message"]


def files_and_clusters_are_compared(people: People) -> None:
    """Compares a file with the cluster, and the cluster with itself, where nothing differs."""
    name = a_name("f")
    people(f"topic create {name} --partitions 1 --replication-factor 1 --config segment.ms=3h")
    until(lambda: len(people.overrides(f"topic:{name}")), 1)
    files = people.directory / "files"
    people(f"export topic:{name} --to {files}")
    assert people.items(f"diff -f {files}") == []
    people(f"set topic:{name} segment.ms=4h")
    until(lambda: people.overrides(f"topic:{name}"), {"segment.ms": "14400000"})
    (found,) = people.items(f"diff -f {files}", status=3)
    assert (found["key"], found["old"], found["new"]) == ("segment.ms", "14400000", "10800000")

    people.add_context("there")
    assert people.items(f"diff topic:{name} --against there") == []
    assert "no context" in people.whole(f"diff topic:{name} --against nowhere", status=2)["message"]


def a_rollback_sets_back_what_can_be(people: People) -> None:
    """Restores configs, quotas, ACLs and new credentials, but no changed secrets; creates and deletes no topics."""
    name, user = a_name("r"), a_name("u")
    people(f"topic create {name} --partitions 1 --replication-factor 1 --config segment.ms=3h")
    people(f"quota set --user {user} producer_byte_rate=1MiB")
    (people.directory / "password").write_text(SECRET)
    password = f"--user {user} --password-file {people.directory / 'password'}"
    people(f"scram set {password} --mechanism SCRAM-SHA-256")
    until(lambda: len(people.overrides(f"topic:{name}")), 1)
    until(lambda: len(people.items(f"scram list --user {user}")), 1)
    before = now()
    people(f"set topic:{name} segment.ms=4h max.message.bytes=2000000")
    people(f"quota set --user {user} producer_byte_rate=2MiB consumer_byte_rate=1MiB")
    people(f"acl add --principal User:{user} --operation read --on topic:{name}")
    people(f"scram set {password} --mechanism SCRAM-SHA-256 --mechanism SCRAM-SHA-512")
    people(f"topic create {name}.later --partitions 1 --replication-factor 1")
    until(lambda: len(people.overrides(f"topic:{name}")), 2)
    until(lambda: len(people.items(f"acl list --principal User:{user}")), 1)
    until(lambda: len(people.items(f"quota list --user {user}")), 2)
    until(lambda: len(people.items(f"scram list --user {user}")), 2)
    mine = f"topic:{name}* quota:{user} user:{user} acl:User:{user}"

    dry = people.whole(f"rollback {mine} --to {before} --dry-run", status=1)
    found = {(each["key"], each["new"], each["outcome"]) for each in dry["items"] if each["error"] is None}
    assert found == {
        ("segment.ms", "10800000", "dry run"),
        ("max.message.bytes", "1048588", "dry run"),
        ("producer_byte_rate", "1048576", "dry run"),
        ("consumer_byte_rate", None, "dry run"),
        (f"allow User:{user} read", None, "dry run"),
        ("SCRAM-SHA-512", None, "dry run"),
    }, found
    (refused,) = [each for each in dry["items"] if each["error"] is not None]
    assert (refused["resource"], refused["key"]) == (f"user:{user}", "SCRAM-SHA-256")
    assert refused["message"].startswith("SCRAM-SHA-256 is a secret, and its earlier value is not recorded")
    assert f"topic:{name}.later has been created since then; a rollback does not delete it" in dry["notes"]
    assert people.whole(f"rollback topic:{name} --to {before}", status=2)["error"] == "NOT_DONE"

    people(f"rollback {mine} --to {before} --yes --allow-risk message-size --reason 'undo it'", status=1)

    until(lambda: people.overrides(f"topic:{name}"), {"segment.ms": "10800000"})
    until(lambda: people.items(f"acl list --principal User:{user}"), [])
    until(lambda: [each["mechanism"] for each in people.items(f"scram list --user {user}")], ["SCRAM-SHA-256"])
    until(
        lambda: [(each["key"], each["value"]) for each in people.items(f"quota list --user {user}")],
        [("producer_byte_rate", "1048576")],
    )
    assert people.items(f"history topic:{name} --last 1")[0]["reason"] == "undo it"
    again = people.whole(f"rollback topic:{name} --to {before}")
    assert again["items"] == []
    assert any(each.startswith("nothing to roll back") for each in again["notes"])
    assert SECRET not in str(people.whole(f"history user:{user}"))


def a_name_that_nothing_has_is_refused(people: People) -> None:
    """A misspelled name is an error, not "no differences". A deleted topic is in the record, and a note says so."""
    name = a_name("n")
    people(f"topic create {name} --partitions 1 --replication-factor 1 --config segment.ms=3h")
    people.overrides(f"topic:{name}")
    wrong = f"topic:{name}x"
    for words in (f"history {wrong}", f"blame {wrong}", f"diff {wrong} --from 1h", f"rollback {wrong} --to 1h"):
        refused = people.whole(words, status=1)
        assert refused["error"] == "UNKNOWN_TOPIC_OR_PARTITION", words
        assert f"did you mean topic:{name}?" in refused["message"], words
    assert "matches nothing" in people.whole(f"diff topic:{name}x* --from 1h", status=2)["message"]
    assert "did you mean" in people.whole(f"diff {wrong} --against here", status=1)["message"]
    assert "is not on the cluster" in people.whole(f"export {wrong}", status=1)["message"]
    assert people.whole(f"blame user:{name}", status=1)["error"] == "RESOURCE_NOT_FOUND"
    assert people.whole("blame broker:77", status=1)["message"].endswith("the brokers are 1")

    then = now()
    people(f"topic delete {name} --yes --allow-data-loss")
    with people.admin() as admin:
        until(lambda: name in admin.list_topics(), False)
    gone = people.items(f"diff topic:{name} --from {then}", status=3)
    assert [(each["key"], each["before"], each["after"]) for each in gone][:1] == [
        (None, "1 partition, 1 replica", None)
    ]
    for words in (f"blame topic:{name}", f"diff topic:{name} --from 2020-01-01"):
        notes = people.whole(words)["notes"]
        assert any(each.startswith(f"topic:{name} does not exist now: it was deleted at") for each in notes), notes


SCENARIOS = (
    a_name_that_nothing_has_is_refused,
    history_tells_what_was_changed_by_whom_and_why,
    blame_tells_who_set_what_is_set_now,
    two_times_are_compared,
    files_and_clusters_are_compared,
    a_rollback_sets_back_what_can_be,
)


def a_watch_tells_changes_as_they_come(people: People, *more: str) -> list[dict[str, Any]]:
    """Runs in its own process, which ends after the second change."""
    name = a_name("w")
    people(f"topic create {name} --partitions 1 --replication-factor 1")
    until(lambda: people.overrides(f"topic:{name}"), {})
    words = ["watch", f"topic:{name}", "--count", "2", "--output", "json", *more]
    environment = {**os.environ, "KCONF_CONFIG": str(people.config)}
    watch = subprocess.Popen(
        [sys.executable, "-m", "kconf", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert watch.stdout is not None
    assert watch.stderr is not None
    try:
        assert watch.stderr.readline()  # it has started and prints the source
        people(f"set topic:{name} segment.ms=1h")
        first = watch.stdout.readline()
        people(f"set topic:{name} segment.ms=2h")
        lines = [json.loads(first), json.loads(watch.stdout.readline())]
        assert watch.wait(60) == 0
    finally:
        watch.kill()
        watch.wait()
        watch.stdout.close()
        watch.stderr.close()
    assert [(each["key"], each["before"], each["after"]) for each in lines] == [
        ("segment.ms", None, "3600000"),
        ("segment.ms", "3600000", "7200000"),
    ]
    return lines
