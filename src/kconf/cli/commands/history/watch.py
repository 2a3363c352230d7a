"""`kconf watch`: changes as they come. From the feed of a kconf server; elsewhere by asking again and again.

A watch tells each change at once: with `--output json` one object per line, since it has no end.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.common.history_output import add_past, columns, item_of, scopes_of
from kconf.cli.common.target import Target, add_target, target
from kconf.cli.output.result import CommandResult, plain, status_of
from kconf.errors import ConfigurationError, KconfError, UnsupportedVersion
from kconf.model.journal import Change, RequestContext
from kconf.model.resource import Resource
from kconf.operations.history.sources import HistoryEntry, is_meant, told_of

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.engine.declarative.model import Scope
    from kconf.model.cluster_state import ClusterState
    from kconf.operations.history.point_in_time import Name

EXAMPLES: Final = """\
examples:
  kconf watch
  kconf watch 'topic:orders.*' --output json
  kconf watch topic --key retention.ms --key cleanup.policy --every 30s
  kconf watch topic:orders --every 5s --count 1

A kconf server tells its changes itself. Other clusters are asked again and again, and only with --every: what that
costs is said first. Who changed something is not known there.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "watch",
        help="changes as they come",
        description="Tell changes as they come, until it is interrupted.",
        epilog=EXAMPLES,
    )
    add_past(parser)
    parser.add_argument("--key", metavar="KEY", action="append", help="of this key only; may be repeated")
    parser.add_argument("--every", metavar="TIME", help="ask so often, where a cluster has no feed: 30s, 5m")
    parser.add_argument("--count", metavar="N", type=int, help="end after so many changes")
    add_target(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    try:
        with interruptible():
            _watch(options)
    except KconfError as error:
        print(f"kconf: {error}", file=sys.stderr)
        return status_of(error)
    return 0


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C is heard, if not at once: Python drops one that falls into a finaliser, and a watch would go on.

    Not by a watch that was started deaf to it, as a shell starts what it puts into the background.
    """
    deaf = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if deaf or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 1)  # then it is said again
        raise KeyboardInterrupt

    before = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGALRM)}
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for each, handler in before.items():
            signal.signal(each, handler)


def _watch(options: argparse.Namespace) -> None:
    chosen = target(options)
    scopes = scopes_of(options, "watch")
    every = None if options.every is None else _seconds(options.every)
    with chosen.open() as admin:
        try:
            admin.list_changes(-1, limit=1)
        except UnsupportedVersion:
            if every is None:
                raise ConfigurationError(
                    f"{chosen.name} has no feed: it can only be asked again and again, with --every TIME"
                ) from None
            changes = _polled(chosen, scopes, options.key or (), every)
        else:
            changes = _fed(admin, scopes)
        wanted = (each for each in changes if not options.key or each.change.key in options.key)
        tell = _Telling(options.output)
        for each in islice(wanted, options.count):
            tell(each)


def _fed(admin: SyncAdminClient, scopes: Sequence[Scope]) -> Iterator[HistoryEntry]:
    from kconf.engine.declarative.model import SCOPES

    about = list(dict.fromkeys(SCOPES[each.word] for each in scopes))
    with admin.watch_changes(about=about) as watch:
        print("watching the feed", file=sys.stderr, flush=True)
        for revision in watch:
            yield from (each for each in told_of(revision) if is_meant(each.change, scopes))


def _polled(chosen: Target, scopes: Sequence[Scope], keys: Sequence[str], every: float) -> Iterator[HistoryEntry]:
    """The differences between one look and the next. What changes and changes back in between is not seen."""
    began = time.monotonic()
    reading = _look(chosen, scopes, keys)
    _tell_cost(reading, time.monotonic() - began, every)
    before = _state(reading)
    while True:
        time.sleep(every)
        reading = _look(chosen, scopes, keys)
        now = _state(reading)
        for name in sorted({*before, *now}):
            if before.get(name) != now.get(name):
                change = _change(before.get(name), now.get(name))
                yield HistoryEntry(reading.taken, 0, 0, change, RequestContext(""), "outside")
        before = now


def _state(reading: ClusterState) -> dict[Name, Change]:
    from kconf.operations.declarative.staleness import state_of
    from kconf.operations.history.point_in_time import change_of

    return {name: change_of(*name, value) for name, value in state_of(reading).items()}


def _change(before: Change | None, now: Change | None) -> Change:
    """From one state to the next; one of the two is there."""
    last = now or before
    assert last is not None
    op = "delete" if now is None else "set"
    return last._replace(before=before and before.after, after=now and now.after, op=op)


def _look(chosen: Target, scopes: Sequence[Scope], keys: Sequence[str]) -> ClusterState:
    from kconf.client.cluster_reader import PARTS, read_cluster
    from kconf.engine.declarative.model import SCOPES
    from kconf.operations.history.point_in_time import narrowed

    kinds = {SCOPES[each.word] for each in scopes} or set(PARTS.values())

    async def read() -> ClusterState:
        async with chosen.open_async() as admin:
            return await read_cluster(
                admin,
                [part for part, kind in PARTS.items() if kind in kinds],
                wanted=lambda each: not scopes or any(one.covers(each, (each.name,)) for one in scopes),
                keys=_Every(keys) if keys else None,
            )

    return narrowed(asyncio.run(read()), scopes)


class _Every(dict[Resource, Sequence[str]]):
    """The same keys for every resource."""

    def __init__(self, keys: Sequence[str]) -> None:
        super().__init__()
        self._keys = keys

    def __contains__(self, _: object) -> bool:
        return True

    def __bool__(self) -> bool:
        return True

    def __missing__(self, _: Resource) -> Sequence[str]:
        return self._keys


def _tell_cost(reading: ClusterState, took: float, every: float) -> None:
    resources = len(reading.configs)
    entries = sum(len(view.entries) for view in reading.configs.values())
    requests = 2 + -(-resources // 250)
    print(
        f"every {every:g} s: about {requests} requests for {resources} resources with {entries} values, "
        f"which took {took:.2f} s now",
        file=sys.stderr,
        flush=True,
    )


class _Telling:
    """One line per change, as soon as it is known."""

    def __init__(self, output: str) -> None:
        self._output = output
        self._columns = [each for each in columns() if each.name != "outcome"]
        self._answer = CommandResult("watch", self._columns, output)
        self._count = 0

    def __call__(self, told: HistoryEntry) -> None:
        item: dict[str, Any] = {**item_of(told), "error": None, "message": None}
        if self._output == "json":
            from json import dumps

            print(dumps({"version": 1, "command": "watch", **item}, ensure_ascii=False), flush=True)
        elif self._output == "csv":
            from csv import writer

            lines = writer(sys.stdout, lineterminator="\n")
            if not self._count:
                lines.writerow(each.name for each in self._columns)
            lines.writerow(plain(item.get(each.name)) for each in self._columns)
            sys.stdout.flush()
        else:
            from kconf.cli.output.tables import clean

            print("  ".join(clean(each.text(item)) for each in self._columns if each.text(item)), flush=True)
        self._count += 1


def _seconds(text: str) -> float:
    from kconf.configdef.units import TIMES

    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text[len(number) :] or "s"
    try:
        seconds = float(number) * TIMES[unit] / 1000
    except (ValueError, KeyError):
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise ConfigurationError(f"--every takes a time such as 30s or 5m, and not {text!r}")
    return seconds
