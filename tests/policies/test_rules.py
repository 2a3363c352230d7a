"""A policy file on a live server: refusals for every resource type, warnings, and changes of the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.policies.conftest import STATIC, until
from tests.support.admin import (
    APPEND,
    BROKER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    TOPIC,
    Admin,
    Place,
    codes,
    new_topic,
)
from tests.support.process import KconfProcess

RULES = """\
version: 1
labels:
  topic:*: {tier: bronze}
  topic:gold.*: {tier: gold}
rules:
  - {id: keep, selector: topic, key: retention.ms, condition: {min: 1h, max: 1d}, message: not so long}
  - {id: compact, selector: topic:audit.*, key: cleanup.policy, condition: {excludes: delete}}
  - {id: size, selector: "topic:/^sized/", key: max.message.bytes, condition: {required: true}}
  - {id: gold, selector: {type: topic, labels: {tier: gold}}, key: min.insync.replicas,
     condition: {at_most: replication_factor}}
  - {id: parts, selector: {type: topic, except: "free.*"}, key: partitions, condition: {max: 8}}
  - {id: copies, selector: topic:gold.*, key: replication_factor, condition: {max: 1}}
  - {id: name, selector: topic, key: name, condition: {matches: "[a-z0-9.-]+"}}
  - {id: flush, selector: topic, key: flush.ms, condition: {min: 10}, severity: warn, message: disks are slow}
  - {id: each, selector: "broker:*", key: log.cleaner.backoff.ms, condition: {max: 1m}}
  - {id: all, selector: brokers, key: log.retention.ms, condition: {min: 1h}}
  - {id: group, selector: group, key: consumer.session.timeout.ms, condition: {min: 46s}}
  - {id: metrics, selector: client-metrics:big.*, key: interval.ms, condition: {min: 10s}}
  - {id: clean, selector: topic, forbid: [unclean-leader-election, compaction], message: keep what is acknowledged}
  - {id: lab, selector: "topic:lab.*", allow: unclean-leader-election}
  - {id: door, selector: broker, forbid: lockout}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KconfProcess]:
    """A server with only `policy.file`, set on the command line."""
    file = tmp_path_factory.mktemp("rules") / "policy.yaml"
    file.write_text(RULES)
    with KconfProcess(properties=STATIC, args=("--override", f"policy.file={file}")) as process:
        yield process


@pytest.mark.parametrize("dry", [False, True])
def test_a_refusal_names_the_rule_and_other_resources_are_changed(admin: Admin, topic: str, dry: bool) -> None:
    name = topic.lower()
    admin.create(name, f"{name}-2")
    requests = [
        ((TOPIC, name), [("retention.ms", SET, "5")]),
        ((TOPIC, f"{name}-2"), [("retention.ms", SET, "3600000")]),
    ]

    said = admin.alter_all(requests, dry=dry)

    assert codes(said) == [44, 0]
    assert said[0].error_message == "not so long: retention.ms is 5 but must be at least 1h (rule keep)"
    assert admin.overrides(name) == {}
    assert admin.overrides(f"{name}-2") == ({} if dry else {"retention.ms": "3600000"})


@pytest.mark.parametrize(
    ("place", "op", "code"),
    [
        ((TOPIC, "audit.x"), ("cleanup.policy", APPEND, "delete"), 44),
        ((TOPIC, "audit.x"), ("cleanup.policy", DELETE, None), 44),  # the default applies again
        ((TOPIC, "audit.x"), ("flush.messages", SET, "8"), 0),
        ((TOPIC, "gold.x"), ("min.insync.replicas", SET, "2"), 44),
        ((TOPIC, "gold.x"), ("min.insync.replicas", SET, "1"), 0),
        ((TOPIC, "sized"), ("max.message.bytes", DELETE, None), 44),
        ((BROKER, "1"), ("log.cleaner.backoff.ms", SET, "60001"), 44),
        ((BROKER, ""), ("log.cleaner.backoff.ms", SET, "60001"), 0),
        ((BROKER, ""), ("log.retention.ms", SET, "60001"), 44),
        ((BROKER, "1"), ("log.cleaner.backoff.ms", SET, "60000"), 0),
        ((GROUP, "g"), ("consumer.session.timeout.ms", SET, "45000"), 44),
        ((GROUP, "g"), ("consumer.session.timeout.ms", SET, "50000"), 0),
        ((CLIENT_METRICS, "big.one"), ("interval.ms", SET, "9999"), 44),
        ((CLIENT_METRICS, "small"), ("interval.ms", SET, "9999"), 0),
    ],
)
def test_every_resource_type_is_checked_by_its_own_rules(
    admin: Admin, place: Place, op: tuple[str, int, str | None], code: int
) -> None:
    admin.create("gold.x", configs={"min.insync.replicas": "1"})
    admin.create("audit.x", configs={"cleanup.policy": "compact"})
    admin.create("sized", configs={"max.message.bytes": "9000"})

    assert admin.alter(place, op, dry=True).error_code == code
    assert admin.alter(place, op).error_code == code


def test_a_replacement_is_checked_by_the_keys_that_it_drops(admin: Admin) -> None:
    admin.create("audit.dropped", configs={"cleanup.policy": "compact", "flush.messages": "8"})

    (said,) = admin.replace([((TOPIC, "audit.dropped"), {"flush.messages": "9"})])

    assert said.error_code == 44
    assert "(rule compact)" in said.error_message
    assert admin.overrides("audit.dropped") == {"cleanup.policy": "compact", "flush.messages": "8"}


def test_new_topics_are_checked_by_all_rules_and_growth_by_the_rules_about_it(admin: Admin) -> None:
    said = admin.create_topics(
        [
            new_topic("fine", 8, 1),
            new_topic("wide", 9, 1),
            new_topic("free.wide", 9, 1),
            new_topic("Capital", 1, 1),
            new_topic("brief", 1, 1, {"retention.ms": "5"}),
            new_topic("sized.not", 1, 1),
            new_topic("audit.default", 1, 1),
        ]
    )

    assert codes(said) == [0, 44, 0, 44, 44, 44, 44]
    assert [each.error_message.rpartition("(rule ")[2] for each in said if each.error_code] == [
        "parts)", "name)", "keep)", "size)", "compact)"
    ]  # fmt: skip
    assert admin.grow("fine", 9).error_code == 44
    assert admin.grow("free.wide", 10).error_code == 0


def test_a_warning_is_logged_and_refuses_nothing(server: KconfProcess, admin: Admin) -> None:
    admin.create("hasty")

    said = admin.alter((TOPIC, "hasty"), ("flush.ms", SET, "3"))

    assert (said.error_code, said.error_message) == (0, None)
    assert admin.overrides("hasty") == {"flush.ms": "3"}
    (line,) = [each for each in server.log().splitlines() if "topic:hasty" in each and "level=WARN" in each]
    assert (
        "policy resource=topic:hasty principal=User:ANONYMOUS: disks are slow: flush.ms is 3 but must be at least 10"
        in line
    )


def test_a_value_with_a_line_break_stays_on_one_log_line(server: KconfProcess, admin: Admin) -> None:
    admin.create("forged")

    assert admin.alter((TOPIC, "forged"), ("flush.ms", SET, "\n1\n")).error_code == 0
    assert [each for each in server.log().splitlines() if not each.startswith(("time=", "kconf "))] == []


# -- changes of the file --------------------------------------------------------------------------------------------

LIMIT = "rules:\n  - {{id: r, selector: topic, key: segment.ms, condition: {{max: {}}}}}\n"


def put(file: Path, text: str) -> None:
    """Replaces the file atomically."""
    new = file.with_suffix(".new")
    new.write_text(text)
    new.rename(file)


def test_rules_are_read_again_while_the_server_runs(rules: Path) -> None:
    """Valid to valid, valid to invalid (keeps the old rules, logged once), invalid to valid, deleted, and created
    again.
    """
    rules.write_text(LIMIT.format("10s"))
    with KconfProcess(properties={"policy.file": str(rules)}) as server, Admin(server.bootstrap) as admin:
        admin.create("t", configs={"segment.ms": "1"})

        def code(value: str) -> int:
            return int(admin.alter((TOPIC, "t"), ("segment.ms", SET, value), dry=True).error_code)

        def look() -> bool:
            code("1")
            return bool(server.log().count(told))

        assert (code("10000"), code("10001")) == (0, 44)

        put(rules, LIMIT.format("20s"))
        until(lambda: code("20000") == 0)
        assert (code("20000"), code("20001")) == (0, 44)

        put(rules, LIMIT.format("20s").replace("max", "mx"))
        told = f"{rules}:2:59: unknown field 'mx' in a condition"
        until(look)
        assert (code("20000"), code("20001")) == (0, 44)
        assert admin.alter((TOPIC, "t"), ("segment.ms", SET, "20000")).error_code == 0

        put(rules, LIMIT.format("30s"))
        until(lambda: code("30000") == 0)
        assert (code("30000"), code("30001")) == (0, 44)
        assert server.log().count("invalid policy file") == 1

        rules.unlink()
        told = f"cannot read {rules}"
        until(look)
        assert (code("30000"), code("30001")) == (0, 44)

        put(rules, "rules: []\n")
        until(lambda: code("30001") == 0)
        assert server.log().count(f"reloaded policy file {rules}: 1 rules") == 2
        assert server.log().count(f"reloaded policy file {rules}: 0 rules") == 1


def test_an_invalid_policy_file_prevents_the_start_and_all_its_errors_are_reported(rules: Path) -> None:
    rules.write_text("verson: 1\nrules:\n  - {id: r, selector: topik, key: retention.ms, condition: {max: 1h}}\n")

    with pytest.raises(RuntimeError) as stopped, KconfProcess(properties={"policy.file": str(rules)}):
        pass
    assert f"{rules}:1:1: " in str(stopped.value)
    assert f"{rules}:3:23: " in str(stopped.value)
    assert "Traceback" not in str(stopped.value)


def test_rules_can_check_alterations_while_a_class_checks_creations(rules: Path) -> None:
    from tests.policies import recorder

    rules.write_text(LIMIT.format("10s"))
    properties = {
        "policy.file": str(rules),
        "alter.config.policy.class.name": "kconf:rules",
        "create.topic.policy.class.name": f"{recorder.__file__}:Create",
    }
    with KconfProcess(properties=properties) as server, Admin(server.bootstrap) as admin:
        said = admin.create("a", "b.create.REFUSE") + admin.create("c", configs={"segment.ms": "10001"})

        assert codes(said) == [0, 44, 44]
        assert admin.alter((TOPIC, "a"), ("segment.ms", SET, "10001")).error_code == 44


@pytest.mark.parametrize("place", [(BROKER, ""), (BROKER, "1")])
def test_a_cluster_default_is_checked_by_the_rules_for_topics_that_inherit_it(admin: Admin, place: Place) -> None:
    """log.retention.ms is the retention.ms of every topic without its own value, including new ones."""
    refused = admin.alter(place, ("log.retention.ms", SET, "172800000"))

    assert refused.error_code == 44
    words = "" if place[1] else "brokers"
    assert f"topics without an override inherit this value from {words or 'broker:1'}: not so long" in (
        refused.error_message
    )
    assert admin.alter(place, ("log.retention.ms", SET, "7200000"), dry=True).error_code == 0
    assert admin.alter(place, ("log.segment.bytes", SET, "2097152"), dry=True).error_code == 0


def test_a_rule_about_a_topic_restricts_the_default_while_the_topic_inherits_it(admin: Admin, topic: str) -> None:
    name = f"gold.{topic.lower()}"
    default = ("min.insync.replicas", SET, "2")
    assert admin.alter((BROKER, ""), default, dry=True).error_code == 0
    admin.create(name)

    refused = admin.alter((BROKER, ""), default, dry=True)
    admin.alter((TOPIC, name), ("min.insync.replicas", SET, "1"))
    allowed = admin.alter((BROKER, ""), default, dry=True)

    assert (refused.error_code, allowed.error_code) == (44, 0)
    assert f"topic:{name} inherits it: min.insync.replicas is 2" in refused.error_message


def test_a_risk_is_forbidden_or_allowed_by_its_name(admin: Admin, topic: str) -> None:
    name, lab = topic.lower(), f"lab.{topic.lower()}"
    admin.create(name, lab)
    unclean = ("unclean.leader.election.enable", SET, "true")

    refused = admin.alter((TOPIC, name), unclean)
    assert refused.error_code == 44
    assert refused.error_message.startswith(
        "keep what is acknowledged: unclean-leader-election is forbidden: an out-of-sync replica"
    )
    assert admin.alter((TOPIC, lab), unclean).error_code == 0
    assert admin.alter((TOPIC, name), ("cleanup.policy", SET, "compact")).error_code == 44
    assert admin.alter((TOPIC, name), ("cleanup.policy", SET, "delete")).error_code == 0
    assert codes(admin.create(f"{name}-new", configs={unclean[0]: "true"})) == [44]
    assert admin.alter((BROKER, ""), unclean).error_code == 44
    assert admin.alter((BROKER, ""), ("max.connections.per.ip.overrides", SET, "127.0.0.1:0")).error_code == 44
    assert (
        admin.alter((BROKER, ""), ("max.connections.per.ip.overrides", SET, "127.0.0.1:100"), dry=True).error_code == 0
    )
