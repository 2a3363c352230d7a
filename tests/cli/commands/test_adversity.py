"""A server that is killed during a command, Ctrl-C, refused secrets, and bytes that are not text."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands.scenarios import People, a_name, until
from tests.cli.conftest import Ran, run_program
from tests.support.process import KconfProcess
from tests.support.targets import marked

SECRET = "s3cret-of-the-keystore"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A separate server, and kconf on it."""
    with KconfProcess() as server:
        people = People(tmp_path, server.bootstrap)
        monkeypatch.setenv("KCONF_CONFIG", str(people.config))
        monkeypatch.delenv("KCONF_CONTEXT", raising=False)
        yield server, people


def begin(*words: str) -> subprocess.Popen[str]:
    """Start a command in the background, in its own process group."""
    return subprocess.Popen(
        [sys.executable, "-m", "kconf", *words, "--output", "json"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end(process: subprocess.Popen[str]) -> tuple[int, dict[str, Any]]:
    out, err = process.communicate(timeout=120)
    assert "Traceback" not in err, err
    return process.returncode, json.loads(out)


def half_done(people: People, stop: Callable[[subprocess.Popen[str]], None]) -> tuple[int, dict[str, Any], str]:
    """Stop a slow command on 60 topics after some of them are recorded as done."""
    prefix, file = a_name("half"), people.directory / "done.txt"
    people.topics(*(f"{prefix}.{number:02}" for number in range(60)))
    line = f"set topic:{prefix}.* segment.ms=1h --yes --rate 10 --timeout 2 --resume {file}"
    process = begin(*line.split())
    until(lambda: file.exists() and len(file.read_text().splitlines()) > 10, True)
    stop(process)
    return *end(process), line


def test_a_server_that_dies_leaves_a_command_that_can_be_resumed(own: tuple[KconfProcess, People]) -> None:
    server, people = own
    status, whole, line = half_done(people, lambda _: server.kill())

    outcomes = [each["outcome"] for each in whole["items"]]
    assert (status, len(outcomes), set(outcomes)) == (4, 60, {"done", "failed"})
    assert whole["error"] in ("NETWORK_EXCEPTION", "REQUEST_TIMED_OUT")
    server.start()
    again = people.items(line.replace("--rate 20", ""))
    assert {each["error"] for each in again} == {None}
    assert sum(each["outcome"] == "done" for each in again) <= outcomes.count("failed")
    described = people.items(f"describe {line.split()[1]} --key segment.ms")
    assert {each["value"] for each in described} == {"3600000"}


def test_an_interrupted_command_reports_what_was_done(own: tuple[KconfProcess, People]) -> None:
    _, people = own
    status, whole, _ = half_done(people, lambda process: os.kill(process.pid, signal.SIGINT))

    assert (status, whole["message"]) == (130, "interrupted")
    assert 0 < len(whole["items"]) < 60


@pytest.mark.parametrize(
    ("output", "extra"),
    [
        ("table", "--dry-run"),
        ("json", "--yes"),
        *(marked((each, "--yes"), pytest.mark.full) for each in ("table", "csv")),
        *(marked((each, "--dry-run"), pytest.mark.full) for each in ("json", "csv")),
    ],
)
def test_a_secret_is_never_shown(people: People, output: str, extra: str) -> None:
    """The server refuses the first key, which has no listener prefix, and accepts the unknown key."""
    file = people.directory / "secret"
    file.write_text(SECRET + "\n")
    for key in ("ssl.keystore.password", "listener.name.internal.ssl.key.password", "my.custom.thing"):
        ran = run_program("set", "broker:1", f"{key}=@{file}", extra, "--output", output)
        assert ran.status in (0, 1), ran
        assert SECRET not in ran.out + ran.err
    told = run_program("describe", "broker:1", "--output", output)
    assert SECRET not in told.out + told.err
    run_program("unset", "broker:1", "my.custom.thing")


def test_a_secret_can_be_read_from_a_variable_or_stdin(people: People) -> None:
    for value, stdin in (("env:KCONF_TEST_SECRET", ""), ("-", f"{SECRET}\n")):
        key = "my.custom.thing"
        ran = run_program("set", "broker:1", f"{key}={value}", stdin=stdin, environment={"KCONF_TEST_SECRET": SECRET})
        assert ran.status == 0, ran
        (told,) = people.items("describe broker:1 --key my.custom.thing")
        assert (told["sensitive"], told["value"]) == (True, None)
        people("unset broker:1 my.custom.thing")
    assert people("set topic:x segment.ms=env:KCONF_TEST_NOT_SET", status=2).err.count("KCONF_TEST_NOT_SET") == 1


def test_a_command_line_that_is_not_utf8_is_refused(people: People) -> None:
    words = [sys.executable.encode(), b"-m", b"kconf", b"describe", b"topic:\xff"]
    done = subprocess.run(words, capture_output=True, check=False)
    assert (done.returncode, b"not UTF-8" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "line",
    [
        "set",
        "set segment.ms=1",
        "set topic:x",
        "set topic:x segment.ms",
        "set topic:x =1",
        "set topic:x a=1 a=2",
        "set topic:x broker:1 a=1",
        "set topic:x a=1 --rate 0",
        "set topic:x a=1 --timeout x",
        "unset topic:x a=1",
        "describe nothing",
        "describe topic:",
        "describe topic:@/no/where",
        "describe topic:/(/",
        "explain no.such.key",
        "explain nothing:retention.ms",
        "topic create 'a*'",
        "topic grow x",
        "acl add --principal alice --operation read --on topic:x",
        "acl add --principal User:a --operation dance --on topic:x",
        "acl add --principal User:a --operation read --on nothing:x",
        "scram set --user u --password-file /no/where",
        "scram set --user u --mechanism MD5",
        "context show nobody",
        "context add x -b nothing",
        "completion tcsh",
        "dance",
    ],
)
def test_invalid_arguments_are_reported_in_one_sentence_with_exit_code_2(people: People, line: str) -> None:
    ran: Ran = people(line, status=2)
    assert ran.out == ""
    assert ran.err.splitlines()[-1].startswith("kconf")
    assert "Traceback" not in ran.err
