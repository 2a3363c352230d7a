"""`kconf watch`: print changes as they happen, from a kconf server's feed, a KRaft metadata log, or by polling.

Each change is printed immediately. With `--output json` there is one object per line, because the command does not end.
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
from kconf.cli.common.options.controllers import add_controllers, with_controllers
from kconf.cli.common.target import add_target, target
from kconf.cli.output.formats import ItemStream
from kconf.cli.output.pipes import discard_output
from kconf.cli.output.result import status_of
from kconf.errors import ConfigurationError, KafkaError, KconfError, UnsupportedVersion

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.engine.declarative.model import Scope
    from kconf.operations.history.entries import HistoryEntry
    from kconf.operations.history.watch import PollCost
    from kconf.operations.target import Target

EXAMPLES: Final = """\
examples:
  kconf watch
  kconf watch 'topic:orders.*' --output json
  kconf watch topic --key retention.ms --key cleanup.policy --every 30s
  kconf watch topic:orders --every 5s --count 1
  kconf watch -b localhost:9092 --controllers localhost:9093

A kconf server sends its changes itself. On a KRaft cluster with known controllers (--controllers, or those of the
context), kconf follows the metadata log, which has every change by any tool within milliseconds. This requires
CLUSTER_ACTION on the cluster. Without this permission, and on other clusters, use --every to poll; kconf prints the
number of requests per poll. The first line on stderr names the source. Only a kconf server shows who made a change.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "watch",
        help="stream changes as they happen",
        description="Stream changes as they happen, until interrupted.",
        epilog=EXAMPLES,
    )
    add_history(parser)
    parser.add_argument("--key", metavar="KEY", action="append", help="only this key; may be repeated")
    parser.add_argument("--every", metavar="TIME", help="polling interval for a cluster without a change feed: 30s, 5m")
    parser.add_argument("--count", metavar="N", type=int, help="exit after N changes")
    add_target(parser)
    add_controllers(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    try:
        with interruptible():
            _watch(options)
    except BrokenPipeError:  # `| head -1` ends it
        discard_output()
    except KconfError as error:
        print(f"kconf: {error}", file=sys.stderr)
        return status_of(error)
    return 0


@contextmanager
def interruptible() -> Iterator[None]:
    """Make sure that Ctrl-C stops the command: Python drops a KeyboardInterrupt that is raised in a finalizer.

    If SIGINT was ignored when the command started, as in the background of a script, it stays ignored.
    """
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 1)  # raises it again after a second, in case the first one is dropped
        raise KeyboardInterrupt

    before = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGALRM)}
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for each, handler in before.items():
            signal.signal(each, handler)


def _watch(options: argparse.Namespace) -> None:
    from kconf.operations.selection.scopes import parse_scopes

    cluster = with_controllers(target(options), options)
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
    """Changes from the feed, if the cluster has one, otherwise from the metadata log, otherwise by polling."""
    from kconf.operations.history.watch import poll_changes, watch_feed

    try:
        admin.list_changes(-1, limit=1)
    except UnsupportedVersion:
        if cluster.has_controllers:
            return _log_entries(cluster, admin.describe_cluster().cluster_id, scopes, keys, interval)
        if interval is None:
            raise ConfigurationError(
                f"{cluster.name} has no change feed: pass its KRaft controllers (--controllers), or poll it (--every "
                "TIME)"
            ) from None
        return poll_changes(cluster, scopes, keys, interval, lambda cost: _print_cost(cost, interval))
    return watch_feed(admin, scopes, lambda: _print_started("watching the change feed"))


def _log_entries(
    cluster: Target, name: str | None, scopes: Sequence[Scope], keys: Sequence[str], interval: float | None
) -> Iterator[HistoryEntry]:
    """Changes from the metadata log while its controllers serve it, then by polling if --every is given."""
    from kconf.operations.history.watch import poll_changes, watch_log

    try:
        yield from watch_log(cluster, name, scopes, lambda: _print_started("following the metadata log"))
    except KafkaError as error:
        if interval is None:
            print("to poll the cluster instead, pass --every TIME", file=sys.stderr)
            raise
        _print_started(f"the metadata log cannot be followed: {error}")
        yield from poll_changes(cluster, scopes, keys, interval, lambda cost: _print_cost(cost, interval))


def _print_started(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _print_cost(cost: PollCost, interval: float) -> None:
    print(
        f"polling every {interval:g} s: about {cost.requests} requests for {cost.resources} resources with "
        f"{cost.values} values; the first poll took {cost.seconds:.2f} s",
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
        raise ConfigurationError(f"--every takes a duration such as 30s or 5m, not {text!r}")
    return seconds
