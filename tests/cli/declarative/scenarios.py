"""Scenarios for declarative files: tests/cli/declarative runs them on kconf, tests/conformance on brokers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

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
    SyncAdminClient,
    scram_upsertion,
)
from kconf.cli.main import main
from tests.cli.commands.scenarios import People, a_name, until
from tests.cli.conftest import run_in_process

SECRET = "hunter2-planted"


class Furnished:
    """A few resources of each type with their own names, and files in a directory."""

    def __init__(self, people: People) -> None:
        self.people = people
        self.name = a_name("d")
        self.topic, self.user = f"{self.name}.orders", f"{self.name}-user"
        self.files = people.directory / "files"
        with people.admin() as admin:
            self._make(admin)

    def _make(self, admin: SyncAdminClient) -> None:
        configs = [("retention.ms", "864000000"), ("cleanup.policy", "compact,delete")]
        admin.create_topics([NewTopic(self.topic, 3, 1, configs=configs)]).raise_for_failures()
        entity = QuotaEntity.of({"user": self.user, "client-id": None})
        admin.alter_client_quotas({entity: {"producer_byte_rate": 1048576.0}}).raise_for_failures()
        admin.alter_user_scram_credentials(
            [scram_upsertion(self.user, Mechanism.SCRAM_SHA_512, SECRET)]
        ).raise_for_failures()
        self.acl = AclBinding(AclType.TOPIC, self.topic, f"User:{self.user}", Operation.READ)
        admin.create_acls([self.acl]).raise_for_failures()
        until(lambda: self.topic in admin.list_topics(), True)
        until(lambda: admin.describe_acls(self.acl.filter()), [self.acl])
        until(lambda: self.user in admin.describe_user_scram_credentials(), True)
        until(lambda: entity in admin.describe_client_quotas(), True)

    def export(self) -> None:
        mine = f"topic:{self.name}.* quota:{self.user} user:{self.user} acl:User:{self.user}"
        self.people(f"export {mine} --to {self.files} --force")

    def write(self, name: str, text: str) -> None:
        self.files.mkdir(exist_ok=True)
        (self.files / name).write_text(text)

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.files / name).read_text()
        assert old in text, text
        (self.files / name).write_text(text.replace(old, new))


def differing(people: People, line: str) -> list[tuple[str, str | None, str | None]]:
    return [(each["resource"], each["key"], each["new"]) for each in people.items(line, status=3)]


def an_export_leaves_nothing_to_plan(people: People) -> None:
    """For a part of the cluster and for all of it, also with every `--prune` option."""
    furnished = Furnished(people)
    furnished.export()
    everything = people.directory / "everything"
    people(f"export --to {everything}")

    assert sorted(each.name for each in furnished.files.iterdir()) == [
        "acls.yaml",
        "quotas.yaml",
        "topics.yaml",
        "users.yaml",
    ]
    assert "retention.ms: 10d" in (furnished.files / "topics.yaml").read_text()
    assert people.items(f"plan -f {furnished.files}") == []
    assert people.items(f"plan -f {everything}") == []
    (everything / "own.yaml").write_text("selector: [topic, broker, group, client-metrics, quota, user, acl]")
    assert people.items(f"plan -f {everything} --prune=topics,users,acls,quotas") == []
    refused = people.whole(f"export --to {everything}", status=2)
    assert "--force" in refused["message"]


def files_are_planned_and_applied(people: People) -> None:
    """Create and change topics, add partitions, create a user, a quota and an ACL; then nothing is left to do."""
    furnished = Furnished(people)
    furnished.export()
    furnished.edit("topics.yaml", "partitions: 3", "partitions: 5")
    furnished.edit("topics.yaml", "retention.ms: 10d", "retention.ms: 30d")
    furnished.write(
        "more.yaml",
        f"""
topics:
  {furnished.name}.new: {{partitions: 2, replication: 1, configs: {{retention.ms: 9d}}}}
users:
  {furnished.user}2:
    SCRAM-SHA-256: {{passwordFrom: {{env: KCONF_TEST_PASSWORD}}}}
quotas:
- user: {furnished.user}2
  limits: {{request_percentage: 12.5}}
acls:
- {{principal: "User:{furnished.user}2", resource: "group:{furnished.name}", pattern: prefixed, operations: [READ]}}
""",
    )

    assert differing(people, f"plan -f {furnished.files}") == [
        (f"topic:{furnished.name}.new", None, "2 partitions, 1 replica, retention.ms=777600000"),
        (f"topic:{furnished.topic}", None, "5 partitions, 1 replica"),
        (f"topic:{furnished.topic}", "retention.ms", "2592000000"),
        (f'quota:{{"user":"{furnished.user}2"}}', "request_percentage", "12.5"),
        (f"user:{furnished.user}2", "SCRAM-SHA-256", "iterations=4096"),
        (f"acl:group:{furnished.name}*", f"allow User:{furnished.user}2 read", ""),
    ]
    assert "KCONF_TEST_PASSWORD" in people.whole(f"apply -f {furnished.files} --yes", status=2)["message"]
    os.environ["KCONF_TEST_PASSWORD"] = SECRET
    try:
        assert people.whole(f"apply -f {furnished.files}", status=2)["error"] == "NOT_DONE"
        done = people.items(f"apply -f {furnished.files} --yes")
    finally:
        del os.environ["KCONF_TEST_PASSWORD"]
    assert {each["outcome"] for each in done} == {"done"}
    until(lambda: _differing(furnished.files), 0)


def _differing(files: Path) -> int:
    """The number of remaining differences: a broker learns of a change a moment later."""
    ran = run_in_process(main, ["plan", "-f", str(files), "--output", "json"])
    return len(json.loads(ran.out)["items"])


def a_plan_is_refused_once_anything_has_moved(people: People) -> None:
    furnished = Furnished(people)
    furnished.export()
    furnished.edit("topics.yaml", "retention.ms: 10d", "retention.ms: 30d")
    furnished.edit("quotas.yaml", "1MiB", "2MiB")
    plan = people.directory / "p.plan"
    people(f"plan -f {furnished.files} --out {plan}", status=3)
    assert plan.stat().st_mode & 0o777 == 0o600

    topic = Resource.topic(furnished.topic)
    with people.admin() as admin:
        admin.incremental_alter_configs(
            {topic: [AlterConfigOp(OpType.SET, "retention.ms", "1728000000")]}
        ).raise_for_failures()
    until(lambda: people.overrides(f"topic:{furnished.topic}")["retention.ms"], "1728000000")

    refused = people.whole(f"apply {plan} --yes", status=1)
    assert [(each["key"], each["error"]) for each in refused["items"]] == [("retention.ms", "INVALID_UPDATE_VERSION")]
    assert "out of date" in refused["message"]
    with people.admin() as admin:
        entity = QuotaEntity.of({"user": furnished.user, "client-id": None})
        assert admin.describe_client_quotas()[entity] == {"producer_byte_rate": 1048576.0}

    people(f"plan -f {furnished.files} --out {plan}", status=3)
    assert {each["outcome"] for each in people.items(f"apply {plan} --yes --reason 'ticket 12'")} == {"done"}
    until(lambda: people.overrides(f"topic:{furnished.topic}")["retention.ms"], "2592000000")


def an_override_that_somebody_adds_is_drift(people: People) -> None:
    """It is listed with and without --prune; with it, apply removes it. Unmanaged keys are not listed."""
    furnished = Furnished(people)
    furnished.export()
    topic, files = furnished.topic, furnished.files
    people(f"set topic:{topic} segment.ms=1d max.message.bytes=3MB")
    until(lambda: people.overrides(f"topic:{topic}").get("segment.ms"), "86400000")

    found = people.items(f"plan -f {files}", status=3)
    assert sorted((each["resource"], each["key"], each["old"], each["new"], each["outcome"]) for each in found) == [
        (f"topic:{topic}", "max.message.bytes", "3000000", "3000000", "undeclared"),
        (f"topic:{topic}", "segment.ms", "86400000", "86400000", "undeclared"),
    ]
    assert len(people.items(f"diff -f {files}", status=3)) == 2
    applied = people.whole(f"apply -f {files} --yes")
    assert applied["items"] == []
    assert "2 undeclared items: " in applied["notes"][0]
    assert people.overrides(f"topic:{topic}")["segment.ms"] == "86400000"

    furnished.edit("topics.yaml", "    configs:", "    unmanaged: [segment.*]\n    configs:")
    assert [each["key"] for each in people.items(f"plan -f {files}", status=3)] == ["max.message.bytes"]
    furnished.write("unmanaged.yaml", "unmanaged: max.message.bytes\n")
    assert people.items(f"plan -f {files}") == []
    assert people.items(f"plan -f {files} --prune") == []
    (files / "unmanaged.yaml").unlink()

    (planned,) = people.items(f"plan -f {files} --prune", status=3)
    assert (planned["key"], planned["new"], planned["outcome"]) == ("max.message.bytes", "1048588", "delete")
    assert "--allow-risk message-size" in people.whole(f"apply -f {files} --prune --yes", status=2)["message"]
    people(f"apply -f {files} --prune --yes --allow-risk message-size")
    until(lambda: _differing(files), 0)
    assert people.overrides(f"topic:{topic}")["segment.ms"] == "86400000"


def only_shorter_retention_may_delete_data(people: People) -> None:
    """Unset, pruned or set for all brokers: compared with a default in hours."""
    week, topic = str(7 * 86_400_000), a_name()
    people.topics(topic, configs=[("retention.ms", "3600000")])
    files = people.directory / "retention.yaml"
    files.write_text(f"topics: {{{topic}: }}")

    (pruned,) = people.items(f"plan -f {files} --prune", status=3)
    (unset,) = people.items(f"unset topic:{topic} retention.ms --dry-run")
    assert [(each["old"], each["new"], each["data_loss"]) for each in (pruned, unset)] == [("3600000", week, None)] * 2
    people(f"apply -f {files} --prune --yes")
    until(lambda: people.overrides(f"topic:{topic}"), {})

    people(f"set topic:{topic} retention.ms=30d")
    until(lambda: people.overrides(f"topic:{topic}").get("retention.ms"), "2592000000")
    (shorter,) = people.items(f"plan -f {files} --prune", status=3)
    assert (shorter["new"], shorter["data_loss"]) == (week, "retention is reduced")
    people(f"unset topic:{topic} retention.ms", status=2)
    people(f"set topic:{topic} retention.ms=7d --allow-data-loss")
    until(lambda: people.overrides(f"topic:{topic}").get("retention.ms"), week)
    assert people.items(f"plan -f {files} --prune") == [], "it would be inherited all the same"

    (longer,) = people.items("set broker:default log.retention.ms=30d --dry-run")
    (less,) = people.items("set broker:default log.retention.ms=1h --dry-run")
    (size,) = people.items("set broker:default log.retention.bytes=1GiB --dry-run")
    assert [(each["old"], each["data_loss"]) for each in (longer, less, size)] == [
        (week, None),
        (week, "retention is reduced"),
        ("-1", "retention is reduced"),
    ]


def pruning_stays_inside_the_selector(people: People) -> None:
    """--prune removes overrides, --prune=WORD other resources, up to a limit, and never outside the selector."""
    furnished = Furnished(people)
    outside = a_name("outside")
    people.topics(outside, f"{furnished.name}.extra", configs=[("max.message.bytes", "2000000")])
    furnished.write(
        "own.yaml",
        f"selector: [topic:{furnished.name}.*, user:{furnished.user}]\n"
        f"topics: {{{furnished.topic}: {{configs: {{retention.ms: 10d}}}}}}\n",
    )
    furnished.write("more.yaml", f"selector: ['acl:User:{furnished.user}', quota:{furnished.user}]")
    files = furnished.files

    drift = people.items(f"plan -f {files}", status=3)
    assert {each["outcome"] for each in drift} == {"undeclared"}
    assert [(each["resource"], each["key"], each["old"] == each["new"]) for each in drift] == [
        (f"topic:{furnished.name}.extra", None, True),
        (f"topic:{furnished.name}.extra", "max.message.bytes", True),
        (f"topic:{furnished.topic}", "cleanup.policy", True),
        (f'quota:{{"client-id":null,"user":"{furnished.user}"}}', "producer_byte_rate", True),
        (f"user:{furnished.user}", "SCRAM-SHA-512", True),
        (f"acl:topic:{furnished.topic}", f"allow User:{furnished.user} read", True),
    ], drift
    overrides = [
        (f"topic:{furnished.name}.extra", "max.message.bytes", "1048588"),
        (f"topic:{furnished.topic}", "cleanup.policy", "delete"),
    ]
    pruned = [each for each in people.items(f"plan -f {files} --prune", status=3) if each["outcome"] == "delete"]
    assert sorted((each["resource"], each["key"], each["new"]) for each in pruned) == overrides, pruned
    assert "--max-deletes allows 1" in people.whole(f"plan -f {files} --prune --max-deletes 1", status=2)["message"]
    everything = people.items(f"plan -f {files} --prune=topics,users,acls,quotas", status=3)
    assert [(each["resource"], each["data_loss"]) for each in everything[2:]] == [
        (f'quota:{{"client-id":null,"user":"{furnished.user}"}}', None),
        (f"user:{furnished.user}", None),
        (f"acl:topic:{furnished.topic}", None),
        (f"topic:{furnished.name}.extra", "the topic and its data"),
    ]
    people(f"apply -f {files} --prune=users,acls,quotas --yes --allow-risk message-size")
    until(lambda: people.overrides(f"topic:{furnished.topic}"), {"retention.ms": "864000000"})
    assert people.overrides(f"topic:{outside}") == {"max.message.bytes": "2000000"}
    with people.admin() as admin:
        until(lambda: furnished.user in admin.describe_user_scram_credentials(), False)
        until(lambda: admin.describe_acls(furnished.acl.filter()), [])
        assert f"{furnished.name}.extra" in admin.list_topics()
    people(f"apply -f {files} --prune=topics --yes", status=2)
    people(f"apply -f {files} --prune=topics --yes --allow-data-loss")
    with people.admin() as admin:
        until(lambda: f"{furnished.name}.extra" in admin.list_topics(), False)


def throttles_and_operators_are_left_alone(people: People) -> None:
    furnished = Furnished(people)
    topic = Resource.topic(furnished.topic)
    with people.admin() as admin:
        requested = [AlterConfigOp(OpType.SET, "leader.replication.throttled.replicas", "0:1")]
        admin.incremental_alter_configs({topic: requested}).raise_for_failures()
        admin.alter_user_scram_credentials(
            [scram_upsertion("admin", Mechanism.SCRAM_SHA_256, SECRET)]
        ).raise_for_failures()
        until(lambda: "admin" in admin.describe_user_scram_credentials(), True)
    furnished.write("own.yaml", f"selector: [topic:{furnished.name}.*, user:admin]\ntopics: {{{furnished.topic}: }}\n")

    found = differing(people, f"plan -f {furnished.files} --prune=users")

    assert {key for _, key, _ in found} == {"retention.ms", "cleanup.policy"}
    furnished.write(
        "own.yaml", f"topics: {{{furnished.topic}: {{configs: {{leader.replication.throttled.replicas: '*'}}}}}}"
    )
    assert [
        (each["key"], each["new"])
        for each in people.items(f"plan -f {furnished.files}", status=3)
        if each["outcome"] != "undeclared"
    ] == [("leader.replication.throttled.replicas", "*")]


def a_mistake_names_its_place_and_nothing_is_sent(people: People) -> None:
    files = people.directory / "files"
    files.mkdir()
    (files / "a.yaml").write_text("topics:\n  t:\n    configs: {retention.ms: soon}\n")
    (files / "b.yaml").write_text("quotas: [{}]\n")

    told = people.whole(f"plan -f {files}", status=2)

    first, second = told["message"].splitlines()
    assert first.startswith(f"{files}/a.yaml:3:29: 'soon' is not a valid value of retention.ms")
    assert second.startswith(f"{files}/b.yaml:1:10: a quota needs an entity")
    assert "cannot be read" in people.whole(f"plan -f {files}/none.yaml", status=2)["message"]
    (files / "none").mkdir()
    assert "no .yaml files" in people.whole(f"plan -f {files}/none", status=2)["message"]


def what_cannot_be_done_is_told_with_its_place(people: People) -> None:
    furnished = Furnished(people)
    furnished.write(
        "a.yaml",
        f"topics:\n  {furnished.topic}: {{partitions: 1, configs: {{}}}}\n"
        f"users:\n  {furnished.user}3:\n    SCRAM-SHA-256:\n",
    )

    whole = people.whole(f"plan -f {furnished.files} --out {people.directory}/p", status=1)

    assert [each["message"] for each in whole["items"] if each["outcome"] != "undeclared"] == [
        f"{furnished.files}/a.yaml:2:3: partitions cannot be removed: the topic has 3",
        f"{furnished.files}/a.yaml:5:19: the file has no passwordFrom for this credential",
    ]
    assert not (people.directory / "p").exists()


def no_secret_is_in_any_file(people: People) -> None:
    """Checks exports, plans and all output."""
    furnished = Furnished(people)
    os.environ["KCONF_TEST_PASSWORD"] = SECRET
    try:
        furnished.export()
        furnished.write(
            "more.yaml",
            f"users: {{{furnished.user}4: {{SCRAM-SHA-256: {{passwordFrom: {{env: KCONF_TEST_PASSWORD}}}}}}}}",
        )
        said: list[Any] = [
            people(f"plan -f {furnished.files} --out {people.directory}/p", status=3),
            people(f"apply {people.directory}/p --dry-run -o json"),
            people(f"apply {people.directory}/p --yes -o json"),
        ]
    finally:
        del os.environ["KCONF_TEST_PASSWORD"]
    assert SECRET not in str(said)
    assert [path for path in _files(people.directory) if SECRET.encode() in path.read_bytes()] == []


def a_secret_of_a_broker_is_set_from_where_it_is(people: People) -> None:
    """It is set once; plan, export and snapshot then only show that it is set."""
    with people.admin() as admin:
        broker = Resource.broker(min(admin.describe_cluster().nodes))
    key = "listener.name.plaintext.ssl.key.password"
    secret = people.directory.parent / f"{people.directory.name}-secret"
    secret.write_text(SECRET + "\n")
    files = people.directory / "secrets"
    files.mkdir()
    (files / "a.yaml").write_text(f"brokers: {{{broker.name}: {{{key}: {{valueFrom: {{file: {secret}}}}}}}}}")

    (planned,) = people.items(f"plan -f {files}", status=3)
    assert (planned["key"], planned["old"], planned["new"]) == (key, None, "[hidden]")
    people(f"apply -f {files} --yes")
    until(lambda: _differing(files), 0)
    said = people("export broker", "--output", "table").out
    assert f"{key}: {{sensitive: true}}" in said
    people(f"snapshot --out {people.directory / 'snapshots'}")
    people(f"unset {broker} {key}")
    assert [path for path in _files(people.directory) if SECRET.encode() in path.read_bytes()] == []


def rules_of_the_context_judge_a_plan(people: People) -> None:
    """For existing topics, topics that get partitions, and new topics."""
    furnished = Furnished(people)
    policy = people.directory / "policy.yaml"
    policy.write_text(
        "rules:\n"
        "  - {id: short, selector: 'topic:*', key: segment.ms, condition: {min: 1h}, message: too short}\n"
        "  - {id: few, selector: 'topic:*', key: partitions, condition: {max: 4}}\n"
    )
    people.add_context("ruled", policy=str(policy))
    furnished.write(
        "a.yaml",
        f"topics:\n  {furnished.name}.many: {{partitions: 5, replication: 1}}\n"
        f"  {furnished.name}.short: {{partitions: 1, replication: 1, configs: {{segment.ms: 1m}}}}\n"
        f"  {furnished.name}.good: {{partitions: 1, replication: 1, configs: {{segment.ms: 2h}}}}\n"
        f"  {furnished.topic}: {{configs: {{segment.ms: 2m}}}}\n",
    )

    planned = people.items(f"plan -f {furnished.files} -C ruled", status=1)
    judged = [each for each in planned if each["outcome"] != "undeclared"]
    assert [(each["resource"].rpartition(".")[2], each["error"]) for each in judged] == [
        ("many", "POLICY_VIOLATION"),
        ("short", "POLICY_VIOLATION"),
        ("good", None),
        ("orders", "POLICY_VIOLATION"),
    ]
    people(f"apply -f {furnished.files} -C ruled --yes", status=1)
    with people.admin() as admin:
        until(lambda: f"{furnished.name}.good" in admin.list_topics(), True)
        assert not {f"{furnished.name}.many", f"{furnished.name}.short"} & set(admin.list_topics())
    assert "segment.ms" not in people.overrides(f"topic:{furnished.topic}")


def _files(directory: Path) -> list[Path]:
    return [each for each in directory.rglob("*") if each.is_file()]


SCENARIOS = (
    an_export_leaves_nothing_to_plan,
    files_are_planned_and_applied,
    a_plan_is_refused_once_anything_has_moved,
    an_override_that_somebody_adds_is_drift,
    only_shorter_retention_may_delete_data,
    pruning_stays_inside_the_selector,
    throttles_and_operators_are_left_alone,
    a_mistake_names_its_place_and_nothing_is_sent,
    what_cannot_be_done_is_told_with_its_place,
    no_secret_is_in_any_file,
    a_secret_of_a_broker_is_set_from_where_it_is,
    rules_of_the_context_judge_a_plan,
)
