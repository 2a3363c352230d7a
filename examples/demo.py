"""`make run`: start a server, show what it does in six small steps, and leave it running.

Every step is a call that any Kafka client could make; the commands at the end can be typed in another terminal. A
second run finds what the first one left. On a ZooKeeper there are three servers, and a seventh step.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from examples.servers import NotStarted, Servers, started
from kconf import Alteration, Entry, Op, Resource, Source, SyncAdminClient, TopicWish
from lab.java import LabError

ORDERS, PAYMENTS, CLICKS = (Resource.topic(name) for name in ("orders", "payments", "clicks"))
DAY = 24 * 60 * 60 * 1000


def main() -> int:
    options = _options()
    try:
        with started(options.store, options.listen) as servers:
            return _run(servers, once=options.once)
    except NotStarted as failed:
        return failed.status
    except LabError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # before everything was ready
        return 130


def _run(servers: Servers, *, once: bool) -> int:
    try:
        with SyncAdminClient(servers.addresses[0], client_id="kconf-demo") as admin:
            _show(admin)
            if len(servers.addresses) > 1:
                _show_others(admin, servers.addresses[1:])
        _invite(servers)
        return servers.stop() if once else servers.wait()
    except KeyboardInterrupt:  # it has reached the servers too
        return servers.wait()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make run", description="A small demo on a real server.")
    parser.add_argument("--listen", default="127.0.0.1:9092")
    parser.add_argument("--store", default="sqlite:///.run/kconf.db", help="a URL, or zookeeper: start one")
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


def _show_others(admin: SyncAdminClient, addresses: Sequence[str]) -> None:
    _step("What one server acknowledged the others have too")
    with SyncAdminClient(addresses[-1]) as last, last.watch_changes(about=[PAYMENTS]) as watch:
        now = admin.describe_configs([PAYMENTS])[PAYMENTS]["segment.ms"].value
        wish = Alteration(Op.SET, "segment.ms", str(DAY if now != str(DAY) else 2 * DAY))
        admin.incremental_alter_configs({PAYMENTS: [wish]}).raise_for_failures()
        seen = next(iter(watch))
        for change in seen.changes:
            print(f"  {addresses[-1]}: revision {seen.number}: {change.resource}: {change.key} = {change.after}")


def _step(title: str) -> None:
    print(f"\n{title}")


def _row(resource: Resource, entry: Entry) -> None:
    chain = "  <  ".join(f"{each.name}={each.value} ({each.source.name.lower()})" for each in entry.synonyms)
    print(f"  {resource}: {entry.name} = {entry.value}   {chain}")


def _invite(servers: Servers) -> None:
    address = servers.addresses[0]
    many = len(servers.addresses) > 1
    backup = "" if many else f"\n  .venv/bin/kconf backup --store {servers.store} .run/backup.db"
    print(
        f"""
{"The servers are running, and each answers for all" if many else "The server is running"}. In another terminal:

  kafka-configs.sh --bootstrap-server {address} --topic orders --describe
  kafka-configs.sh --bootstrap-server {servers.addresses[-1]} --topic orders --alter --add-config retention.ms=86400000
  kafka-topics.sh  --bootstrap-server {address} --list{backup}
  .venv/bin/python -c 'from kconf import *; print(SyncAdminClient("{address}").list_topics())'

Ctrl-C stops {"them" if many else "it"}; `make run` again finds everything as it was.""",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
