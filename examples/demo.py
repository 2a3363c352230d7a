"""`make run`: start a server, run example commands, build tables of the changes, and leave the server running.

The commands are in examples/demo_commands.py, the tables come from the pipeline (examples/tables.py). A second run
continues with the state of the first. With ZooKeeper there are three servers, and one more step.
Ctrl-C, SIGTERM and SIGHUP stop the servers.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from examples.demo_commands import DemoPrinter, run_commands
from examples.servers import NotStarted, Servers, started
from examples.tables import show_tables
from kconf import AlterConfigOp, OpType, Resource, SyncAdminClient
from lab.java import LabError

PAYMENTS = Resource.topic("payments")
HOUR = 60 * 60 * 1000
STOPS = (signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """SIGTERM or SIGHUP arrived here. Unlike Ctrl-C, it may not have reached the servers."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.status = 128 + number


def main() -> int:
    options = _options()
    for each in STOPS:
        if signal.getsignal(each) is not signal.SIG_IGN:  # as nohup sets SIGHUP
            signal.signal(each, _stop)
    try:
        with started(options.store, options.listen) as servers:
            return _run(servers, once=options.once, tables=options.tables)
    except NotStarted as failed:
        return failed.status
    except LabError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # before everything was ready
        return 130
    except Stopped as stopped:
        return stopped.status


def _stop(number: int, _: FrameType | None) -> None:
    raise Stopped(number)


def _run(servers: Servers, *, once: bool, tables: bool) -> int:
    printer = DemoPrinter()
    try:
        run_commands(printer, servers)
        if len(servers.addresses) > 1:
            _show_others(printer, servers.addresses)
        if tables:
            show_tables(printer)
        _invite(servers)
        return servers.stop() if once else servers.wait()
    except KeyboardInterrupt:  # the servers have received it too
        return servers.wait()
    except Stopped:
        for each in STOPS:
            signal.signal(
                each, signal.SIG_IGN
            )  # `kill` of a process group arrives twice, because make passes SIGTERM on
        return servers.stop()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make run", description="Run example commands on a real server.")
    parser.add_argument("--listen", default="127.0.0.1:9092")
    parser.add_argument("--store", default="sqlite:///.run/kconf.db", help="a URL, or zookeeper: start one")
    parser.add_argument("--once", action="store_true", help="stop after the demo")
    parser.add_argument("--no-tables", dest="tables", action="store_false", help="leave out the pipeline")
    return parser.parse_args()


def _show_others(printer: DemoPrinter, addresses: Sequence[str]) -> None:
    """Change a config on one server, and read it from the change feed of another."""
    printer.title("A change acknowledged by one server is visible on the others")
    first, last = SyncAdminClient(addresses[0]), SyncAdminClient(addresses[-1])
    with first, last, last.watch_changes(about=[PAYMENTS]) as watch:
        now = first.describe_configs([PAYMENTS])[PAYMENTS]["segment.ms"].value
        alteration = AlterConfigOp(OpType.SET, "segment.ms", str(HOUR if now != str(HOUR) else 2 * HOUR))
        first.incremental_alter_configs({PAYMENTS: [alteration]}).raise_for_failures()
        seen = next(iter(watch))
    for change in seen.changes:
        print(f"{addresses[-1]} reports revision {seen.number}: {change.resource}: {change.key} = {change.after}")


def _invite(servers: Servers) -> None:
    address, last = servers.addresses[0], servers.addresses[-1]
    many = len(servers.addresses) > 1
    print(
        f"""
{"The servers are running, and each has the whole state" if many else "The server is running"}. In another terminal:

  export PATH=$PWD/.venv/bin:$PATH KCONF_CONFIG=$PWD/.run/kconf.yaml
  kconf watch
  kconf set topic:clicks retention.ms=2d --allow-data-loss --reason 'my first change' -C ana
  kconf export --to .run/cluster && kconf plan -f .run/cluster
  kconf shell

and with Kafka's own tools, or anything that speaks its protocol:

  kafka-configs.sh --bootstrap-server {last} --describe --topic orders
  kafka-topics.sh --bootstrap-server {address} --list

Ctrl-C stops {"them" if many else "it"}; `make run` again continues with the same state.{_console_line(servers)}""",
        flush=True,
    )


def _console_line(servers: Servers) -> str:
    return f"\n\nThe web console: {servers.console}" if servers.console else ""


if __name__ == "__main__":
    sys.exit(main())
