"""Scenarios for the commands: tests/cli/commands runs them on kconf, tests/conformance/test_commands.py on brokers.

Each scenario uses its own topics and users, and leaves nothing that could affect another.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import yaml

from kconf import NewTopic, Resource, SyncAdminClient
from kconf.cli.main import main
from kconf.client.contexts.config_providers import client_properties
from kconf.client.contexts.context import Context
from tests.cli.conftest import Ran, run_in_process


class People:
    """Runs kconf in this process, on the cluster of the current context. `admin` checks the results."""

    def __init__(self, directory: Path, bootstrap: str, properties: Mapping[str, str] | None = None) -> None:
        self.directory, self.bootstrap, self.properties = directory, bootstrap, dict(properties or {})
        self.config = directory / "config.yaml"
        self.contexts: dict[str, dict[str, Any]] = {}
        self.add_context("here")

    def add_context(self, name: str, **fields: Any) -> None:
        properties = {"properties": self.properties} if self.properties else {}
        self.contexts[name] = {"bootstrap": self.bootstrap, **properties, **fields}
        self.config.write_text(yaml.safe_dump({"version": 1, "current": "here", "contexts": self.contexts}))
        self.config.chmod(0o600)

    def admin(self) -> SyncAdminClient:
        here = Context("here", self.bootstrap, properties=self.properties)
        return SyncAdminClient.from_properties(client_properties(here), self.bootstrap)

    def __call__(self, line: str, *more: str, status: int = 0) -> Ran:
        ran = run_in_process(main, [*shlex.split(line), *more])
        assert ran.status == status, (line, ran)
        return ran

    def whole(self, line: str, *, status: int = 0) -> dict[str, Any]:
        """The JSON output of a command."""
        found: dict[str, Any] = json.loads(self(line, "--output", "json", status=status).out)
        assert (found["version"], list(found)[-4:]) == (1, ["items", "notes", "error", "message"])
        assert all(list(each)[-2:] == ["error", "message"] for each in found["items"])
        return found

    def items(self, line: str, *, status: int = 0) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.whole(line, status=status)["items"]
        return found

    def topics(self, *names: str, partitions: int = 1, configs: Sequence[tuple[str, str]] = ()) -> None:
        with self.admin() as admin:
            requests = [NewTopic(name, partitions, 1, configs=configs) for name in names]
            admin.create_topics(requests).raise_for_failures()
            until(lambda: set(names) <= set(admin.list_topics()), True)

    def overrides(self, word: str) -> dict[str, str]:
        """The overrides of a resource, as `describe` prints them."""
        return {each["key"]: each["value"] for each in self.items(f"describe {word}")}


def until(found: Callable[[], object], wanted: object) -> None:
    """Wait: a broker learns of a change after the controller has responded."""
    ends = time.monotonic() + 60
    while (last := found()) != wanted:
        assert time.monotonic() < ends, last
        time.sleep(0.05)


def a_name(kind: str = "t") -> str:
    return f"{kind}-{uuid4().hex[:10]}"


def one_topic_is_changed_at_once(people: People) -> None:
    """Set with units, describe, append to a list, unset; each output has old and new values."""
    name = a_name()
    people.topics(name)
    assert "has no configs set" in people(f"describe topic:{name}").err

    (done, size) = people.items(f"set topic:{name} retention.ms=8d segment.bytes=256MiB --reason 'ticket 12'")

    assert (done["key"], done["new"], done["source"], done["outcome"]) == (
        "retention.ms",
        "691200000",
        "default",
        "done",
    )
    assert (size["old"], size["new"], size["data_loss"]) == ("1073741824", "268435456", None)
    until(lambda: people.overrides(f"topic:{name}"), {"retention.ms": "691200000", "segment.bytes": "268435456"})
    table = people(f"describe topic:{name}").lines
    assert [line.split()[:3] for line in table[1:]] == [
        ["retention.ms", "8d", "topic"],
        ["segment.bytes", "256MiB", "topic"],
    ]

    people(f"append topic:{name} cleanup.policy=compact --allow-risk data-loss,compaction")
    until(lambda: people.overrides(f"topic:{name}").get("cleanup.policy"), "delete,compact")
    people(f"subtract topic:{name} cleanup.policy=compact")
    until(lambda: people.overrides(f"topic:{name}").get("cleanup.policy"), "delete")
    (gone,) = people.items(f"unset topic:{name} segment.bytes")
    assert (gone["op"], gone["old"], gone["new"]) == ("delete", "268435456", "1073741824")
    until(lambda: "segment.bytes" in people.overrides(f"topic:{name}"), False)
    (same,) = people.items(f"set topic:{name} retention.ms=192h")
    assert same["outcome"] == "unchanged"
    nothing = people.whole(f"unset topic:{name} retention.mss")
    assert (nothing["items"][0]["outcome"], len(nothing["notes"])) == ("unchanged", 1)


def a_dry_run_changes_nothing(people: People) -> None:
    name = a_name()
    people.topics(name)

    whole = people.whole(f"set topic:{name} segment.ms=1h --dry-run")
    bad = people.whole(f"set topic:{name} segment.bytes=13 --dry-run", status=1)

    assert (whole["dry_run"], whole["validated"], whole["items"][0]["outcome"]) == (True, True, "dry run")
    assert (bad["items"][0]["error"], bad["items"][0]["outcome"]) == ("INVALID_CONFIG", "failed")
    assert people.overrides(f"topic:{name}") == {}


def what_may_delete_data_needs_a_word(people: People) -> None:
    """Shorter retention and adding `delete` need an option; longer retention does not."""
    name = a_name()
    people.topics(name, configs=[("cleanup.policy", "compact")])

    for requested in ("retention.ms=1h", "retention.bytes=1GiB", "cleanup.policy=delete"):
        refused = people.whole(f"set topic:{name} {requested}", status=2)
        assert refused["error"] == "NOT_DONE"
        assert "--allow-data-loss" in refused["message"]
        assert [each["outcome"] for each in refused["items"]] == ["not done"]
        assert "! may delete data" in people(f"set topic:{name} {requested} --dry-run").out
    assert people.overrides(f"topic:{name}") == {"cleanup.policy": "compact"}
    people(f"set topic:{name} retention.ms=unlimited")
    people(f"set topic:{name} retention.ms=1h --allow-data-loss")
    until(lambda: people.overrides(f"topic:{name}")["retention.ms"], "3600000")


def a_risk_is_taken_only_by_its_name(people: People) -> None:
    """For a topic, for a default that topics inherit, and for a new topic; messages name the topics and values."""
    name, own = a_name(), a_name()
    people.topics(name)
    people.topics(own, configs=[("min.insync.replicas", "1")])

    for requested, risk, why in (
        ("min.insync.replicas=2", "min-insync-replicas", "2 replicas must be in sync and the topic has 1 replica"),
        ("unclean.leader.election.enable=true", "unclean-leader-election", "drop acknowledged records"),
        ("max.message.bytes=1000", "message-size", "the current limit is 1048588"),
        ("message.timestamp.before.max.ms=1h", "message-timestamps", "older than 1h"),
    ):
        refused = people.whole(f"set topic:{name} {requested} --allow-data-loss", status=2)
        assert (refused["error"], f"--allow-risk {risk}" in refused["message"]) == ("NOT_DONE", True), refused
        ((found,),) = [each["risks"] for each in refused["items"]]
        assert (found["name"], why in found["why"]) == (risk, True), found
        assert f"! {risk}: " in people(f"set topic:{name} {requested} --dry-run").out
    (compact,) = people.items(f"set topic:{name} cleanup.policy=compact --dry-run")
    assert [each["name"] for each in compact["risks"]] == ["data-loss", "compaction"]

    default = people.items("set broker:default min.insync.replicas=2 log.cleanup.policy=compact --dry-run")
    by_key = {each["key"]: {risk["name"]: risk["why"] for risk in each["risks"]} for each in default}
    assert " the value: " in by_key["min.insync.replicas"]["min-insync-replicas"]
    assert " the value: " in by_key["log.cleanup.policy"]["compaction"]
    (shut,) = people.items("set broker:default max.connections.per.ip.overrides=localhost:0 --dry-run")
    assert [each["name"] for each in shut["risks"]] == ["lockout"]
    new = f"topic create {name}.new --partitions 1 --replication-factor 1 --config min.insync.replicas=2"
    assert "--allow-risk min-insync-replicas" in people.whole(new, status=2)["message"]

    people(
        f"set topic:{name} min.insync.replicas=2 max.message.bytes=1000 --allow-risk min-insync-replicas,message-size"
    )
    until(lambda: people.overrides(f"topic:{name}").get("min.insync.replicas"), "2")
    people(f"unset topic:{name} min.insync.replicas max.message.bytes")
    until(lambda: people.overrides(f"topic:{name}"), {})


def a_pattern_is_asked_about(people: People) -> None:
    """Without a terminal, nothing is changed unless --yes is given, for a glob, a regular expression or a file."""
    prefix = a_name("p")
    names = [f"{prefix}.a", f"{prefix}.b"]
    people.topics(*names)
    file = people.directory / "names.txt"
    file.write_text("# two of them\n" + "\n".join(names) + "\n")

    for word in (f"topic:{prefix}.*", f"topic:/^{prefix}/", f"topic:@{file}", f"topic:{names[0]} topic:{names[1]}"):
        refused = people.whole(f"set {word} segment.ms=1h", status=2)
        assert (refused["error"], len(refused["items"])) == ("NOT_DONE", 2)
        assert "--yes" in refused["message"]
        done = people.items(f"set {word} segment.ms=2h --yes")
        assert [(each["resource"], each["error"]) for each in done] == [(f"topic:{each}", None) for each in names]
        people(f"unset {word} segment.ms --yes")
        until(lambda: [people.overrides(f"topic:{each}") for each in names], [{}, {}])
    nothing = people.whole(f"set topic:{prefix}-none* segment.ms=1h --yes", status=2)
    assert "matches nothing" in nothing["message"]


def one_failure_leaves_the_others_alone(people: People) -> None:
    name, missing = a_name(), a_name("missing")
    people.topics(name)

    found = people.items(f"set topic:{name} topic:{missing} segment.ms=1h --yes", status=1)

    assert {each["resource"]: each["error"] for each in found} == {
        f"topic:{name}": None,
        f"topic:{missing}": "UNKNOWN_TOPIC_OR_PARTITION",
    }
    until(lambda: people.overrides(f"topic:{name}"), {"segment.ms": "3600000"})
    told = people(f"describe topic:{name} topic:{missing}", status=1)
    assert "1h" in told.out
    assert told.err.startswith(f"topic:{missing}: ")


def brokers_are_described_with_how_a_key_may_be_changed(people: People) -> None:
    modes = {each["key"]: each["update"] for each in people.items("describe broker:1 --all")}
    assert (modes["log.retention.ms"], modes["ssl.keystore.location"], modes["node.id"]) == (
        "cluster-wide",
        "per-broker",
        "read-only",
    )
    people("set broker:default log.cleaner.backoff.ms=16s", status=2)
    people("set broker:default log.cleaner.backoff.ms=16s --yes")
    until(lambda: people.overrides("broker:default").get("log.cleaner.backoff.ms"), "16000")
    (entry,) = people.items("describe 'broker:*' --key log.cleaner.backoff.ms")
    assert (entry["resource"], entry["value"], entry["source"]) == ("broker:1", "16000", "default broker")
    people("unset broker:default log.cleaner.backoff.ms --yes")
    until(lambda: people.overrides("broker:default"), {})


def topics_are_made_grown_and_deleted(people: People) -> None:
    name = a_name()

    people(f"topic create {name} --partitions 2 --replication-factor 1 --config retention.ms=3d --dry-run")
    (made,) = people.items(f"topic create {name} --partitions 2 --replication-factor 1 --config retention.ms=3d")
    assert (made["partitions"], made["replication_factor"], made["outcome"]) == (2, 1, "done")
    until(lambda: name in people("topic list").out, True)
    again = people.items(f"topic create {name} --partitions 2", status=1)
    assert again[0]["error"] == "TOPIC_ALREADY_EXISTS"
    until(lambda: people.overrides(f"topic:{name}"), {"retention.ms": "259200000"})
    people(f"topic grow {name} --by 3")
    until(lambda: [each["partitions"] for each in people.items(f"topic list {name} --long")], [5])
    assert people.items(f"topic grow {name} --partitions 2", status=1)[0]["error"] == "INVALID_PARTITIONS"
    assert people.whole(f"topic delete {name}", status=2)["error"] == "NOT_DONE"
    assert people.items(f"topic delete {name} --dry-run")[0]["outcome"] == "dry run"
    people(f"topic delete {name} --allow-data-loss")
    until(lambda: name in people("topic list").out, False)
    assert people.items(f"topic delete {name} --allow-data-loss", status=1)[0]["error"] == "UNKNOWN_TOPIC_OR_PARTITION"


def credentials_are_set_listed_and_deleted(people: People) -> None:
    user = a_name("u")
    file = people.directory / "password"
    file.write_text("p ssword\n")

    (done,) = people.items(f"scram set --user {user} --mechanism SCRAM-SHA-512 --password-file {file}")
    assert (done["resource"], done["key"], done["old"]) == (f"user:{user}", "SCRAM-SHA-512", None)
    people(f"scram set --user {user} --mechanism SCRAM-SHA-256 --password-command 'echo other' --iterations 8192")
    until(
        lambda: [(each["mechanism"], each["iterations"]) for each in people.items(f"scram list --user {user}")],
        [("SCRAM-SHA-256", 8192), ("SCRAM-SHA-512", 4096)],
    )
    again = people.whole(f"scram set --user {user} --password-command 'echo third'")
    assert [(each["key"], each["new"]) for each in again["items"]] == [
        ("SCRAM-SHA-256", "[hidden], iterations=8192"),
        ("SCRAM-SHA-512", "[hidden], iterations=4096"),
    ]
    only = people.whole(f"scram set --user {user} --mechanism SCRAM-SHA-256 --password-command 'echo fourth'")
    assert only["notes"] == [f"{user} can still log in with SCRAM-SHA-512 and the old password"]
    few = people.whole(f"scram set --user {user} --iterations 0 --password-command 'echo x'", status=2)
    assert few["message"] == "--iterations must be 4096 to 16384, not 0"
    people(f"scram delete --user {user} --mechanism SCRAM-SHA-512")
    until(lambda: len(people.items(f"scram list --user {user}")), 1)
    people(f"scram set --user {user} --password-command 'echo fifth'")
    until(
        lambda: [(each["mechanism"], each["iterations"]) for each in people.items(f"scram list --user {user}")],
        [("SCRAM-SHA-256", 8192)],
    )
    people(f"scram delete --user {user}")
    until(lambda: people(f"scram list --user {user} --output json", status=1).status, 1)
    assert people.items(f"scram delete --user {user}", status=1)[0]["error"] == "RESOURCE_NOT_FOUND"


def rules_of_the_context_hold_on_any_cluster(people: People) -> None:
    name = a_name()
    people.topics(name)
    policy = people.directory / "policy.yaml"
    policy.write_text(
        "rules:\n"
        "  - {id: short, selector: 'topic:*', key: segment.ms, condition: {min: 1h}, message: too short}\n"
        "  - {id: few, selector: 'topic:*', key: partitions, condition: {max: 3}}\n"
        "  - {id: odd, selector: 'topic:*', key: segment.bytes, condition: {min: 2MiB}, severity: warn}\n"
        "  - {id: clean, selector: topic, forbid: [unclean-leader-election, message-size]}\n"
        f"  - {{id: mine, selector: 'topic:{name}', allow: message-size}}\n"
    )
    people.add_context("ruled", policy=str(policy))

    refused = people.items(f"set topic:{name} segment.ms=1m -C ruled", status=1)
    assert refused[0]["error"] == "POLICY_VIOLATION"
    assert "too short" in refused[0]["message"]
    assert (
        people.items(f"set topic:{name} segment.ms=1m -C ruled --dry-run", status=1)[0]["error"] == "POLICY_VIOLATION"
    )
    warned = people.whole(f"set topic:{name} segment.bytes=1MiB -C ruled")
    assert "warning" in warned["notes"][0]
    many = people.items(f"topic create {a_name()} --partitions 4 --replication-factor 1 -C ruled", status=1)
    assert many[0]["error"] == "POLICY_VIOLATION"
    assert people.items(f"topic grow {name} --partitions 4 -C ruled", status=1)[0]["error"] == "POLICY_VIOLATION"
    default = people.items("set broker:default log.roll.ms=1m -C ruled --dry-run", status=1)
    assert default[0]["error"] == "POLICY_VIOLATION"
    assert "topics without an override inherit this value from brokers: too short" in default[0]["message"]
    unclean = f"set topic:{name} unclean.leader.election.enable=true -C ruled --dry-run"
    forbidden = people.items(f"{unclean} --allow-risk unclean-leader-election", status=1)
    assert "unclean-leader-election is forbidden" in forbidden[0]["message"]
    assert people.items("set broker:default unclean.leader.election.enable=true -C ruled --dry-run", status=1)
    people(f"set topic:{name} max.message.bytes=1MB -C ruled")
    people(f"unset topic:{name} max.message.bytes -C ruled")
    people(f"topic grow {name} --partitions 3 -C ruled")
    people(f"set topic:{name} segment.ms=1m")
    until(lambda: people.overrides(f"topic:{name}"), {"segment.ms": "60000", "segment.bytes": "1048576"})


def read_only_and_protected_contexts_are_safe(people: People) -> None:
    name = a_name()
    people.topics(name)
    people.add_context("archive", read_only=True, bootstrap="127.0.0.1:1")  # nothing listens there: it must not connect
    people.add_context("prod", protected=True)

    for line in (
        f"set topic:{name} segment.ms=1h",
        f"topic create {a_name()}",
        f"topic delete {name} --allow-data-loss",
        "scram delete --user nobody",
        "acl add --principal User:x --operation read --on topic:y",
    ):
        refused = people.whole(f"{line} -C archive", status=2)
        assert "read-only" in refused["message"]
    for extra in ("", "--yes", "--confirm here"):
        people(f"set topic:{name} segment.ms=1h -C prod {extra}", status=2)
    assert people.overrides(f"topic:{name}") == {}
    people(f"set topic:{name} segment.ms=1h -C prod --confirm prod")
    until(lambda: people.overrides(f"topic:{name}"), {"segment.ms": "3600000"})


def many_topics_in_one_command(people: People) -> None:
    """A thousand topics in batches; completed ones are recorded, and a second command skips them."""
    prefix = a_name("m")
    names = [f"{prefix}.{number:04}" for number in range(1000)]
    people.topics(*names)
    done = people.directory / f"{prefix}.done"

    first = people.items(f"set topic:{prefix}.00* segment.ms=1h --yes --resume {done}")
    assert len(first) == 100
    assert len(done.read_text().splitlines()) == 101
    until(lambda: people.overrides(f"topic:{prefix}.0099"), {"segment.ms": "3600000"})
    second = people.items(f"set topic:{prefix}.* segment.ms=1h --yes --resume {done}")
    assert len(second) == 1000
    assert sum(each["outcome"] == "done" for each in second) == 900
    another = people.whole(f"set topic:{prefix}.* segment.ms=2h --yes --resume {done}", status=2)
    assert "another command" in another["message"]
    with people.admin() as admin:
        resources = [Resource.topic(each) for each in names]
        keys = {each: ["segment.ms"] for each in resources}

        def values() -> set[str | None]:
            found = admin.describe_configs(resources, keys=keys)
            return {found[each]["segment.ms"].value for each in resources}

        until(values, {"3600000"})


def groups_and_client_metrics_are_changed_too(people: People) -> None:
    group, metrics = a_name("g"), a_name("cm")
    people(f"set group:{group} consumer.session.timeout.ms=50s")
    people(f"set client-metrics:{metrics} interval.ms=30s")
    until(lambda: people.overrides(f"group:{group}"), {"consumer.session.timeout.ms": "50000"})
    until(lambda: people.overrides(f"client-metrics:{metrics}"), {"interval.ms": "30000"})
    people(f"unset group:{group} consumer.session.timeout.ms")
    people(f"unset client-metrics:{metrics} interval.ms")


def loggers_are_told_and_set(people: People) -> None:
    name = next(each["key"] for each in people.items("describe broker-logger:1") if each["key"] != "root")
    (done,) = people.items(f"set broker-logger:1 {name}=ERROR")
    assert (done["new"], done["outcome"]) == ("ERROR", "done")
    until(lambda: people.overrides("broker-logger:1")[name], "ERROR")
    people(f"unset broker-logger:1 {name}")
    until(lambda: people.overrides("broker-logger:1").get(name) != "ERROR", True)
    assert people.items("set broker-logger:1 no.such.logger=INFO", status=1)[0]["error"] == "INVALID_CONFIG"


def topics_are_found_by_value(people: People) -> None:
    """Effective values with units; all conditions must hold; a misspelled key is an error, not an empty result."""
    one = a_name()
    people.topics(f"{one}.short", configs=[("retention.ms", "3600000")])
    people.topics(f"{one}.long", configs=[("retention.ms", "3456000000"), ("cleanup.policy", "compact,delete")])
    people.topics(f"{one}.forever", configs=[("retention.ms", "-1")], partitions=3)
    people.topics(f"{one}.plain")
    until(lambda: len(people.items(f"describe 'topic:{one}.*' --key retention.ms")), 4)

    def found(*conditions: str, status: int = 0) -> list[str]:
        where = " ".join(f"--where '{each}'" for each in conditions)
        return [e["topic"].rpartition(".")[2] for e in people.items(f"topic list '{one}.*' {where}", status=status)]

    assert found("retention.ms>30d") == ["forever", "long"]
    assert found("retention.ms <= 7d") == ["plain", "short"]
    assert found("retention.ms=unlimited") == ["forever"]
    assert found("retention.ms>30d", "partitions<3") == ["long"]
    assert found("cleanup.policy=delete,compact") == ["long"]
    assert found("cleanup.policy!=delete") == ["long"]
    assert found("replication-factor>1") == []
    table = people(f"topic list '{one}.*' --where 'retention.ms>30d'").lines
    assert [line.split() for line in table] == [
        ["TOPIC", "PARTITIONS", "REPLICAS", "retention.ms", "INTERNAL"],
        [f"{one}.forever", "3", "1", "unlimited"],
        [f"{one}.long", "1", "1", "40d"],
    ]
    described = people.items(f"describe 'topic:{one}.*' --where 'retention.ms<=7d'")
    assert [(e["resource"].rpartition(".")[2], e["key"], e["source"]) for e in described] == [
        ("plain", "retention.ms", "default"),
        ("short", "retention.ms", "topic"),
    ]
    typo = people.whole(f"topic list '{one}.*' --where 'log.retention.ms>1d'", status=2)
    assert typo["message"] == "--where: log.retention.ms is not a key of a topic; did you mean retention.ms?"
    wrong = people.whole(f"describe 'topic:{one}.*' --key retention.mss --key segment.ms", status=1)
    assert [e["error"] for e in wrong["items"]] == ["INVALID_CONFIG", None, None, None, None]
    assert wrong["notes"] == ["retention.mss: did you mean retention.ms?"]


SCENARIOS: Sequence[Callable[[People], None]] = (
    one_topic_is_changed_at_once,
    a_dry_run_changes_nothing,
    what_may_delete_data_needs_a_word,
    a_risk_is_taken_only_by_its_name,
    a_pattern_is_asked_about,
    one_failure_leaves_the_others_alone,
    brokers_are_described_with_how_a_key_may_be_changed,
    topics_are_made_grown_and_deleted,
    credentials_are_set_listed_and_deleted,
    rules_of_the_context_hold_on_any_cluster,
    read_only_and_protected_contexts_are_safe,
    many_topics_in_one_command,
    groups_and_client_metrics_are_changed_too,
    loggers_are_told_and_set,
    topics_are_found_by_value,
)


def _who_can_is_answered_from_all_acls_that_match(people: People, user: str, topic: str) -> None:
    """A name matches literal, prefixed and wildcard ACLs."""
    other, denied = f"User:{a_name('u')}", f"User:{a_name('u')}"
    people(f"acl add --principal {other} --operation read --on 'topic:*'")
    people(f"acl add --principal {other} --operation all --on topic:{topic} --host 10.0.0.1 --deny")
    people(f"acl add --principal {denied} --operation read --on topic:{topic}")
    people(f"acl add --principal {denied} --operation read --on 'topic:*' --deny")
    named = {user, other, denied}
    until(lambda: len([e for e in people.items(f"acl list --on topic:{topic}") if e["principal"] in named]), 7)
    assert {e["principal"] for e in people.items(f"acl list --on topic:{topic}-eu")} & named == named

    answer = people.whole(f"acl who-can READ topic:{topic}")
    found = {e["principal"]: (e["host"], e["except"], e["through"]) for e in answer["items"] if e["principal"] in named}
    assert found == {
        user: ("*", [], [f"read on topic:{topic}"]),
        other: ("*", ["10.0.0.1"], ["read on topic:*"]),
    }
    assert (answer["operation"], answer["super_users"]) == ("read", None)
    assert "super users are allowed too" in answer["notes"][-1]
    assert "is a pattern" in people.whole("acl who-can read 'topic:a*'", status=2)["message"]
    assert "not an operation of a topic" in people.whole("acl who-can all topic:a", status=2)["message"]
    for each in (other, denied):
        people(f"acl delete --principal {each} --yes")


def rights_are_added_listed_and_deleted(people: People) -> None:
    """On a cluster with an authorizer."""
    user, topic = f"User:{a_name('u')}", a_name()

    dry = people.whole(f"acl add --principal {user} --operation read,write --on topic:{topic} --dry-run")
    assert [each["outcome"] for each in dry["items"]] == ["dry run", "dry run"]
    people(f"acl add --principal {user} --operation read,write --on topic:{topic}")
    people(f"acl add --principal {user} --operation describe-configs --on 'topic:{topic}*' --host 10.0.0.1 --deny")
    until(
        lambda: [
            (each["resource"], each["pattern"], each["operation"], each["permission"], each["host"])
            for each in people.items(f"acl list --principal {user}")
        ],
        [
            (f"topic:{topic}", "literal", "read", "allow", "*"),
            (f"topic:{topic}", "literal", "write", "allow", "*"),
            (f"topic:{topic}*", "prefixed", "describe-configs", "deny", "10.0.0.1"),
        ],
    )
    _who_can_is_answered_from_all_acls_that_match(people, user, topic)
    (again,) = people.items(f"acl add --principal {user} --operation read --on topic:{topic}")
    assert again["outcome"] == "unchanged"
    people(f"acl delete --principal {user} --operation write")
    until(lambda: len(people.items(f"acl list --principal {user}")), 2)
    assert people.whole(f"acl delete --principal {user}", status=2)["error"] == "NOT_DONE"
    people(f"acl delete --principal {user} --yes")
    until(lambda: people.items(f"acl list --principal {user}"), [])
    assert "every ACL" in people.whole("acl delete --yes", status=2)["message"]
