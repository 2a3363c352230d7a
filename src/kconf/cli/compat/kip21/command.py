"""`kconf kafka`: the interface that KIP-21 proposed as bin/kafka.sh, one command at a time or as a shell."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient

_EXAMPLES = """\
examples:
  kconf kafka --alter-config --entity-type topic --entity-name orders \\
      --added-config retention.ms=86400000,segment.ms=3600000 --deleted-config flush.ms --broker-list localhost:9092
  kconf kafka --describe-config --entity-type topic --entity-name orders --broker-list localhost:9092
  kconf kafka --alter-config --entity-type client --entity-name billing \\
      --added-config producer_byte_rate=1048576 --broker-list localhost:9092
  kconf kafka --shell --broker-list localhost:9092

Errors are reported as InvalidEntity or InvalidEntityConfig where KIP-21 defines them.

In the shell, `help` lists the commands; commands from a file (`kconf kafka --shell … < file`) stop at the first error
unless --keep-going is given.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "kafka",
        help="KIP-21's command for topics and clients, with a shell",
        description="Alter and describe the configs of topics and clients.",
        epilog=_EXAMPLES,
        allow_abbrev=False,
    )
    action = command.add_mutually_exclusive_group(required=True)
    action.add_argument("--alter-config", action="store_true", help="set and delete configs of an entity")
    action.add_argument("--describe-config", action="store_true", help="show the configs of an entity")
    action.add_argument("--shell", action="store_true", help="read commands, one per line")
    add_entity(command)
    add = command.add_argument
    add("--broker-list", metavar="HOST:PORT,…", required=True, help="any broker of the cluster")
    add("--command-config", metavar="FILE", help="properties file of a Java admin client (TLS, SASL)")
    add("--keep-going", action="store_true", help="with --shell: continue after an error")
    command.set_defaults(run=run)


def add_entity(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--entity-type", metavar="topic|client", help="entity type")
    add("--entity-name", metavar="NAME", help="topic name or client ID")
    add("--added-config", metavar="K=V,K=V", default="", help="configs to set; put a value with commas in brackets")
    add("--deleted-config", metavar="K,K", default="", help="configs to delete; their defaults apply again")


def run(options: argparse.Namespace) -> int:
    from kconf.client.admin_sync import SyncAdminClient

    properties: str | Mapping[str, str] = options.command_config if options.command_config is not None else {}
    with SyncAdminClient.from_properties(properties, options.broker_list) as admin:
        if options.shell:
            from kconf.cli.compat.kip21.shell import converse

            return converse(admin, keep_going=options.keep_going)
        print("\n".join(once(admin, options, alter=options.alter_config)))
    sys.stdout.flush()
    return 0


def once(admin: SyncAdminClient, options: argparse.Namespace, *, alter: bool) -> list[str]:
    """Run one command; returns the lines of its output."""
    from kconf.cli.compat.kafka_configs.grammar import parse_pairs
    from kconf.cli.compat.kip21 import entities as kip21

    entity = kip21.Entity.of(options.entity_type, options.entity_name)
    added = parse_pairs(options.added_config) if options.added_config else {}
    deleted = [key.strip() for key in options.deleted_config.split(",") if key.strip()]
    if not alter:
        if added or deleted:
            raise ConfigurationError("--added-config and --deleted-config require --alter-config")
        found = kip21.describe(admin, entity)
        return [f"Configs for {entity} are {','.join(f'{key}={value}' for key, value in found.items())}".rstrip()]
    if not added and not deleted:
        raise ConfigurationError("--alter-config needs --added-config or --deleted-config")
    kip21.alter(admin, entity, added, deleted)
    return [entity.updated]
