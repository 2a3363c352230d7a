"""`kconf watch`: changes as they happen, from the feed of a kconf server or by polling another cluster.

Each change is printed at once: with `--output json` one object per line, since the command has no end.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Final

from kconf.cli.common.history_output import add_history, history_columns, history_item
from kconf.cli.common.target import add_target, target
from kconf.cli.output.formats import ItemStream
from kconf.cli.output.result import status_of
from kconf.errors import ConfigurationError, KconfError, UnsupportedVersion

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.engine.declarative.model import Scope
    from kconf.operations.history.sources import HistoryEntry
    from kconf.operations.history.watch import PollCost
    from kconf.operations.target import Target

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
    add_history(parser)
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
    """Ctrl-C stops the command, if not at once: Python drops a KeyboardInterrupt that is raised in a finalizer.

    SIGINT stays ignored if it was when the command started, as in the background of a script.
    """
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 1)  # then it is raised again
        raise KeyboardInterrupt

    before = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGALRM)}
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for each, handler in before.items():
            signal.signal(each, handler)


def _watch(options: argparse.Namespace) -> None:
    from kconf.operations.scopes import parse_scopes

    cluster = target(options)
    scopes = parse_scopes(options.selectors, "watch")
    interval = None if options.every is None else _seconds(options.every)
    columns = [each for each in history_columns() if each.name != "outcome"]
    with cluster.open() as admin:
        entries = _entries(cluster, admin, scopes, options.key or (), interval)
        wanted = (each for each in entries if not options.key or each.change.key in options.key)
        stream = ItemStream("watch", columns, options.output, csv_guard=options.csv_guard)
        for each in islice(wanted, options.count):
            stream.print(history_item(each))


def _entries(
    cluster: Target, admin: SyncAdminClient, scopes: Sequence[Scope], keys: Sequence[str], interval: float | None
) -> Iterator[HistoryEntry]:
    """From the feed, if the cluster has one."""
    from kconf.operations.history.watch import poll_changes, watch_feed

    try:
        admin.list_changes(-1, limit=1)
    except UnsupportedVersion:
        if interval is None:
            raise ConfigurationError(
                f"{cluster.name} has no feed: it can only be asked again and again, with --every TIME"
            ) from None
        return poll_changes(cluster, scopes, keys, interval, lambda cost: _print_cost(cost, interval))
    return watch_feed(admin, scopes, lambda: print("watching the feed", file=sys.stderr, flush=True))


def _print_cost(cost: PollCost, interval: float) -> None:
    print(
        f"every {interval:g} s: about {cost.requests} requests for {cost.resources} resources with "
        f"{cost.values} values, which took {cost.seconds:.2f} s now",
        file=sys.stderr,
        flush=True,
    )


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
