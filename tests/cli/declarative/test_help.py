"""Every example of `--help` is run, on a kconf server and in a directory with the files that the examples name."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from kconf import AlterConfigOp, NewTopic, OpType, Resource, SyncAdminClient
from kconf.cli.main import COMMANDS, GROUPS
from tests.cli.conftest import run_program
from tests.support.process import KconfProcess

OURS = {**GROUPS["declarative configuration"], **GROUPS["change history"], "snapshot": COMMANDS["snapshot"]}
DIFFERENT = ("plan", "diff")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with the contexts, declarative files and plan that the examples name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KCONF_CONFIG", str(tmp_path / "config.yaml"))
    monkeypatch.delenv("KCONF_CONTEXT", raising=False)
    with KconfProcess() as server, SyncAdminClient(server.bootstrap) as admin:
        topics = [NewTopic(each, 1, 1) for each in ("orders", "orders.eu")]
        admin.create_topics(topics).raise_for_failures()
        for name in ("prod-eu", "prod-us"):
            assert run_program("context", "add", name, "-b", server.bootstrap).status == 0
        files = tmp_path / "clusters" / "prod"
        files.mkdir(parents=True)
        (files / "a.yaml").write_text(
            "selector: [topic, user]\ntopics: {orders: {configs: {segment.ms: 1h}}, orders.eu: }"
        )
        assert run_program("plan", "-f", "clusters/prod", "--out", "prod.plan").status == 3
        requested = {Resource.topic("orders"): [AlterConfigOp(OpType.SET, "segment.bytes", "2000000")]}
        admin.incremental_alter_configs(requested).raise_for_failures()
        yield tmp_path


def text_of(name: str) -> str:
    found = import_module(f"kconf.cli.{OURS[name]}").EXAMPLES
    return str(found[name] if isinstance(found, dict) else found)


def examples(name: str, place: Path) -> list[list[str]]:
    """The examples; tests/conformance/test_follow_command.py runs those about the metadata log of a KRaft cluster."""
    lines = re.findall(r"^  kconf (?!.*(?:--controllers|--metadata-log))(.*)$", text_of(name), re.MULTILINE)
    return [shlex.split(line.replace("/var/lib/kconf", str(place))) for line in lines]


@pytest.mark.parametrize("name", [each for each in OURS if each != "watch"])
def test_the_examples_work(place: Path, name: str) -> None:
    lines = examples(name, place)
    assert lines
    for words in lines:
        done = run_program(*words)
        allowed = (0, 3) if name in DIFFERENT else (0,)
        assert (done.status in allowed, "Traceback" in done.err) == (True, False), (words, done)


def test_a_watch_runs_until_it_is_interrupted(place: Path) -> None:
    lines = examples("watch", place)
    assert lines
    for words in lines:
        command = [sys.executable, "-m", "kconf", *words]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as watch:
            assert watch.stderr is not None
            assert "watching" in watch.stderr.readline()
            watch.send_signal(signal.SIGINT)
            assert watch.wait(60) == 130
            assert watch.stderr.read() == ""


@pytest.mark.parametrize("name", OURS)
def test_the_help_has_the_examples(name: str) -> None:
    shown = run_program(name, "--help")
    assert shown.status == 0
    assert " ".join(text_of(name).split()) in " ".join(shown.out.split())
