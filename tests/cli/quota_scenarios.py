"""Scenarios for `kconf quota`: tests/cli/test_quota.py runs them on kconf, tests/conformance on real brokers."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from uuid import uuid4

from kconf.cli.main import main
from tests.cli.conftest import Ran, run_in_process


class Quotas:
    """Runs the command on one cluster, in this process."""

    def __init__(self, *where: str) -> None:
        self._where = where

    def __call__(self, line: str, *more: str) -> Ran:
        return run_in_process(main, ["quota", *shlex.split(line), *self._where, *more])

    def items(self, line: str) -> list[dict[str, Any]]:
        ran = self(line, "--output", "json")
        whole = json.loads(ran.out)
        assert (ran.status, whole["error"]) == (0, None), ran
        found: list[dict[str, Any]] = whole["items"]
        return found

    def stored(self, line: str) -> dict[tuple[str, str], str]:
        """Values by entity and key."""
        return {(each["resource"], each["key"]): each["value"] for each in self.items(f"list {line}")}

    def rungs(self, line: str) -> list[tuple[str, str, str]]:
        """Value, level and outcome of one key."""
        return [(each["value"], each["source"], each["outcome"]) for each in self.items(f"explain {line}")]


def until(found: Callable[[], object], wanted: object) -> None:
    """Wait: a broker learns of a change after the controller has responded."""
    ends = time.monotonic() + 60
    while (last := found()) != wanted:
        assert time.monotonic() < ends, last
        time.sleep(0.05)


def one_entity(quotas: Quotas) -> None:
    """Quotas are set, described, explained and removed, with old and new values."""
    user, client = f"u-{uuid4().hex[:8]}", f"c-{uuid4().hex[:8]}"
    whom, key = f"--user {user}", "producer_byte_rate"
    resource = json.dumps({"user": user}, separators=(",", ":"))

    dry = quotas(f"set {whom} {key}=10MiB request_percentage=12.5 --dry-run")
    assert (dry.status, quotas.stored(whom)) == (0, {})
    done = quotas(f"set {whom} {key}=10MiB request_percentage=12.5 --reason 'ticket 12'")

    assert (done.status, done.err) == (0, "")
    assert [each.split() for each in done.lines[1:]] == [
        ["user", user, key, "(unset)", "10MiB", "done"],
        ["user", user, "request_percentage", "(unset)", "12.5", "done"],
    ]
    told = {(f"quota:{resource}", key): "10485760", (f"quota:{resource}", "request_percentage"): "12.5"}
    until(lambda: quotas.stored(whom), told)
    assert quotas.rungs(f"{whom} --client-id {client} {key}") == [("10485760", "user", "applies")]
    same = quotas(f"set {whom} {key}=10485760")
    assert same.lines[1].split() == ["user", user, key, "10MiB", "10MiB", "own", "unchanged"]

    assert quotas(f"set {whom} --client-id {client} {key}=1MiB").status == 0
    until(lambda: len(quotas.rungs(f"{whom} --client-id {client} {key}")), 2)
    gone = quotas(f"unset {whom} --client-id {client} {key}")
    assert gone.lines[1].split()[-4:] == ["1MiB", "10MiB", "own", "done"]
    until(lambda: quotas.rungs(f"{whom} --client-id {client} {key}"), [("10485760", "user", "applies")])
    assert quotas(f"unset {whom} --all").status == 0
    until(lambda: quotas.stored(whom), {})


def the_ladder(quotas: Quotas) -> None:
    """All eight levels, set by options; the highest applies, the others are overridden, in order."""
    user, client, key = f"u-{uuid4().hex[:8]}", f"c-{uuid4().hex[:8]}", "consumer_byte_rate"
    who, whose = (f"--user {user}", "--user-default"), (f"--client-id {client}", "--client-id-default")
    places = [f"{one} {other}".strip() for one in who for other in (*whose, "")] + list(whose)
    for number, place in enumerate(places, 1):
        assert quotas(f"set {place} {key}={number} --yes").status == 0
    words = ["client in user", "default client in user", "user", "client in default user"]
    words += ["default client in default user", "default user", "client", "default client"]
    outcomes = ["applies", *["overridden"] * 7]
    ladder = [(str(number), *each) for number, each in enumerate(zip(words, outcomes, strict=True), 1)]

    until(lambda: quotas.rungs(f"--user {user} --client-id {client} {key}"), ladder)
    assert [each[1] for each in quotas.rungs(f"--user {user} {key}")] == ["user", "default user"]
    assert [each[1] for each in quotas.rungs(f"--client-id {client} {key}")] == ["client", "default client"]
    assert [each[1] for each in quotas.rungs(f"--user-default {key}")] == ["default user"]
    with NamedTemporaryFile("w", suffix=".csv") as pairs:
        pairs.write(f"user,client-id\n{user},{client}\n{user},other\n")
        pairs.flush()
        shifts = quotas.items(f"what-if --user {user} --client-id {client} {key}=none --pairs {pairs.name}")
    assert [(each["client_id"], each["old"], each["new"], each["new_source"]) for each in shifts] == [
        (client, "1", "2", words[1])
    ]
    for place in places:
        assert quotas(f"unset {place} {key} --yes").status == 0
    until(lambda: quotas.rungs(f"--user {user} --client-id {client} {key}"), [(None, None, "no limit")])


def addresses(quotas: Quotas) -> None:
    key = "connection_creation_rate"
    assert quotas(f"set --ip 192.0.2.7 {key}=500").status == 0
    assert quotas(f"set --ip-default {key}=1000 --yes").status == 0
    ladder = [("500", "ip", "applies"), ("1000", "default ip", "overridden")]
    until(lambda: quotas.rungs(f"--ip 192.0.2.7 {key}"), ladder)

    gone = quotas(f"unset --ip 192.0.2.7 {key}")
    assert gone.lines[1].split()[2:5] == [key, "500", "1000"]
    until(lambda: quotas.rungs(f"--ip 192.0.2.7 {key}"), [("1000", "default ip", "applies")])
    assert quotas(f"unset --ip-default {key} --yes").status == 0
    until(lambda: quotas.rungs(f"--ip 192.0.2.7 {key}"), [(None, None, "no limit")])


def many(quotas: Quotas, directory: Path, count: int) -> None:
    """One command sets them, loading the export changes nothing, and another command removes them."""
    mark = uuid4().hex[:8]
    source, sink = directory / "quotas.csv", directory / f"{mark}.yaml"
    names = [f"{mark}-{number:05d}" for number in range(count)]
    source.write_text("user,producer_byte_rate,request_percentage\n" + "".join(f"{each},1MiB,\n" for each in names))

    dry = quotas(f"load {source} --dry-run", "-o", "csv")
    assert (dry.status, len(dry.lines), dry.err) == (0, count + 1, "")
    done = quotas(f"load {source} --yes", "-o", "json")
    items = json.loads(done.out)["items"]
    assert done.status == 0
    assert [(each["line"], each["outcome"]) for each in items] == [(line, "done") for line in range(2, count + 2)]
    until(lambda: sum(mark in each for each, _ in quotas.stored("")), count)

    assert quotas(f"export --out {sink}").status == 0
    again = quotas(f"load {sink}")  # nothing to confirm
    assert (again.status, again.out) == (0, "")
    assert f"{len(quotas.stored(''))} quotas already match the file" in again.err
    source.write_text("user,producer_byte_rate\n" + "".join(f"{each},none\n" for each in names))
    assert quotas(f"load {source} --yes").status == 0
    until(lambda: sum(mark in each for each, _ in quotas.stored("")), 0)


SCENARIOS: Sequence[Callable[[Quotas], None]] = (one_entity, the_ladder, addresses)
