"""`kconf policy check` and `kconf policy test` as commands, on a real kconf process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.admin import BROKER, CLIENT_METRICS, GROUP, SET, TOPIC, Admin
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


def test_check_says_that_there_are_no_mistakes() -> None:
    done = kconf("check", "examples/policy.yaml")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "examples/policy.yaml: 10 rules, no mistakes\n"


def test_check_lists_every_mistake_with_line_and_column(rules: Path) -> None:
    rules.write_text("rules:\n  - {id: a, selector: topic, key: retention.mss, condition: {max: 1h}}\n  - {id: a}\n")

    done = kconf("check", rules)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == (
        f"{rules}:2:35: there is no topic key 'retention.mss'; did you mean retention.ms?"
    )
    assert all(line.startswith(f"{rules}:3:") for line in done.stderr.splitlines()[1:])


@pytest.mark.parametrize("verb", ["check", "test"])
def test_a_file_that_is_not_there(verb: str) -> None:
    more = ["-b", "127.0.0.1:1"] if verb == "test" else []

    done = kconf(verb, "/no/such.yaml", *more)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.removeprefix("kconf: ") == "cannot read /no/such.yaml: No such file or directory\n"


def test_test_tells_what_the_rules_would_refuse_today(server: KconfProcess, rules: Path) -> None:
    rules.write_text(RULES)

    done = kconf("test", rules, "-b", server.bootstrap)

    assert (done.returncode, done.stderr) == (1, "9 resources judged by 6 rules: 5 errors, 1 warning\n")
    assert findings(done) == [
        "topic:long: error: not so long: retention.ms is -1, and must be at most 1d (rule keep)",
        "topic:long: warn: partitions is 5, and must be at most 4 (rule parts)",
        "topic:mine.not: error: flush.ms must be set at topic:mine.not (rule mine)",
        "brokers: error: log.cleaner.backoff.ms is 60001, and must be at most 1m (rule broker)",
        "client-metrics:often: error: interval.ms is 9000, and must be at least 10s (rule metrics)",
        "group:slow: error: consumer.session.timeout.ms is 50000, and must be at most 48s (rule group)",
    ]


def test_test_changes_nothing_and_agrees_with_the_server(server: KconfProcess, rules: Path) -> None:
    """What `test` finds is what a server with these rules refuses."""
    rules.write_text("rules: [{id: keep, selector: topic:plain, key: retention.ms, condition: {max: 1d}}]\n")

    done = kconf("test", rules, "-b", server.bootstrap)

    assert (done.returncode, done.stderr) == (0, "4 resources judged by 1 rule: 0 errors, 0 warnings\n")
    with Admin(server.bootstrap) as admin:
        assert admin.overrides("plain") == {}
        assert [each.error_code for each in admin.describe((TOPIC, "plain"))] == [0]


def test_warnings_alone_are_no_failure(server: KconfProcess, rules: Path) -> None:
    rules.write_text("rules: [{id: p, selector: topic, key: partitions, condition: {max: 4}, severity: warn}]\n")

    done = kconf("test", rules, "-b", server.bootstrap)

    assert (done.returncode, done.stderr) == (0, "4 resources judged by 1 rule: 0 errors, 1 warning\n")


def test_a_cluster_that_cannot_be_reached_is_a_sentence(rules: Path) -> None:
    rules.write_text(RULES)

    done = kconf("test", rules, "-b", "127.0.0.1:1", "--timeout", "1")

    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("kconf: ")
    assert "Traceback" not in done.stderr


def test_the_properties_of_the_client_are_read(server: KconfProcess, rules: Path, tmp_path: Path) -> None:
    rules.write_text("rules: []\n")
    (tmp_path / "client.properties").write_text("client.id=tester\nrequest.timeout.ms=20000\n")

    done = kconf("test", rules, "-b", server.bootstrap, "--command-config", tmp_path / "client.properties")

    assert (done.returncode, done.stderr) == (0, "0 resources judged by 0 rules: 0 errors, 0 warnings\n")


@pytest.mark.parametrize("words", [[], ["check"], ["test"]])
def test_a_command_that_lacks_something_is_asked_for_wrongly(words: list[str]) -> None:
    assert kconf(*words).returncode == 2
