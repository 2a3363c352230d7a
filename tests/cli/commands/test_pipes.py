"""Commands whose output is not read to the end, as in `| head`."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.cli.commands.scenarios import People, a_name


def run_unread(*words: str) -> tuple[int, str]:
    """The exit code and stderr of a command whose stdout is a closed pipe."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "kconf", *words], stdout=writer, stderr=subprocess.PIPE, check=False, timeout=60
        )
    finally:
        os.close(writer)
    return done.returncode, done.stderr.decode()


@pytest.mark.parametrize("words", [("describe", "broker:1", "--all"), ("describe", "broker:1", "--all", "-o", "json")])
def test_a_reader_that_stops_early_is_not_a_failure(people: People, words: tuple[str, ...]) -> None:
    assert run_unread(*words) == (0, "")


def test_a_failed_command_exits_with_1_if_its_output_is_not_read(people: People) -> None:
    status, told = run_unread("describe", "topic:not-there", "broker:1", "--all")

    assert status == 1
    assert told == "topic:not-there: Unknown topic or partition\nlist topics with `kconf topic list`\n"


def test_a_failed_command_exits_with_1_if_stderr_is_closed_too(people: People) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    words = [sys.executable, "-m", "kconf", "describe", "topic:not-there", "broker:1", "--all"]
    done = subprocess.run(words, stdout=writer, stderr=writer, check=False, timeout=60)
    os.close(writer)

    assert done.returncode == 1


def test_a_change_is_made_whether_or_not_its_report_is_read(people: People) -> None:
    name = a_name()
    people.topics(name)

    assert run_unread("set", f"topic:{name}", "segment.ms=1h")[0] == 0
    assert people.overrides(f"topic:{name}") == {"segment.ms": "3600000"}


def test_kafka_configs_exits_with_0_if_its_output_is_not_read(people: People) -> None:
    words = ("--bootstrap-server", people.bootstrap, "--describe", "--all", "--entity-type", "brokers")

    assert run_unread("kafka-configs", *words, "--entity-name", "1") == (0, "")


def test_a_command_that_prints_as_it_runs_exits_as_if_killed_by_sigpipe(people: People) -> None:
    assert run_unread("completion", "bash") == (141, "")
