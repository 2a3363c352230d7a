"""`kconf scram-credentials`: KIP-248's tool for the credentials of users, on a cluster or in a store that no server has
open. `kconf scram` does the same with kconf's own options.
"""

from __future__ import annotations

import argparse
import logging
import re
from typing import TYPE_CHECKING

from kconf.errors import ConfigurationError, KafkaError

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.operations.access.scram_store import StoredCredentials

    _Admin = SyncAdminClient | StoredCredentials

_EXAMPLES = """\
examples:
  kconf scram-credentials --bootstrap-server localhost:9092 --username alice \\
      --add 'SCRAM-SHA-256=[iterations=8192, password=alice-secret],SCRAM-SHA-512=[password=env:ALICE_PASSWORD]'
  kconf scram-credentials --bootstrap-server localhost:9092 --describe --username alice
  kconf scram-credentials --bootstrap-server localhost:9092 --describe
  kconf scram-credentials --bootstrap-server localhost:9092 --username alice --delete SCRAM-SHA-512
  kconf scram-credentials --store sqlite:///first.db --username admin --add SCRAM-SHA-512=[password=env:ADMIN_PASSWORD]

For a store in ZooKeeper, use --zookeeper localhost:2181/kafka, as with Kafka's tools.
Pass passwords as password=@FILE, password=env:NAME or password=- (stdin): everyone who can list processes can see the
command line. Passwords are neither sent nor stored; only their salted hashes are.
"""
_BRACKETS = r"\s*(SCRAM-SHA-256|SCRAM-SHA-512)\s*=\s*\[(.*?)\]\s*(?:,(?=\s*SCRAM-)|\Z)"


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "scram-credentials",
        help="KIP-248's command for SCRAM credentials",
        description="Add, list and delete the SCRAM credentials of users.",
        epilog=_EXAMPLES,
        allow_abbrev=False,
    )
    add = command.add_argument
    where = command.add_mutually_exclusive_group(required=True)
    where.add_argument("--bootstrap-server", metavar="HOST:PORT,…", help="brokers to connect to")
    where.add_argument(
        "--store", metavar="URL", help="the store of a kconf server: sqlite:///FILE, or zookeeper://HOST:PORT/CHROOT"
    )
    where.add_argument(
        "--zookeeper",
        metavar="HOST:PORT[,HOST:PORT][/CHROOT]",
        help="a store in ZooKeeper, in the format of Kafka's tools; a store URL works too",
    )
    add("--command-config", metavar="FILE", help="properties file of a Java admin client (TLS, SASL)")
    add("--username", metavar="NAME", help="user name; without it, --describe lists all users")
    action = command.add_mutually_exclusive_group(required=True)
    action.add_argument(
        "--add", metavar="MECHANISM=[iterations=N,password=P],…", help="set credentials (N: 4096 or more)"
    )
    action.add_argument("--describe", action="store_true", help="show mechanisms and iterations")
    action.add_argument("--delete", metavar="MECHANISM,…", help="remove credentials")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if not options.describe and not options.username:
        raise ConfigurationError("--add and --delete need --username")
    added, deleted = _added(options.add), _deleted(options.delete)
    try:
        with _open(options) as admin:
            if options.describe:
                return _describe(admin, options.username)
            return _alter(admin, options.username, added, deleted)
    except KafkaError as error:
        from kconf.cli.compat.kafka_configs.java import sentence

        raise ConfigurationError(sentence(error)) from error


def _open(options: argparse.Namespace) -> _Admin:
    if options.store is not None or options.zookeeper is not None:
        from kconf.operations.access.scram_store import StoredCredentials, own_name
        from kconf.store.registry import check_store_exists
        from kconf.store.zookeeper.url import store_url

        logging.getLogger("kconf").addHandler(logging.NullHandler())
        url = options.store if options.zookeeper is None else store_url(options.zookeeper)
        if not options.add:
            check_store_exists(url)
        return StoredCredentials(url, principal=f"User:{own_name()}")
    from kconf.client.admin_sync import SyncAdminClient

    properties = options.command_config if options.command_config is not None else {}
    return SyncAdminClient.from_properties(properties, options.bootstrap_server)


def _added(text: str | None) -> dict[str, str]:
    """Mechanisms and the text in their brackets. A password may contain commas, equals signs and closing brackets."""
    found: dict[str, str] = {}
    place = 0
    while text and place < len(text):
        match = re.compile(_BRACKETS, re.DOTALL).match(text, place)
        if match is None:
            raise ConfigurationError("--add takes SCRAM-SHA-256=[iterations=N,password=P],SCRAM-SHA-512=[password=P]")
        if match[1] in found:
            raise ConfigurationError(f"{match[1]} was given twice")
        found[match[1]] = match[2]
        place = match.end()
    if text is not None and not found:
        raise ConfigurationError("--add names no mechanism")
    return found


def _deleted(text: str | None) -> list[str]:
    from kconf.cli.compat.kafka_configs.alter import MECHANISMS

    names = [] if text is None else list(dict.fromkeys(name.strip() for name in text.split(",")))
    unknown = [name for name in names if name not in MECHANISMS]
    if unknown:
        raise ConfigurationError(f"unknown mechanism {unknown[0]!r}; supported: {', '.join(MECHANISMS)}")
    return names


def _alter(admin: _Admin, user: str, added: dict[str, str], deleted: list[str]) -> int:
    from kconf.cli.compat.kafka_configs.credentials import mechanism_of, parse_credential, upsertions
    from kconf.model.scram import UserScramCredentialDeletion

    if deleted:
        # Kafka gets two mechanisms in two requests, so check first that both exist.
        described = admin.describe_user_scram_credentials([user])
        there = set() if user in described.failures else {each.mechanism.word for each in described[user]}
        missing = [name for name in deleted if name not in there]
        if missing:
            raise ConfigurationError(f"{user} has no credential for {', '.join(missing)}")
    wanted = [parse_credential(name, text) for name, text in added.items()]
    deletions = [UserScramCredentialDeletion(user, mechanism_of(name)) for name in deleted]
    admin.alter_user_scram_credentials([*deletions, *upsertions(user, wanted)])[user]
    print(f"Completed updating config for user {user}.")
    return 0


def _describe(admin: _Admin, user: str | None) -> int:
    from kconf.cli.compat.kafka_configs.quotas import scram_line
    from kconf.errors import ErrorCode

    found = admin.describe_user_scram_credentials(None if user is None else [user])
    if user is not None and user in found.failures and found.failures[user].code == ErrorCode.RESOURCE_NOT_FOUND:
        raise ConfigurationError(f"{user} has no SCRAM credentials")
    for each in found:
        print(scram_line(each, found[each]))
    return 0
