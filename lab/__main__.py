"""`python -m lab broker` runs a real Kafka broker in the foreground until Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import sys
import threading

from lab.broker import KafkaBroker
from lab.jars import VERSIONS
from lab.java import LabError


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m lab", description="A real Kafka, for comparison.")
    commands = parser.add_subparsers(required=True)
    broker = commands.add_parser("broker", help="start a broker and keep it until Ctrl-C")
    broker.add_argument("--version", choices=VERSIONS, default=VERSIONS[0])
    broker.add_argument(
        "--property", action="append", default=[], metavar="KEY=VALUE", type=_property, dest="properties"
    )
    broker.add_argument("--elr-version", type=int, choices=(0, 1), default=0, help="eligible.leader.replicas.version")
    options = parser.parse_args()
    try:
        _serve(options.version, dict(options.properties), options.elr_version)
    except LabError as error:
        sys.exit(str(error))


def _serve(version: str, properties: dict[str, str], elr_version: int) -> None:
    done = threading.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: done.set())
    with KafkaBroker(version, properties=properties, elr_version=elr_version) as broker:
        print(f"Kafka {version} is ready at {broker.bootstrap} after {broker.start_seconds:.1f} s; pid {broker.pid}.")
        print(f"log         {broker.log_path}")
        print(f"properties  {broker.properties_path}", flush=True)
        done.wait()


def _property(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


if __name__ == "__main__":
    main()
