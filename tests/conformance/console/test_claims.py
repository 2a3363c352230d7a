"""What the console claims of a topic that several tools change is true, or it says that it is unknown.

The model knows every step, since it made them: by kafka-configs.sh and kafka-topics.sh, through the gateway, and with a
client that records in a journal directory. Each context sees only a part of it: the claims of each are compared with
the model, at the end and at every moment between two steps.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import pytest

from kconf import AlterConfigOp, OpType, Resource, SyncAdminClient
from kconf.configdef.units import shown_value
from kconf.console.history.past import OTHER_TOOLS, POLLED_GATEWAY
from lab.tools import ToolServer
from tests.conformance.console.world import World

CONTEXTS = ("gateway", "polling-gateway", "followed", "polled", "journaled")
HOUR = 3_600_000
PRINCIPAL = "User:ANONYMOUS"
BATCH = 100
"""Milliseconds by which the time of a record may be before its request: the controller had already begun the batch."""


@dataclass(frozen=True)
class Step:
    """`configs` is what is set after it. `reason` is None if a tool made it that records nothing."""

    begin: int
    end: int
    configs: Mapping[str, str]
    changed: frozenset[str]
    context: str = ""
    reason: str | None = None
    is_new: bool = False
    """The topic is another one: nothing was set for a moment."""


@dataclass
class Model:
    """Makes each step, and remembers it."""

    world: World
    tools: ToolServer
    topic: str
    steps: list[Step] = field(default_factory=list)

    def configs(self, *args: str, **wanted: str | None) -> None:
        place = "--entity-type", "topics", "--entity-name", self.topic
        begin = _now()
        done = self.tools.kafka_configs(self.world.kafka.bootstrap, "--alter", *place, *args)
        assert done.returncode == 0, done.stderr
        self._add(begin, wanted)

    def create(self, **wanted: str) -> None:
        begin = _now()
        configs = [word for key, text in wanted.items() for word in ("--config", f"{_key(key)}={text}")]
        self._topics("--create", "--partitions", "1", *configs)
        self._add(begin, wanted, is_new=True)

    def recreate(self, **wanted: str) -> None:
        begin = _now()
        self._topics("--delete")
        self._until_deleted()
        configs = [word for key, text in wanted.items() for word in ("--config", f"{_key(key)}={text}")]
        self._topics("--create", "--partitions", "1", *configs)
        self._add(begin, wanted, is_new=True)

    def by_kconf(
        self, admin: AbstractContextManager[SyncAdminClient], context: str, reason: str, **wanted: str
    ) -> None:
        begin = _now()
        ops = [AlterConfigOp(OpType.SET, _key(key), text) for key, text in wanted.items()]
        with admin as client:
            client.incremental_alter_configs({Resource.topic(self.topic): ops}, reason=reason).raise_for_failures()
        self._add(begin, wanted, context=context, reason=reason)

    def _topics(self, *args: str) -> None:
        done = self.tools.kafka_topics(self.world.kafka.bootstrap, "--topic", self.topic, *args)
        assert done.returncode == 0, done.stderr

    def _until_deleted(self) -> None:
        with SyncAdminClient(self.world.kafka.bootstrap) as admin:
            while self.topic in set(admin.list_topics()):
                time.sleep(0.05)

    def _add(
        self,
        begin: int,
        wanted: Mapping[str, str | None],
        *,
        is_new: bool = False,
        context: str = "",
        reason: str | None = None,
    ) -> None:
        before = dict(self.steps[-1].configs) if self.steps else {}
        after: dict[str, str | None] = {
            **({} if is_new else before),
            **{_key(key): text for key, text in wanted.items()},
        }
        configs = {key: text for key, text in after.items() if text is not None}
        changed = frozenset(key for key in {*before, *configs} if before.get(key) != configs.get(key))
        changed |= frozenset(map(_key, wanted))
        self.steps.append(Step(begin - BATCH, _now(), configs, changed, context, reason, is_new))
        time.sleep(3 * BATCH / 1000)  # so that there is a moment between two steps

    # -- what is true ------------------------------------------------------------------------------------------------

    def moments(self) -> list[tuple[int, Mapping[str, str]]]:
        """A time after each step, and what was set then."""
        following = [each.begin for each in self.steps[1:]]
        return [((a.end + b) // 2, a.configs) for a, b in zip(self.steps, following, strict=False)]

    def values_between(self, key: str, begin: int, end: int) -> set[str | None]:
        """Every value that a key had from a time to a time."""
        found: set[str | None] = set()
        before: Mapping[str, str] = {}
        for step in self.steps:
            if begin <= step.end and step.begin <= end:
                found |= {_shown(key, before.get(key)), _shown(key, step.configs.get(key))}
                found |= {None} if step.is_new else set()
            before = step.configs
        held = [each for each in self.steps if each.end < begin]
        return found | {_shown(key, held[-1].configs.get(key) if held else None)}


def _key(name: str) -> str:
    return name.replace("_", ".")


def _shown(key: str, text: str | None) -> str | None:
    return None if text is None else shown_value(key, text)


def _now() -> int:
    return int(time.time() * 1000)


@pytest.fixture(scope="module")
def model(world: World, tools: ToolServer) -> Model:
    for context in CONTEXTS:  # before the first step, so that those that follow see all of them
        world.get(
            f"/{context}/activity", lambda found: found["source"] is not None or "no journal" in str(found["notes"])
        )
    model = Model(world, tools, f"{world.name}-claims")
    model.create(retention_ms=str(24 * HOUR))
    model.configs("--add-config", f"segment.ms={2 * HOUR}", segment_ms=str(2 * HOUR))
    gateway = SyncAdminClient(world.gateway.bootstrap)
    _until(world, "gateway", model)
    model.by_kconf(gateway, "gateway", "by the gateway", retention_ms=str(48 * HOUR))
    model.configs("--add-config", f"retention.ms={72 * HOUR}", retention_ms=str(72 * HOUR))
    model.by_kconf(world.journaled.open(), "journaled", "in the journal", segment_ms=str(3 * HOUR))
    model.configs("--add-config", f"segment.ms={4 * HOUR}", segment_ms=str(4 * HOUR))
    model.configs("--delete-config", "segment.ms", segment_ms=None)
    model.configs("--add-config", f"segment.ms={3 * HOUR}", segment_ms=str(3 * HOUR))  # as the journal has it
    model.recreate(segment_ms=str(2 * HOUR))
    model.configs("--add-config", f"flush.ms={HOUR}", flush_ms=str(HOUR))
    for context in CONTEXTS:
        _until(world, context, model)
    return model


def _until(world: World, context: str, model: Model) -> None:
    wanted = {key: _shown(key, text) for key, text in model.steps[-1].configs.items()}
    world.get(f"/{context}/topic/{model.topic}", lambda found: _set(found) == wanted)


def _set(page: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["shown"] for each in page["keys"] if each["is_set"]}


@pytest.mark.parametrize("context", CONTEXTS)
def test_every_author_is_correct_or_unknown(model: Model, world: World, context: str) -> None:
    status, page = world.ask(f"/{context}/topic/{model.topic}")
    assert status == 200
    for each in page["keys"]:
        if each["is_set"]:
            last = next(step for step in reversed(model.steps) if each["name"] in step.changed)
            _check_author(each["author"], last, context)
    _, clusters = world.ask("/")
    (cluster,) = (each for each in clusters["clusters"] if each["context"] == context)
    assert not cluster["has_all_changes"]  # all of them began today, and nothing records what was before


@pytest.mark.parametrize("context", CONTEXTS)
def test_every_shown_change_has_its_true_time_values_and_author(model: Model, world: World, context: str) -> None:
    _, page = world.ask(f"/{context}/topic/{model.topic}")
    rows = [each for each in page["changes"] if each["key"] in ("retention.ms", "segment.ms", "flush.ms")]
    assert bool(rows) == (context != "polled")
    for row in rows:
        begin, end = row["not_before"] or row["time"], row["time"]
        steps = [each for each in model.steps if each.begin <= end and begin <= each.end and row["key"] in each.changed]
        assert steps, row
        true = model.values_between(row["key"], begin, end)
        assert {row["before"], row["after"]} <= true, row
        if len(steps) == 1:
            _check_author(row, steps[0], context)


def _check_author(claim: dict[str, Any], step: Step, context: str) -> None:
    """An author is named only if kconf made the change where this context looks; with its reason."""
    if PRINCIPAL in claim["who"]:
        assert (step.context, claim["reason"]) == (context, step.reason), (claim, step)
    else:
        assert claim["who"].startswith("unknown") or "outside kconf" in claim["who"], claim
        assert claim["reason"] is None


def _true(model: Model, key: str, at: int, configs: Mapping[str, str], notes: Sequence[str]) -> set[str | None]:
    """The value of a key at a time. A gateway that polls, and says so, may have missed that it was changed back."""
    if POLLED_GATEWAY in notes:
        return model.values_between(key, 0, at)
    return {_shown(key, configs.get(key))}


@pytest.mark.parametrize("context", CONTEXTS)
def test_values_at_any_time_are_correct_or_unknown(model: Model, world: World, context: str) -> None:
    certain = 0
    for at, configs in model.moments():
        _, page = world.ask(f"/{context}/topic/{model.topic}?at={at}")
        rows = {each["key"]: each for each in page["at_rows"] if each["key"]}
        for key, row in rows.items():
            if not row["is_unknown"] and not row["is_uncertain"]:
                certain += 1
                assert row["then"] in _true(model, key, at, configs, page["notes"]), (at, row)
        may_be_more = not page["is_at_known"] or {OTHER_TOOLS, POLLED_GATEWAY} & {*page["notes"]}
        assert may_be_more or configs.keys() <= rows.keys(), (at, page["at_rows"])
    assert certain if context in ("gateway", "followed") else not (certain and context == "polled")


@pytest.mark.parametrize("context", CONTEXTS)
def test_differences_between_two_times_are_correct_or_unknown(model: Model, world: World, context: str) -> None:
    moments, certain = model.moments(), 0
    for (begin, one), (end, other) in zip(moments, moments[2:], strict=False):
        _, page = world.ask(f"/{context}/topic/{model.topic}?from={begin}&to={end}")
        diff = page["diff"]
        for row in diff["differences"]:
            key = row["key"]
            if key and not row["is_unknown"] and not row["is_uncertain"]:
                certain += 1
                assert row["before"] in _true(model, key, begin, one, diff["notes"]), row
                assert row["after"] in _true(model, key, end, other, diff["notes"]), row
        missed = {key for key in {*one, *other} if one.get(key) != other.get(key)}
        missed -= {each["key"] for each in diff["differences"]}
        assert not missed or not diff["is_known"] or diff["notes"], (begin, end, missed)
    assert certain or context not in ("gateway", "followed")


def test_a_change_in_the_journal_of_the_console_has_its_author_at_once(model: Model, world: World) -> None:
    """A client with the same journal has made it: no page shows it as a change made outside kconf."""
    model.by_kconf(world.journaled.open(), "journaled", "once more", flush_ms=str(2 * HOUR))
    _until(world, "journaled", model)
    _, page = world.ask(f"/journaled/topic/{model.topic}")
    author = next(each["author"] for each in page["keys"] if each["name"] == "flush.ms")
    assert PRINCIPAL in author["who"]
    assert author["reason"] == "once more"
