"""`kconf kafka`: the interface that KIP-21 proposed as bin/kafka.sh, one command at a time or as a shell."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

from kconf.cli.compat.kip21.single_command import add_options, run_once

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
    add_options(command)
    add = command.add_argument
    add("--broker-list", metavar="HOST:PORT,…", required=True, help="any broker of the cluster")
    add("--command-config", metavar="FILE", help="properties file of a Java admin client (TLS, SASL)")
    add("--keep-going", action="store_true", help="with --shell: continue after an error")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kconf.client.admin_sync import SyncAdminClient

    properties: str | Mapping[str, str] = options.command_config if options.command_config is not None else {}
    with SyncAdminClient.from_properties(properties, options.broker_list) as admin:
        if options.shell:
            from kconf.cli.compat.kip21.shell import converse

            return converse(admin, keep_going=options.keep_going)
        print("\n".join(run_once(admin, options, alter=options.alter_config)))
    sys.stdout.flush()
    return 0
