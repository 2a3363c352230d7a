"""`kconf pipeline follow`: keep the tables of a lake current, in one Spark session."""

from __future__ import annotations

import argparse
import asyncio
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

from kconf.cli.common.pipeline.options import add_inputs, add_sources, cluster_of, inputs_of, sources_of
from kconf.cli.common.pipeline.spark_session import checked_places, spark_settings
from kconf.cli.logs import configure
from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from kconf.lake.storage.lock import LakeLock
    from kconf.spark.following.feed_copy import FeedCopy
    from kconf.spark.following.follower import PipelineFollower, Schedule
    from kconf.spark.following.sessions import SparkSessions

_COPIES: Final = "feeds"
"""The directory in a local lake for copied journals."""
_FEED_INTERVAL: Final = 1.0  # seconds between two pages of a change feed
_LOCK: Final = ".follow"


def add_follow(parser: argparse.ArgumentParser) -> None:
    add_sources(parser)
    add = parser.add_argument
    add(
        "--server",
        metavar="CONTEXT|HOST:PORT",
        action="append",
        default=[],
        help="a kconf server whose changes are read from its change feed; may be repeated",
    )
    add("--copies", metavar="DIR", type=Path, help="directory for changes of --server until a run has read them")
    add_inputs(parser)
    add("--interval", metavar="TIME", default="1s", help="time between the starts of two rounds (default: 1s)")
    add(
        "--snapshot-interval",
        metavar="TIME",
        default="5m",
        help="time between two snapshots of a live cluster (default: 5m)",
    )
    add("--compact-interval", metavar="TIME", default="1h", help="time between two compactions; 0: never (default: 1h)")
    add(
        "--vacuum-interval",
        metavar="TIME",
        default="24h",
        help="time between two deletions of old files; 0: never (default: 24h)",
    )
    add("--hours", metavar="N", type=int, default=168, help="retention of old table versions (default: 168)")
    add("--metrics", metavar="HOST:PORT", help="serve Prometheus /metrics and /health on this address")
    add(
        "--max-lag",
        metavar="TIME",
        default="10m",
        help="lag of the lake, or delay of a snapshot, above which /health responds 503 (default: 10m)",
    )
    add(
        "--log-level",
        metavar="LEVEL",
        default="INFO",
        choices=("DEBUG", "INFO", "WARN", "ERROR"),
        help="minimum level of messages that are logged (default: INFO)",
    )


def run_follow(options: argparse.Namespace) -> int:
    """Follow until SIGTERM or SIGINT. The current step is finished first."""
    configure(options.log_level)
    if not any((options.archive, options.snapshot, options.metadata_log, options.server)):
        raise ConfigurationError("nothing to follow: pass --archive, --snapshot, --metadata-log or --server")
    if options.hours < 168:
        raise ConfigurationError(
            "--hours must be at least 168: readers and running jobs may need files of the last week"
        )
    from kconf.spark import session

    session.check_pyspark()
    session.check_java()
    settings, schedule, sources = spark_settings(options.conf), _schedule(options), sources_of(options)
    inputs_of(options)
    places = checked_places(options.lake, *sources.archives, *sources.snapshots)
    copies = _copies(options)
    feeds = _feeds(options.server, copies)
    stopped = Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: stopped.set())
    from kconf.lake.storage.location import is_s3
    from kconf.spark.following.copies import claim
    from kconf.spark.following.follower import PipelineFollower
    from kconf.spark.following.sessions import SparkSessions

    with ExitStack() as stack:
        ensure_lock = stack.enter_context(_alone(options.lake))
        if feeds:
            claim(copies, options.lake)
        s3 = any(map(is_s3, places))
        sessions = SparkSessions(options.lake, options.master, options.log, settings, s3=s3, ensure_lock=ensure_lock)
        stack.callback(sessions.close)
        follower = PipelineFollower(
            sessions, sources, lambda: inputs_of(options), schedule, feeds, copies if feeds else None
        )
        extra = stack.enter_context(_served(options.metrics, follower, sessions))
        print(f"following lake={options.lake}{extra}", flush=True)
        follower.run(stopped)
    return 0


def _schedule(options: argparse.Namespace) -> Schedule:
    from kconf.spark.following.follower import Schedule

    return Schedule(
        _seconds("--interval", options.interval),
        _seconds("--snapshot-interval", options.snapshot_interval),
        _seconds("--compact-interval", options.compact_interval) or None,
        _seconds("--vacuum-interval", options.vacuum_interval) or None,
        options.hours,
        _seconds("--max-lag", options.max_lag),
    )


def _seconds(option: str, text: str) -> float:
    from kconf.configdef.units import TIMES

    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    try:
        seconds = float(number) * TIMES[text[len(number) :] or "s"] / 1000
    except (ValueError, KeyError):
        seconds = -1.0
    if not 0 <= seconds < 1e8:
        raise ConfigurationError(f"{option} takes a duration such as 30s or 5m, not {text!r}")
    return seconds


def _copies(options: argparse.Namespace) -> Path:
    from kconf.lake.storage.location import local_path

    local = local_path(options.lake)
    if options.copies is not None:
        return Path(options.copies).absolute()
    if local is None and options.server:
        raise ConfigurationError("--server needs --copies DIR, because the lake is not a local directory")
    return (local or Path()) / _COPIES


def _feeds(servers: Sequence[str], copies: Path) -> list[FeedCopy]:
    from kconf.spark.following.feed_copy import FeedCopy
    from kconf.spark.source.options import SourceOptions

    options = {each: SourceOptions.of(cluster_of(each)) for each in servers}
    return [FeedCopy(name, each.open, copies, _FEED_INTERVAL) for name, each in options.items()]


@contextmanager
def _alone(uri: str) -> Iterator[Callable[[], None]]:
    """Allow only one follower on a lake; other commands can run between two rounds. Yields a function that raises an
    error if the lock was lost to another follower."""
    from kconf.lake.storage.location import LakeError, is_object_store, local_path, located
    from kconf.util.atomic_files import FileLock

    local = local_path(uri)
    if local is None:
        if not is_object_store(uri):
            yield _nothing
            return
        with _lease(located(uri)) as lease:
            yield lease.ensure
        return
    try:
        local.mkdir(parents=True, exist_ok=True)
        lock = FileLock(local / _LOCK)
    except OSError as error:
        raise LakeError(f"Cannot write the lake {uri}: {error.strerror}.") from None
    try:
        yield _nothing
    finally:
        lock.release()


def _nothing() -> None:
    """A file lock is never lost."""


def _lease(uri: str) -> AbstractContextManager[LakeLock]:
    from kconf.lake.storage.lock import FOLLOWERS, LakeLock

    return LakeLock(uri, FOLLOWERS).held()


@contextmanager
def _served(where: str | None, follower: PipelineFollower, sessions: SparkSessions) -> Iterator[str]:
    """Serve /metrics and /health in a separate thread, because Spark's calls block."""
    if where is None:
        yield ""
        return
    from kconf.cli.commands.serve import address

    host, port = address(where)
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="metrics", daemon=True)
    thread.start()
    try:
        try:
            found = asyncio.run_coroutine_threadsafe(_listen(host, port, follower, sessions), loop).result(30)
        except OSError as error:
            raise ConfigurationError(f"cannot listen on {where}: {error.strerror}") from None
        yield f" metrics=http://{host}:{found}/metrics"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)


async def _listen(host: str, port: int, follower: PipelineFollower, sessions: SparkSessions) -> int:
    from prometheus_client import CollectorRegistry, generate_latest

    from kconf.cli.common.pipeline.metrics import PipelineCollector
    from kconf.util.http_endpoint import HttpEndpoint

    registry = CollectorRegistry()
    registry.register(PipelineCollector(follower, sessions))
    endpoint = HttpEndpoint(host, port, lambda: generate_latest(registry), follower.health)
    await endpoint.__aenter__()
    return endpoint.port
