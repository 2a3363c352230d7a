"""Runs all benchmarks in one table: `python -m bench`. Memory is measured after the work of the shared servers.

Clients and commands come last: they use their own broker, which would disturb the others.
"""

from bench import (
    alter,
    bulk,
    cli,
    client,
    commands,
    console,
    describe,
    fairness,
    feed,
    follow,
    gateway,
    growth,
    memory,
    mixed,
    quotas,
    start,
    zookeeper,
)
from bench.arena import main

if __name__ == "__main__":
    servers = (describe, alter, mixed, bulk, memory, start, growth, feed, fairness, quotas, zookeeper)
    main(*(each.rows for each in (*servers, client, cli, commands, follow, gateway, console)))
