"""`kconf policy check` and `kconf policy test` as commands, on a real kconf process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.admin import BROKER, CLIENT_METRICS, DELETE, GROUP, SET, TOPIC, Admin, Place
from tests.support.process import KconfProcess

ROOT = Path(__file__).parents[2]
RULES = """\
rules:
  - {id: keep, selector: topic, key: retention.ms, condition: {max: 1d}, message: not so long}
  - {id: parts, selector: topic, key: partitions, condition: {max: 4}, severity: warn}
  - {id: mine, selector: topic:mine.*, key: flush.ms, condition: {required: true}}
  - {id: broker, selector: broker, key: log.cleaner.backoff.ms, condition: {max: 1m}}
  - {id: group, selector: group, key: consumer.session.timeout.ms, condition: {max: 48s}}
  - {id: metrics, selector: client-metrics, key: interval.ms, condition: {min: 10s}}
"""
PLACES: list[Place] = [(TOPIC, "long"), (TOPIC, "plain"), (BROKER, "1"), (BROKER, ""), (GROUP, "slow")]


def kconf(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kconf", "policy", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=ROOT)


def findings(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines of the table as `resource: severity: finding`."""
    return [": ".join(line.split(None, 2)) for line in done.stdout.splitlines()[1:]]


@pytest.fixture(scope="module")
def server() -> Iterator[KconfProcess]:
    with KconfProcess(properties={"log.retention.ms": "3600000"}) as process, Admin(process.bootstrap) as admin:
        admin.create("long", partitions=5, configs={"retention.ms": "-1"})
        admin.create("mine.not", "plain")
        admin.create("mine.is", configs={"flush.ms": "5"})
        admin.alter((BROKER, ""), ("log.cleaner.backoff.ms", SET, "60001"))
        admin.alter((BROKER, "1"), ("log.cleaner.backoff.ms", SET, "60000"))
        admin.alter((GROUP, "slow"), ("consumer.session.timeout.ms", SET, "50000"))
        admin.alter((GROUP, "fast"), ("consumer.session.timeout.ms", SET, "46000"))
        admin.alter((CLIENT_METRICS, "often"), ("interval.ms", SET, "9000"))
        yield process


def test_check_reports_that_there_are_no_errors() -> None:
    done = kconf("check", "examples/policy.yaml")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "examples/policy.yaml: 10 rules, no errors\n"


def test_check_lists_every_error_with_line_and_column(rules: Path) -> None:
    rules.write_text("rules:\n  - {id: a, selector: topic, key: retention.mss, condition: {max: 1h}}\n  - {id: a}\n")

    done = kconf("check", rules)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == (
        f"{rules}:2:35: unknown topic key 'retention.mss'; did you mean retention.ms?"
    )
    places = [line.removeprefix(f"{rules}:").partition(": ")[0] for line in done.stderr.splitlines()]
    assert places == ["2:35", "3:5", "3:5", "3:5", "3:10"]


@pytest.mark.parametrize("verb", ["check", "test"])
def test_a_missing_policy_file_is_reported_in_one_line(verb: str) -> None:
    more = ["-b", "127.0.0.1:1"] if verb == "test" else []

    done = kconf(verb, "/no/such.yaml", *more)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.removeprefix("kconf: ") == "cannot read /no/such.yaml: No such file or directory\n"


def test_test_shows_what_the_rules_would_refuse_today(server: KconfProcess, rules: Path) -> None:
    rules.write_text(RULES)

    done = kconf("test", rules, "-b", server.bootstrap)

    assert (done.returncode, done.stderr) == (1, "9 resources checked against 6 rules: 5 errors, 1 warning\n")
    assert findings(done) == [
        "topic:long: error: not so long: retention.ms is -1 but must be at most 1d (rule keep)",
        "topic:long: warn: partitions is 5 but must be at most 4 (rule parts)",
        "topic:mine.not: error: flush.ms must be set on topic:mine.not (rule mine)",
        "brokers: error: log.cleaner.backoff.ms is 60001 but must be at most 1m (rule broker)",
        "client-metrics:often: error: interval.ms is 9000 but must be at least 10s (rule metrics)",
        "group:slow: error: consumer.session.timeout.ms is 50000 but must be at most 48s (rule group)",
    ]


Requested = tuple[Place, str, str]
REQUESTS: list[Requested] = [
    ((TOPIC, "long"), "retention.ms", "-1"),
    ((TOPIC, "plain"), "retention.ms", "86400000"),
    ((BROKER, ""), "log.cleaner.backoff.ms", "60001"),
    ((BROKER, "1"), "log.cleaner.backoff.ms", "60000"),
    ((GROUP, "slow"), "consumer.session.timeout.ms", "50000"),
    ((GROUP, "fast"), "consumer.session.timeout.ms", "46000"),
    ((CLIENT_METRICS, "often"), "interval.ms", "9000"),
    ((CLIENT_METRICS, "seldom"), "interval.ms", "10000"),
]


def test_test_finds_what_a_server_with_these_rules_refuses(rules: Path) -> None:
    """The same values on two servers: one without rules, one with them."""
    rules.write_text(RULES)
    short = {"log.retention.ms": "3600000"}
    with (
        KconfProcess(properties=short) as plain,
        KconfProcess(properties={**short, "policy.file": str(rules)}) as ruled,
    ):
        with Admin(plain.bootstrap) as admin, Admin(ruled.bootstrap) as judged:
            for each in (admin, judged):
                each.create("long", "plain")
            assert [admin.alter(place, (key, SET, value)).error_code for place, key, value in REQUESTS] == [0] * 8
            refused = [requested for requested in REQUESTS if _is_refused(judged, requested)]

        done = kconf("test", rules, "-b", plain.bootstrap)

    assert len(refused) == 4
    assert sorted(line.split(": ")[0] for line in findings(done)) == sorted(_name(place) for place, _, _ in refused)


def _is_refused(admin: Admin, requested: Requested) -> bool:
    place, key, value = requested
    code = admin.alter(place, (key, SET, value)).error_code
    assert code in (0, 44), requested
    return bool(code == 44)


def _name(place: Place) -> str:
    kinds = {TOPIC: "topic", BROKER: "broker", GROUP: "group", CLIENT_METRICS: "client-metrics"}
    return "brokers" if place == (BROKER, "") else f"{kinds[place[0]]}:{place[1]}"


def test_test_changes_nothing(server: KconfProcess, rules: Path) -> None:
    rules.write_text("rules: [{id: keep, selector: topic:plain, key: retention.ms, condition: {max: 1s}}]\n")
    with Admin(server.bootstrap) as admin:
        before = repr(admin.describe(*PLACES))

        done = kconf("test", rules, "-b", server.bootstrap)

        assert (done.returncode, done.stderr) == (1, "4 resources checked against 1 rule: 1 error, 0 warnings\n")
        assert repr(admin.describe(*PLACES)) == before


def test_warnings_alone_are_no_failure(server: KconfProcess, rules: Path) -> None:
    rules.write_text("rules: [{id: p, selector: topic, key: partitions, condition: {max: 4}, severity: warn}]\n")

    done = kconf("test", rules, "-b", server.bootstrap)

    assert (done.returncode, done.stderr) == (0, "4 resources checked against 1 rule: 0 errors, 1 warning\n")


def test_an_unreachable_cluster_is_reported_in_one_sentence(rules: Path) -> None:
    rules.write_text(RULES)

    done = kconf("test", rules, "-b", "127.0.0.1:1", "--timeout", "1")

    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("kconf: ")
    assert "Traceback" not in done.stderr


def test_the_properties_of_the_client_are_read(server: KconfProcess, rules: Path, tmp_path: Path) -> None:
    rules.write_text("rules: []\n")
    (tmp_path / "client.properties").write_text("client.id=tester\nrequest.timeout.ms=20000\n")

    done = kconf("test", rules, "-b", server.bootstrap, "--command-config", tmp_path / "client.properties")

    assert (done.returncode, done.stderr) == (0, "0 resources checked against 0 rules: 0 errors, 0 warnings\n")


@pytest.mark.parametrize("words", [[], ["check"], ["test"]])
def test_a_command_without_a_required_argument_is_a_usage_error(words: list[str]) -> None:
    assert kconf(*words).returncode == 2


def test_test_checks_inherited_values_and_the_risks_of_topics(server: KconfProcess, rules: Path) -> None:
    rules.write_text(
        "rules:\n"
        "  - {id: jitter, selector: {type: topic, except: ['long', 'mine.*']}, key: segment.jitter.ms,"
        " condition: {max: 1s}}\n"
        "  - {id: few, selector: topic, forbid: min-insync-replicas}\n"
    )
    with Admin(server.bootstrap) as admin:
        admin.alter((BROKER, ""), ("log.roll.jitter.ms", SET, "5000"))
        admin.alter((TOPIC, "plain"), ("segment.jitter.ms", SET, "1"), ("min.insync.replicas", SET, "2"))

        done = kconf("test", rules, "-b", server.bootstrap)

        admin.alter((BROKER, ""), ("log.roll.jitter.ms", DELETE, None))
        admin.alter((TOPIC, "plain"), ("segment.jitter.ms", DELETE, None), ("min.insync.replicas", DELETE, None))
    risk, inherited = findings(done)
    assert risk.startswith("topic:plain: error: min-insync-replicas is forbidden: 2 replicas must be in sync and")
    assert inherited.startswith("broker:1: error: topics without an override inherit this value from broker:1: ")
    assert inherited.endswith("segment.jitter.ms is 5000 but must be at most 1s (rule jitter)")
    assert done.stderr.endswith("checked against 2 rules: 2 errors, 0 warnings\n")
