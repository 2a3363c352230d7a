"""The loop of `kconf pipeline follow` with fake steps: what is due, what fails, and the result of /health."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from kconf.errors import ConfigurationError
from kconf.lake.storage.location import LakeError
from kconf.spark import runner
from kconf.spark.bronze import Read
from kconf.spark.following.follower import PipelineFollower, Schedule
from kconf.spark.following.source_health import SourceHealth
from kconf.spark.inputs import Inputs, Sources
from kconf.spark.runner import Summary

PROD, TEST = {"context": "prod"}, {"bootstrap.servers": "127.0.0.1:9"}


class Steps:
    """Replaces the steps that use Spark."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.done: list[str] = []
        self.read: list[Sources] = []
        self.failures: list[Exception] = []
        self.unreachable: dict[str, str] = {}
        self.skipped: dict[str, str] = {}
        self.rejected: frozenset[str] = frozenset()
        self.log_seconds = 0.0
        self.number = 0
        monkeypatch.setattr(runner, "run", self._run)
        monkeypatch.setattr(runner, "compact", self._compact)
        monkeypatch.setattr(runner, "vacuum", lambda *_: self.done.append("vacuum"))
        monkeypatch.setattr(runner, "rejected", lambda _: self.rejected)

    def _compact(self, *_: object) -> tuple[int, int]:
        self.done.append("compact")
        return 3, 1

    def lake(self) -> Any:
        return None

    def _run(
        self, _: Any, sources: Sources, inputs: Inputs, say: object, on_unreachable: Callable[..., None]
    ) -> Summary:
        self.read.append(sources)
        if self.failures:
            raise self.failures.pop(0)
        for each in sources.clusters:
            name = each.get("context", "")
            if name in self.unreachable:
                on_unreachable(each, LakeError(self.unreachable[name]))
        self.number += 1
        self.now += 2.0
        return Summary(self.number, Read(journal=5, skipped=self.skipped, log_seconds=self.log_seconds))

    def follower(self, sources: Sources, schedule: Schedule | None = None, **more: Any) -> PipelineFollower:
        given = schedule or Schedule(compactions=None, vacuums=None)
        return PipelineFollower(self, sources, Inputs, given, clock=lambda: self.now, **more)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    return Steps(monkeypatch)


def test_a_round_reads_every_source_and_is_counted(steps: Steps) -> None:
    follower = steps.follower(Sources(["archive"], ["snapshots"], (), ["log"]))
    assert follower.health()["status"] == "starting"

    assert follower.step()

    assert steps.read == [Sources(["archive"], ["snapshots"], [], ["log"])]
    assert (follower.counts.runs, follower.counts.read["journal"], follower.round_seconds) == (1, 5, 2.0)
    health = {"status": "ok", "run": 1, "behind_seconds": 2.0, "pipeline": "ok", "sources": {}}
    assert follower.health() == health
    steps.now += 100
    assert follower.health()["status"] == "stale"


def test_snapshots_have_their_own_schedule_and_a_cluster_that_is_unreachable_is_tried_sooner(steps: Steps) -> None:
    follower = steps.follower(Sources(clusters=[PROD, TEST]), Schedule(1, 300, None, None))
    steps.unreachable = {"prod": "no broker responds"}

    asked = []
    for seconds in (0, 10, 30, 300):
        steps.now = 1000.0 + seconds
        assert follower.step(), "the other sources are still read"
        asked.append(list(steps.read[-1].clusters))
        if not seconds:
            assert follower.health()["status"] == "alarm"
            assert follower.health()["sources"] == {
                "prod": {"seconds_since_success": None, "alarm": "no broker responds"},
                "127.0.0.1:9": {"seconds_since_success": 2.0, "alarm": None},
            }
            steps.unreachable = {}

    assert asked == [[PROD, TEST], [], [PROD], [TEST]]
    assert ([each.alarm for each in follower.sources], follower.health()["status"]) == ([None, None], "ok")


def test_a_metadata_log_that_takes_long_to_parse_is_read_less_often(steps: Steps) -> None:
    follower = steps.follower(Sources(["archive"], metadata_logs=["log"]))
    steps.log_seconds = 3.0

    read, behind = [], []
    for seconds in (0, 10, 61, 63, 70):
        steps.now = 1000.0 + seconds
        assert follower.step()
        read.append(list(steps.read[-1].metadata_logs))
        behind.append(follower.behind)

    assert read == [["log"], [], [], ["log"], []]
    assert behind == [2.0, 12.0, 63.0, 2.0, 9.0], "the log was not read since"


def test_a_cluster_without_a_snapshot_for_too_long_is_unhealthy(steps: Steps) -> None:
    follower = steps.follower(Sources(clusters=[PROD]), Schedule(1, 300, None, None, max_lag=60.0))
    steps.unreachable = {"prod": "no broker responds"}
    assert follower.step()
    assert follower.health()["status"] == "alarm"

    steps.now = 1000.0 + 361
    assert follower.step(), "the lake itself is current"

    health = follower.health()
    assert (health["status"], health["behind_seconds"]) == ("unhealthy", 2.0)
    assert health["problem"] == "no snapshot of prod for 363 s: no broker responds"
    steps.unreachable = {}
    steps.now += 30
    assert follower.step()
    assert (follower.health()["status"], follower.health().get("problem")) == ("ok", None)


class Feed:
    """A copy of a server's journal, without the server."""

    def __init__(self, name: str, cluster: str | None, current_at: float | None) -> None:
        self.name, self.cluster, self.current_at, self.health = name, cluster, current_at, SourceHealth(name)
        self.started = Event()

    @property
    def alarm(self) -> str | None:
        return self.health.alarm

    def run(self, stopped: Event) -> None:
        self.started.set()


def test_the_delay_of_a_lake_includes_that_of_the_copies_of_servers(steps: Steps) -> None:
    one, other = Feed("one", "c-1", 900.0), Feed("other", "c-2", None)
    follower = steps.follower(Sources(["archive"]), feeds=[one, other])

    behind = []
    for seconds, one.current_at, other.current_at in ((0, 900.0, None), (10, 1009.0, 1008.0), (30, 1029.0, 1008.0)):
        steps.now = 1000.0 + seconds
        assert follower.step()
        behind.append(follower.behind)

    assert behind == [2.0 + 100.0, 2.0 + 2.0, 2.0 + 22.0]
    assert follower.health()["status"] == "ok"
    other.health.alarm = "no broker responds"
    assert follower.health()["status"] == "alarm"
    steps.now += 600
    assert follower.step()
    assert follower.health()["status"] == "unhealthy"
    assert follower.health()["problem"] == "the lake is 626 s behind: other: no broker responds"


def test_the_most_current_copy_of_a_cluster_determines_the_delay(steps: Steps) -> None:
    follower = steps.follower(Sources(), feeds=[Feed("one", "c-1", 900.0), Feed("other", "c-1", 999.0)])

    assert follower.step()

    assert follower.behind == 3.0


def test_a_thread_of_a_copy_that_ended_is_started_again(steps: Steps, caplog: pytest.LogCaptureFixture) -> None:
    feed, stopped = Feed("one", "c-1", 1000.0), Event()
    follower = steps.follower(Sources(), Schedule(0.0, 1, None, None), feeds=[feed])
    step, started = follower.step, []

    def stepped() -> bool:
        started.append(feed.started.wait(60))
        feed.started.clear()
        if len(started) == 3:
            stopped.set()
        follower._copying["one"].join(60)
        return step()

    follower.step = stepped  # type: ignore[method-assign]
    follower.run(stopped)

    assert started == [True, True, True]
    assert "the thread that copies the journal of one ended unexpectedly; starting a new one" in caplog.text


@pytest.mark.parametrize(
    ("failure", "alarm"),
    [
        (LakeError("The disk is full."), "The disk is full."),
        (ConfigurationError("rules.yaml:3: unknown key"), "rules.yaml:3: unknown key"),
        (OSError(28, "No space left on device", "lake/x"), "No space left on device: lake/x"),
        (RuntimeError("secret-value"), "an unexpected RuntimeError"),
    ],
)
def test_a_failed_step_raises_an_alarm_until_the_next_success(steps: Steps, failure: Exception, alarm: str) -> None:
    follower = steps.follower(Sources(["archive"]))
    steps.failures = [failure]

    assert not follower.step()
    assert (follower.alarm, follower.counts.failures, follower.health()["status"]) == (alarm, 1, "alarm")

    assert follower.step()
    assert (follower.alarm, follower.health()["status"]) == (None, "ok")


def test_maintenance_comes_after_a_round_when_it_is_due(steps: Steps) -> None:
    follower = steps.follower(Sources(["archive"]), Schedule(1, 300, 60, 100))

    for seconds in (0, 59, 61, 100, 130):
        steps.now = 1000.0 + seconds
        steps.done.append(f"{seconds}:")
        assert follower.step()

    assert "".join(steps.done) == "0:59:compact61:100:vacuum130:compact"
    assert (follower.counts.compactions, follower.counts.vacuums) == (2, 1)


def test_copied_files_are_deleted_after_a_run_has_read_them(steps: Steps, tmp_path: Path) -> None:
    copies = tmp_path / "feeds"
    (copies / "c").mkdir(parents=True)
    (copies / "c" / "1.jsonl").touch()
    (copies / "c" / ".feed.json").touch()
    follower = steps.follower(Sources(["archive"]), copies=copies)
    steps.failures = [LakeError("busy")]

    assert not follower.step()
    assert (copies / "c" / "1.jsonl").exists()

    assert follower.step()
    assert list(steps.read[-1].archives) == ["archive", str(copies)]
    assert [path.name for path in (copies / "c").iterdir()] == [".feed.json"]


def test_a_follower_that_is_stopped_finishes_its_step(steps: Steps) -> None:
    stopped = Event()
    follower = steps.follower(Sources(["archive"]), Schedule(0.0, 1, None, None))
    step = follower.step

    def last() -> bool:
        stopped.set()
        return step()

    follower.step = last  # type: ignore[method-assign]
    follower.run(stopped)

    assert (steps.number, follower.counts.runs) == (1, 1)


def test_a_copied_file_that_a_run_skips_or_with_lines_in_quarantine_is_kept(steps: Steps, tmp_path: Path) -> None:
    """The quarantine does not have the values of a line."""
    read, skipped, rejected = (
        tmp_path / "cluster" / name for name in ("read.jsonl", "skipped.jsonl", "rejected.jsonl")
    )
    read.parent.mkdir()
    for each in (read, skipped, rejected):
        each.write_text("{}")
    steps.skipped[str(skipped)] = "it cannot be read"
    steps.rejected = frozenset([str(rejected)])
    follower = steps.follower(Sources(), copies=tmp_path)

    for _ in range(2):
        assert follower.step()
        assert sorted(each.name for each in read.parent.iterdir()) == ["rejected.jsonl", "skipped.jsonl"]
        steps.skipped = {str(skipped): "it cannot be read"}
