"""`make run`: start a server, show what it does in six small steps, and leave it running.

Every step is a call that any Kafka client could make; the commands at the end can be typed in another terminal. A
second run finds what the first one left.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from pathlib import Path

from kconf import Alteration, Entry, Op, Resource, Source, SyncAdminClient, TopicWish

ORDERS, PAYMENTS, CLICKS = (Resource.topic(name) for name in ("orders", "payments", "clicks"))
DAY = 24 * 60 * 60 * 1000


def main() -> int:
    options = _options()
    Path(".run").mkdir(exist_ok=True)
    command = [sys.executable, "-m", "kconf", "serve", "--listen", options.listen, "--store", options.store]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        ready = server.stdout.readline()
        if not ready:
            return server.wait()
        print(ready, end="")
        address = ready.partition("listening on ")[2].split()[0]
        with SyncAdminClient(address, client_id="kconf-demo") as admin:
            _show(admin)
        _invite(address)
        if options.once:
            server.send_signal(signal.SIGTERM)
        server.wait()
    except KeyboardInterrupt:
        server.wait()
    finally:
        if server.poll() is None:
            server.terminate()
            server.wait()
    return server.returncode


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make run", description="A small demo on a real server.")
    parser.add_argument("--listen", default="127.0.0.1:9092")
    parser.add_argument("--store", default="sqlite:///.run/kconf.db")
    parser.add_argument("--once", action="store_true", help="stop after the demo")
    return parser.parse_args()


def _show(admin: SyncAdminClient) -> None:
    _step("Topics are made; the answer tells partitions, replication and configs (KIP-525)")
    wishes = [
        TopicWish("orders", 6, 1, configs=[("retention.ms", str(7 * DAY)), ("cleanup.policy", "compact")]),
        TopicWish("payments", 3, 1, configs=[("min.insync.replicas", "1"), ("compression.type", "zstd")]),
        TopicWish("clicks", 12, 1),
    ]
    made = admin.create_topics(wishes)
    for wish in wishes:
        failure = made.failures.get(wish.name)
        if failure is not None:
            print(f"  {wish.name}: {failure.code.name}: {failure.message}")
        else:
            topic = made[wish.name]
            known = len(topic.config.entries) if topic.config else 0
            print(f"  {wish.name}: {topic.num_partitions} partitions, {known} configs, id {topic.topic_id}")

    _step("A broken change is refused, with the reason, and nothing of it is applied")
    refused = admin.incremental_alter_configs(
        {ORDERS: [Alteration(Op.SET, "retention.ms", "a week"), Alteration(Op.SET, "max.message.bytes", "2000000")]}
    )
    print(f"  orders: {refused.failures[ORDERS].code.name}: {refused.failures[ORDERS].message}")

    _step("A dry run checks everything and changes nothing")
    tried = admin.incremental_alter_configs(
        {CLICKS: [Alteration(Op.SET, "retention.ms", str(DAY))]}, validate_only=True
    )
    print(f"  clicks: {'would be granted' if not tried.failures else tried.failures}")

    _step("Incremental changes: set, append to a list, delete (KIP-339)")
    admin.incremental_alter_configs(
        {
            ORDERS: [Alteration(Op.APPEND, "cleanup.policy", "delete")],
            PAYMENTS: [Alteration(Op.DELETE, "compression.type")],
            CLICKS: [Alteration(Op.SET, "retention.ms", str(DAY))],
        },
        reason="clicks are worthless after a day",
    ).raise_for_failures()
    print("  orders: cleanup.policy += delete;  payments: compression.type removed;  clicks: retention.ms = 1 day")

    _step("A default for all brokers; topics follow it, unless they say otherwise (KIP-21's precedence)")
    admin.incremental_alter_configs(
        {Resource.brokers(): [Alteration(Op.SET, "log.retention.ms", str(3 * DAY))]}
    ).raise_for_failures()
    views = admin.describe_configs([ORDERS, PAYMENTS, CLICKS], synonyms=True)
    for resource in (ORDERS, PAYMENTS, CLICKS):
        _row(resource, views[resource]["retention.ms"])

    _step("What each topic says for itself")
    for resource in (ORDERS, PAYMENTS, CLICKS):
        own = [f"{each.name}={each.value}" for each in views[resource].entries if each.source is Source.TOPIC]
        print(f"  {resource}: {', '.join(own) or '(nothing)'}")


def _step(title: str) -> None:
    print(f"\n{title}")


def _row(resource: Resource, entry: Entry) -> None:
    chain = "  <  ".join(f"{each.name}={each.value} ({each.source.name.lower()})" for each in entry.synonyms)
    print(f"  {resource}: {entry.name} = {entry.value}   {chain}")


def _invite(address: str) -> None:
    print(
        f"""
The server is running. In another terminal:

  kafka-configs.sh --bootstrap-server {address} --topic orders --describe
  kafka-configs.sh --bootstrap-server {address} --topic orders --alter --add-config retention.ms=86400000
  kafka-topics.sh  --bootstrap-server {address} --list
  .venv/bin/kconf backup --store sqlite:///.run/kconf.db .run/backup.db
  .venv/bin/python -c 'from kconf import *; print(SyncAdminClient("{address}").list_topics())'

Ctrl-C stops it; `make run` again finds everything as it was.""",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
