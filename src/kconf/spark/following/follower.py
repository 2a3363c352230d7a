"""Keeps a lake current: pipeline runs in a loop, in one Spark session, until it is stopped.

Each step is a complete run, compaction or vacuum, the same as by `kconf pipeline run`, `compact` or `vacuum`. If a step
fails or the process is killed, the next step continues from there, as after a failed run. If a cluster is unreachable,
the other sources are still read. A failed step raises an alarm in the log, in /health and in the metrics, and is
retried. If the JVM of the session has ended, a new session is started.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from logging import getLogger
from threading import Event, Thread
from typing import TYPE_CHECKING, Final, Protocol

from kconf.errors import KconfError
from kconf.spark import runner
from kconf.spark.bronze import Read
from kconf.spark.following.feed_copy import FeedCopy, copied_until
from kconf.spark.following.source_health import SourceHealth, overdue
from kconf.spark.inputs import Inputs, Sources
from kconf.spark.runner import Summary
from kconf.util.http_endpoint import UNHEALTHY

if TYPE_CHECKING:
    from pathlib import Path

    from kconf.lake.storage.location import LakeError
    from kconf.spark.delta_tables import Lake

log = getLogger(__name__)

STALE: Final = 60.0
"""Seconds since the start of the last finished round after which /health reports `stale`."""
_RETRY, _LONGEST_RETRY = 1.0, 60.0  # seconds
_LOG_PAUSE: Final = 20
"""A metadata log is parsed as a whole, so it is read again only after this multiple of the time that this takes."""
_SOONER: Final = 30.0  # seconds until the next snapshot of a cluster that was unreachable, at most


class Sessions(Protocol):
    """Where the Spark session comes from."""

    def lake(self) -> Lake:
        """The lake, with a working session; a dead session is replaced."""
        ...


@dataclass(frozen=True)
class Schedule:
    """Seconds between the starts of two rounds, two snapshots of a cluster, two compactions and two vacuums.

    None means never. `hours` is the age at which a vacuum deletes a file, `max_lag` the seconds after which a lake that
    is behind, or a cluster without a snapshot, is unhealthy.
    """

    rounds: float = 1.0
    snapshots: float = 300.0
    compactions: float | None = 3600.0
    vacuums: float | None = 86_400.0
    hours: int = 168
    max_lag: float = 600.0


@dataclass
class Timer:
    """When something is due again. The first time is `interval` after the start, or at once."""

    interval: float | None
    at: float

    def is_due(self, now: float) -> bool:
        return self.interval is not None and now >= self.at

    def done(self, now: float) -> None:
        self.at = now + (self.interval or 0.0)


@dataclass
class Counts:
    """Counters since the follower was started."""

    rounds: int = 0
    runs: int = 0
    failures: int = 0
    compactions: int = 0
    vacuums: int = 0
    read: dict[str, int] = field(default_factory=lambda: dict(Read().counts))


class PipelineFollower:
    """One thread calls `run`; others may read its metrics."""

    def __init__(
        self,
        sessions: Sessions,
        sources: Sources,
        inputs: Callable[[], Inputs],
        schedule: Schedule,
        feeds: Sequence[FeedCopy] = (),
        copies: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        now = clock()
        self.counts = Counts()
        self.last_run: int | None = None
        self.round_seconds = 0.0
        self.alarm: str | None = None
        self.clusters = {name: SourceHealth(name) for name in map(cluster_name, sources.clusters)}
        self.feeds = feeds
        self._copying: dict[str, Thread] = {}
        self._sessions, self._sources, self._inputs, self._schedule = sessions, sources, inputs, schedule
        self._copies, self._clock = copies, clock
        self._current_at: float | None = None  # until when the lake has everything
        self._logs, self._logs_read = Timer(0.0, now), now
        self._started = now
        self._snapshots = {cluster_name(each): Timer(schedule.snapshots, now) for each in sources.clusters}
        self._compaction, self._vacuum = (
            Timer(each, now + (each or 0.0)) for each in (schedule.compactions, schedule.vacuums)
        )

    # -- figures -----------------------------------------------------------------------------------------------------

    @property
    def behind(self) -> float:
        """How many seconds the lake is behind its sources."""
        return self._clock() - (self._started if self._current_at is None else self._current_at)

    @property
    def sources(self) -> list[SourceHealth]:
        """The live sources: servers and clusters."""
        return [*(each.health for each in self.feeds), *self.clusters.values()]

    def seconds_since(self, moment: float) -> float:
        """The seconds since a moment, by the same clock as the metrics."""
        return self._clock() - moment

    def health(self) -> dict[str, object]:
        problems, is_alarm = self._problems(), self.alarm or any(each.alarm for each in self.sources)
        return {
            "status": UNHEALTHY if problems else "alarm" if is_alarm else self._pace(),
            **({"problem": "; ".join(problems)} if problems else {}),
            "run": self.last_run,
            "behind_seconds": round(self.behind, 1),
            "pipeline": self.alarm or "ok",
            "sources": {each.name: each.shown(self._clock()) for each in self.sources},
        }

    def _problems(self) -> list[str]:
        """What makes the follower unhealthy: a lake that is behind, or clusters without a snapshot, for too long."""
        limit, now = self._schedule.max_lag, self._clock()
        late = overdue(self.clusters, self._started, now, self._schedule.snapshots + limit)
        if self.behind <= limit:
            return late
        reasons = [*([self.alarm] if self.alarm else []), *(f"{e.name}: {e.alarm}" for e in self.feeds if e.alarm)]
        return [": ".join([f"the lake is {self.behind:.0f} s behind", *reasons]), *late]

    def _pace(self) -> str:
        if self._current_at is None and self.behind < STALE:
            return "starting"
        return "stale" if self.behind > STALE else "ok"

    # -- the loop ----------------------------------------------------------------------------------------------------

    def run(self, stopped: Event) -> None:
        """Follow until `stopped` is set. The current step is finished first."""
        retry = _RETRY
        while not stopped.is_set():
            began = self._clock()
            self._start_copying(stopped)
            if self.step():
                retry = _RETRY
                stopped.wait(max(0.0, began + self._schedule.rounds - self._clock()))
            else:
                stopped.wait(retry)
                retry = min(2 * retry, _LONGEST_RETRY)

    def _start_copying(self, stopped: Event) -> None:
        """Start the thread of each server, and again if it has ended."""
        for feed in self.feeds:
            thread = self._copying.get(feed.name)
            if thread is not None and not thread.is_alive():
                log.error("the thread that copies the journal of %s ended unexpectedly; starting a new one", feed.name)
            if thread is None or not thread.is_alive():
                thread = Thread(target=feed.run, args=(stopped,), name=f"feed of {feed.name}", daemon=True)
                self._copying[feed.name] = thread
                thread.start()

    def step(self) -> bool:
        """Do a round, and the maintenance that is due. Returns False if something failed and must be retried."""
        try:
            lake = self._sessions.lake()
            self._round(lake)
            self._maintain(lake)
        except (KconfError, OSError) as error:
            text = str(error) if isinstance(error, KconfError) else f"{error.strerror}: {error.filename}"
            return self._failed(text, None)
        except Exception as error:  # a bug must not end the loop: the next step continues as after a failed run
            return self._failed(f"an unexpected {type(error).__name__}", error)
        if self.alarm is not None:
            log.info("the lake is current again run=%s", self.last_run)
        self.alarm = None
        return True

    def _failed(self, alarm: str, error: Exception | None) -> bool:
        """Log an alarm, unless it is the same as before."""
        self.counts.failures += 1
        if alarm != self.alarm:
            log.error("the lake could not be updated: %s", alarm, exc_info=error)
        self.alarm = alarm
        return False

    def _round(self, lake: Lake) -> None:
        began = self._clock()
        due = [each for each in self._sources.clusters if self._snapshots[cluster_name(each)].is_due(began)]
        until = copied_until(self.feeds, self._started)  # before the files are listed
        copied = self._copied()
        archives = [*self._sources.archives, *([str(self._copies)] if self._copies is not None else [])]
        logs = self._sources.metadata_logs if self._logs.is_due(began) else ()
        sources = replace(self._sources, archives=archives, clusters=due, metadata_logs=logs)
        unreachable: dict[str, str] = {}
        done = runner.run(lake, sources, self._inputs(), log.debug, partial(_note, unreachable))
        for each in due:
            self._taken(cluster_name(each), unreachable, began)
        # a file that was not read, or whose rejected lines are nowhere else, must not be deleted
        kept = {os.path.realpath(each) for each in (*done.read.skipped, *runner.rejected(lake))} if copied else set()
        for path in copied:
            if os.path.realpath(path) not in kept:
                path.unlink(missing_ok=True)
        self._logs.at = self._clock() + _LOG_PAUSE * done.read.log_seconds if logs else self._logs.at
        self._logs_read = began if logs or not self._sources.metadata_logs else self._logs_read
        self._current_at = min(self._logs_read, began if until is None else until)
        self._count(done, began)

    def _taken(self, cluster: str, unreachable: Mapping[str, str], began: float) -> None:
        """Record whether a snapshot was taken, and when the next one is due."""
        timer = self._snapshots[cluster]
        timer.done(began)
        if cluster in unreachable:
            self.clusters[cluster].alarm = unreachable[cluster]
            timer.at = min(timer.at, began + _SOONER)
        else:
            self.clusters[cluster].works(began)

    def _copied(self) -> list[Path]:
        """The copied files that this round reads: those that exist before it starts."""
        if self._copies is None:
            return []
        self._copies.mkdir(parents=True, exist_ok=True)
        return [path for path in self._copies.glob("*/*.jsonl") if not path.name.startswith(".")]

    def _count(self, done: Summary, began: float) -> None:
        self.counts.rounds += 1
        for name, count in done.read.counts.items():
            self.counts.read[name] += count
        for path, reason in sorted(done.read.skipped.items()):
            log.warning("skipped %s: %s", path, reason)
        self.round_seconds = self._clock() - began
        if done.number is not None:
            self.counts.runs += 1
            self.last_run = done.number
            counts = " ".join(f"{name}={count}" for name, count in done.read.counts.items())
            log.info("run %d %s seconds=%.1f", done.number, counts, self.round_seconds)

    def _maintain(self, lake: Lake) -> None:
        now = self._clock()
        if self.last_run is None and runner.last_run(lake) is None:
            return  # there are no tables yet
        if self._compaction.is_due(now):
            removed, added = runner.compact(lake, log.debug, self._copies)
            self._compaction.done(now)
            self.counts.compactions += 1
            log.info("compacted files=%d into=%d", removed, added)
        if self._vacuum.is_due(now):
            runner.vacuum(lake, self._schedule.hours, log.debug)
            self._vacuum.done(now)
            self.counts.vacuums += 1
            log.info("deleted files that no version of the last %d hours needs", self._schedule.hours)


def _note(unreachable: dict[str, str], options: Mapping[str, str], error: LakeError) -> None:
    name = cluster_name(options)
    log.error("no snapshot of %s: %s", name, error)
    unreachable[name] = str(error)


def cluster_name(options: Mapping[str, str]) -> str:
    return options.get("context") or options.get("bootstrap.servers") or ""
