"""`kconf follow`, `history`, `blame`, `rollback` and `check` on real clusters that other tools change too."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from starlette.testclient import TestClient

from kconf.cli.compat.kafka_configs.main import main as kafka_configs
from kconf.client.contexts.context import Context
from kconf.console.app import create_app
from kconf.console.console import Console
from kconf.console.settings import ConsoleSettings, ListenAddress
from kconf.operations.target import Target
from lab.broker import KafkaBroker
from lab.tools import ToolServer
from tests.cli.commands.scenarios import People, a_name, until
from tests.cli.conftest import run_in_process
from tests.cli.history.scenarios import now

KEYS = ("retention.ms", "segment.ms", "flush.ms")


@contextmanager
def following(people: People, context: str, archive: Path) -> Iterator[subprocess.Popen[str]]:
    """Run `kconf follow` as a process; it is following when the block starts."""
    command = [sys.executable, "-m", "kconf", "follow", "-C", context, "--archive", str(archive), "--interval", "0.1"]
    environment = {**os.environ, "KCONF_CONFIG": str(people.config)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("following cluster=")
        yield process
    finally:
        process.kill()
        process.wait(60)


def archived(archive: Path) -> list[dict[str, Any]]:
    files = sorted(archive.glob("*/log-*.jsonl"), key=lambda each: each.name.split("-")[-2])
    return [json.loads(line) for each in files for line in each.read_text().splitlines()]


class Step(NamedTuple):
    topic: str
    key: str
    value: str | None
    reason: str | None  # None: another tool made it


class Day:
    """The complete list of changes that two tools made to some topics."""

    def __init__(self, people: People, tools: ToolServer, seed: int) -> None:
        self.people, self.tools, self.draw = people, tools, random.Random(seed)
        self.topics = [a_name("day") for _ in range(2)]
        self.steps: list[Step] = []
        self.moments: list[tuple[str, dict[tuple[str, str], str]]] = []

    def state(self) -> dict[tuple[str, str], str]:
        found: dict[tuple[str, str], str] = {}
        for each in self.steps:
            found.pop((each.topic, each.key), None)
            if each.value is not None:
                found[each.topic, each.key] = each.value
        return found

    def run(self, steps: int) -> None:
        self.people.topics(*self.topics)
        for number in range(steps):
            self._step(number)
            if number % 6 == 3:
                self.moments.append((now(), self.state()))
                time.sleep(0.5)  # a record has the start time of its batch, up to 25 ms earlier

    def _step(self, number: int) -> None:
        topic, key = self.draw.choice(self.topics), self.draw.choice(KEYS)
        live = self.state().get((topic, key))
        value = None if live is not None and self.draw.random() < 0.3 else str(86_400_000 + number)
        reason = f"ticket {number}" if self.draw.random() < 0.5 else None
        if reason is not None:
            words = f"unset topic:{topic} {key}" if value is None else f"set topic:{topic} {key}={value}"
            self.people(f"{words} -C here --yes --allow-data-loss --reason '{reason}'")
        else:
            change = ("--delete-config", key) if value is None else ("--add-config", f"{key}={value}")
            where = ("--alter", "--entity-type", "topics", "--entity-name", topic)
            assert self.tools.kafka_configs(self.people.bootstrap, *where, *change).returncode == 0
        self.steps.append(Step(topic, key, value, reason))
        wanted = {key: value for (name, key), value in self.state().items() if name == topic}
        until(lambda: self.people.overrides(f"topic:{topic}"), wanted)


@pytest.fixture
def people(kafka_431: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> People:
    found = People(tmp_path, kafka_431.bootstrap)
    found.add_context("here", journal=str(tmp_path / "journal"))
    controllers = kafka_431.address("CONTROLLER")
    found.add_context("followed", journal=str(tmp_path / "archive"), controllers=controllers)
    monkeypatch.setenv("KCONF_CONFIG", str(found.config))
    monkeypatch.delenv("KCONF_CONTEXT", raising=False)
    return found


def test_the_past_shown_after_a_day_of_two_tools_is_true(people: People, tools: ToolServer, tmp_path: Path) -> None:
    """Everything shown about the past is compared with the actual changes."""
    day = Day(people, tools, seed=17)
    archive = tmp_path / "archive"
    with following(people, "followed", archive):
        day.run(40)
        until(lambda: len([line for line in archived(archive) if line["resource_name"] in day.topics]), 42)
    _copy_journal(tmp_path / "journal", archive)

    for topic in day.topics:
        _history_is_complete(people, day, topic)
        _blame_is_true(people, day, topic, "followed", may_be_unknown=False)
        _blame_is_true(people, day, topic, "here", may_be_unknown=True)
    for then, state in day.moments:
        _rollback_is_true(people, day, then, state, "followed", may_be_unknown=False)
        _rollback_is_true(people, day, then, state, "here", may_be_unknown=True)


def _copy_journal(journal: Path, archive: Path) -> None:
    for path in journal.glob("*/client-*.jsonl"):
        (archive / path.parent.name / path.name).write_bytes(path.read_bytes())


def _history_is_complete(people: People, day: Day, topic: str) -> None:
    told = [each for each in people.items(f"history topic:{topic} -C followed") if each["key"] is not None]

    assert [(each["key"], each["after"], each["reason"]) for each in told] == [
        (each.key, each.value, each.reason) for each in day.steps if each.topic == topic
    ]


def _blame_is_true(people: People, day: Day, topic: str, context: str, *, may_be_unknown: bool) -> None:
    told = {each["key"]: each for each in people.items(f"blame topic:{topic} -C {context}") if each["key"] is not None}
    for (name, key), value in day.state().items():
        if name != topic:
            continue
        last = [each for each in day.steps if (each.topic, each.key) == (topic, key)][-1]
        assert told[key]["value"] == value
        if told[key]["reason"] is not None:
            assert told[key]["reason"] == last.reason, (context, key)
        else:
            assert may_be_unknown or last.reason is None


def _rollback_is_true(
    people: People, day: Day, then: str, state: dict[tuple[str, str], str], context: str, *, may_be_unknown: bool
) -> None:
    """Applying the plan to the live values restores the old ones, except for keys reported as unknown."""
    selectors = " ".join(f"topic:{each}" for each in day.topics)
    plan = people.whole(f"rollback {selectors} --to {then} --dry-run --allow-data-loss -C {context}")
    doubtful = [*plan["unknown"], *plan["uncertain"]]
    unknown = {tuple(each.removeprefix("topic:").split(" ", 1)) for each in doubtful}
    result = day.state()
    for each in plan["items"]:
        name = each["resource"].removeprefix("topic:"), each["key"]
        result.pop(name, None)
        if each["op"] == "set":
            result[name] = each["new"]

    assert may_be_unknown or not unknown
    known = {name for name in {*result, *state} if name not in unknown}
    assert {name: result.get(name) for name in known} == {name: state.get(name) for name in known}, (then, context)


@pytest.mark.faults
def test_a_follower_that_is_killed_loses_and_repeats_nothing_and_ghosts_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Uses its own broker: a restart restores the config of a deleted topic."""
    with KafkaBroker() as broker:
        people = People(tmp_path, broker.bootstrap)
        archive = tmp_path / "archive"
        people.add_context("here", controllers=broker.address("CONTROLLER"), journal=str(archive))
        monkeypatch.setenv("KCONF_CONFIG", str(people.config))
        name = a_name("ghost")
        with following(people, "here", archive) as first:
            people.topics(name, configs=[("retention.ms", "1000000")])
            until(lambda: len(archived(archive)), 2)
            first.send_signal(signal.SIGKILL)
        people(f"set topic:{name} retention.ms=2000000 --yes --allow-data-loss")
        with following(people, "here", archive) as second:
            people(f"set topic:{name} retention.ms=3000000 --yes --allow-data-loss")
            people(f"topic delete {name} --yes --allow-data-loss")
            until(lambda: len(archived(archive)), 6)
            broker.restart()
            people.topics(name)
            until(lambda: len(archived(archive)), 7)
            second.send_signal(signal.SIGTERM)
            assert second.wait(60) == 0
        lines = archived(archive)
        offline = people.items(f"history topic:{name} --metadata-log {broker.directory / 'data'}")
        found = people.items("check", status=3)
        badge = _finding_in_the_console(broker, name)
        cures = [each["cure"] for each in found if each["resource"] == f"topic:{name}"]
        for cure in cures[0].split(" && "):
            assert run_in_process(kafka_configs, cure.split()[1:]).status == 0
        until(lambda: people.overrides(f"topic:{name}"), {})
        after = people.items("check")

    assert [(each["op"], each["key"], each["after"]) for each in lines if each["kind"] == "config"] == [
        ("set", "retention.ms", "1000000"),
        ("set", "retention.ms", "2000000"),
        ("set", "retention.ms", "3000000"),
        ("delete", "retention.ms", None),
    ]
    assert [each["op"] for each in lines if each["kind"] == "topic"] == ["create", "delete", "create"]
    assert [(each["op"], each["key"], each["after"]) for each in offline if each["key"]] == [
        (each["op"], each["key"], each["after"]) for each in lines if each["kind"] == "config"
    ]
    assert [(each["finding"], each["key"]) for each in found] == [("ghost config", "retention.ms")]
    assert after == []
    assert badge.startswith("ghost config: ")


def _finding_in_the_console(broker: KafkaBroker, topic: str) -> str:
    """What the page of a topic says of its retention.ms, as soon as the cluster was compared with its log."""
    context = Context("here", broker.bootstrap, controllers=broker.address("CONTROLLER"))
    settings = ConsoleSettings(ListenAddress("127.0.0.1", 8080), [Target(context)], interval=1.0)
    with Console(settings) as console:
        browser = TestClient(create_app(console), base_url="http://127.0.0.1:8080")

        def finding() -> str | None:
            page = browser.get(f"/here/topic/{topic}", headers={"accept": "application/json"}).json()
            return next((each["finding"] for each in page.get("keys", ()) if each["name"] == "retention.ms"), None)

        until(lambda: finding() is not None, True)
        return str(finding())


def test_watch_follows_the_metadata_log(people: People) -> None:
    name = a_name()
    command = [sys.executable, "-m", "kconf", "watch", f"topic:{name}", "--count", "2", "-C", "followed", "-o", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watch:
        assert watch.stdout is not None
        assert watch.stderr is not None
        assert watch.stderr.readline() == "following the metadata log\n"
        people.topics(name, configs=[("retention.ms", "1000000")])
        shown = [json.loads(line) for line in watch.stdout]
        assert watch.wait(60) == 0

    assert [(each["op"], each["key"], each["after"]) for each in shown] == [
        ("create", None, "1 partition, 1 replica"),
        ("set", "retention.ms", "1000000"),
    ]
