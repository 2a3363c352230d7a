"""`kconf config-command`: the command line proposed by KIP-248. Describes everything with its source; an alter is
followed by a describe that shows the result."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kconf.errors import ConfigurationError, KafkaError

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.model.resource import Resource

TYPES = ("topics", "clients", "users", "brokers")

_EXAMPLES = """\
examples:
  kconf config-command --bootstrap-server localhost:9092 --describe --entity-type topics --entity-name orders
  kconf config-command --bootstrap-server localhost:9092 --describe --entity-type brokers
  kconf config-command --bootstrap-server localhost:9092 --alter --entity-type topics --entity-name orders \\
      --add-config retention.ms=86400000,cleanup.policy=[compact,delete] --delete-config segment.ms
  kconf config-command --bootstrap-server localhost:9092 --alter --entity-type users --entity-name alice \\
      --entity-type clients --entity-default --add-config producer_byte_rate=1048576
  kconf config-command --adminclient-property bootstrap.servers=localhost:9092 --describe --entity-type clients \\
      --entity-default

Users and clients are described by name: KIP-248 has no way to list them. Credentials: kconf scram-credentials.
"""


class _Name(argparse.Action):
    """Names and defaults share one ordered list: the i-th belongs to the i-th type."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option: str | None = None) -> None:
        namespace.names = [*namespace.names, values if isinstance(values, str) else ""]


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "config-command",
        help="KIP-248's command: shows every value with its source",
        description="Change configs for topics, clients, users, brokers dynamically.",
        epilog=_EXAMPLES,
        allow_abbrev=False,
    )
    add = command.add_argument
    add(
        "--entity-type",
        action="append",
        choices=TYPES,
        required=True,
        help="type of the entity; repeat the option to combine users and clients",
    )
    add("--force", metavar="FORCE", help="accepted for compatibility; has no effect")
    add("--add-config", metavar="K=V,K=[V,V]", help="configs to set; put a value with commas in brackets")
    add("--delete-config", metavar="K,K", help="configs to remove")
    names = command.add_argument_group("entity", "the i-th name belongs to the i-th type")
    names.add_argument(
        "--entity-name", metavar="NAME", action=_Name, dest="names", default=[], help="name of the entity"
    )
    names.add_argument(
        "--entity-default",
        action=_Name,
        dest="names",
        nargs=0,
        default=[],
        help="the default entity of users, clients or brokers",
    )
    action = command.add_argument_group("action").add_mutually_exclusive_group(required=True)
    action.add_argument("--describe", action="store_true", help="show all values and their sources")
    action.add_argument("--alter", action="store_true", help="change values, then describe")
    where = command.add_argument_group("cluster").add_mutually_exclusive_group(required=True)
    where.add_argument("--bootstrap-server", "--bootstrap-servers", metavar="HOST:PORT,…", help="brokers")
    where.add_argument(
        *("--adminclient.config", "--command-config", "--config.properties"),
        metavar="FILE",
        dest="properties",
        help="properties file of a Java admin client, including bootstrap.servers",
    )
    where.add_argument(
        "--adminclient-property",
        metavar="K=V,…",
        action="append",
        dest="given",
        help="admin client properties on the command line; may be repeated",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kconf.cli.compat.kafka_configs.grammar import ConfigSpecs, parse_pairs

    _check(options)
    delete = [name.strip() for name in (options.delete_config or "").split(",") if name.strip()]
    specs = ConfigSpecs(parse_pairs(options.add_config) if options.add_config else {}, delete)
    _check_quotas(options, specs)
    try:
        with _client(options) as admin:
            if options.alter:
                _alter(admin, options, specs)
                print("The configs were altered. The state is now:")
            for line in _describe(admin, options):
                print(line)
    except KafkaError as error:
        from kconf.cli.compat.kafka_configs.java import sentence
        from kconf.cli.compat.kafka_configs.secrets import scrubbed

        raise ConfigurationError(scrubbed(sentence(error), options.entity_type[0], specs.add)) from error
    return 0


def _check(options: argparse.Namespace) -> None:
    types, names = options.entity_type, options.names
    if len(types) > 1 and sorted(types) != ["clients", "users"]:
        raise ConfigurationError("only users and clients can be combined, each once")
    if len(names) > len(types):
        raise ConfigurationError("pass one --entity-name or --entity-default for each --entity-type")
    if "" in names and types[0] == "topics":
        raise ConfigurationError("topics have no default entity")
    if options.alter:
        if not (options.add_config or options.delete_config):
            raise ConfigurationError("--alter needs --add-config or --delete-config")
        if len(names) < len(types):
            raise ConfigurationError("--alter needs --entity-name or --entity-default")
    elif options.add_config or options.delete_config:
        raise ConfigurationError("--add-config and --delete-config require --alter")
    elif len(names) < len(types) and types[0] in ("users", "clients"):
        raise ConfigurationError("--describe of users and clients needs --entity-name or --entity-default")


def _client(options: argparse.Namespace) -> SyncAdminClient:
    from kconf.client.admin_sync import SyncAdminClient

    if options.bootstrap_server:
        return SyncAdminClient(options.bootstrap_server)
    if options.properties:
        return SyncAdminClient.from_properties(options.properties)
    from kconf.cli.compat.kip248.adminclient_properties import parse_properties

    return SyncAdminClient.from_properties(parse_properties(options.given))


def _parts(options: argparse.Namespace) -> dict[str, str | None]:
    words = {"users": "user", "clients": "client-id"}
    return {words[kind]: name or None for kind, name in zip(options.entity_type, options.names, strict=True)}


def _resources(admin: SyncAdminClient, options: argparse.Namespace) -> Sequence[Resource]:
    from kconf.model.resource import Resource, ResourceType

    kind = ResourceType.TOPIC if options.entity_type[0] == "topics" else ResourceType.BROKER
    if options.names:
        return [Resource(kind, options.names[0])]
    if kind is ResourceType.TOPIC:
        return [Resource(kind, name) for name in sorted(admin.list_topics(internal=True))]
    return [Resource(kind, str(node)) for node in admin.describe_cluster().nodes]


def _alter(admin: SyncAdminClient, options: argparse.Namespace, specs: Any) -> None:
    """Always incremental: the flag that KIP-248 proposed became a separate request (KIP-339)."""
    from kconf.cli.compat.kafka_configs.alter import alterations

    if options.entity_type[0] in ("topics", "brokers"):
        (resource,) = _resources(admin, options)
        admin.incremental_alter_configs({resource: alterations(specs)})[resource]
        return
    from kconf.model.quota import QuotaEntity

    changes: dict[str, float | None] = {}
    for key, text in specs.add.items():
        changes[key] = _number(key, text)
    changes.update(dict.fromkeys(specs.delete))
    entity = QuotaEntity.of(_parts(options))
    admin.alter_quotas({entity: changes})[entity]


def _check_quotas(options: argparse.Namespace, specs: Any) -> None:
    """Check that the keys are quotas. In KIP-248, credentials have a separate tool."""
    from kconf.configdef.quota import SCRAM, USER_QUOTA

    if options.entity_type[0] not in ("users", "clients"):
        return
    for key in (*specs.add, *specs.delete):
        if key in SCRAM:
            raise ConfigurationError(f"{key} is a credential: use kconf scram-credentials, or kconf scram")
        if key not in USER_QUOTA:
            raise ConfigurationError(f"{key} is not a quota of users and clients; use {', '.join(USER_QUOTA)}")


def _number(key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigurationError(f"{key} must be a number, not {text!r}") from None


def _describe(admin: SyncAdminClient, options: argparse.Namespace) -> Iterator[str]:
    from kconf.cli.compat.kip248.config_table import ConfigRow, table

    if options.entity_type[0] in ("topics", "brokers"):
        what = options.entity_type[0][:-1].upper()
        resources = _resources(admin, options)
        found = admin.describe_configs(resources)
        for resource in resources:
            yield from table(what, resource.name or "(default)", map(ConfigRow.of, found[resource].entries))
        return
    yield from _quotas(admin, options)


def _quotas(admin: SyncAdminClient, options: argparse.Namespace) -> Iterator[str]:
    from kconf.cli.compat.kip248.config_table import QUOTA_SOURCES, ConfigRow, table
    from kconf.configdef.java.parsing import java_double
    from kconf.model.quota import QuotaEntity

    parts = _parts(options)
    shown = [parts[each] or "(default)" for each in ("user", "client-id") if each in parts]
    what = "(USER, CLIENT)" if len(parts) == 2 else "USER" if "user" in parts else "CLIENT"
    entity = QuotaEntity.of(parts)
    rows = [
        ConfigRow(key, java_double(each.value), False, False, QUOTA_SOURCES[each.source])
        for key, each in admin.describe_quotas([entity])[entity].items()
    ]
    yield from table(what, f"({', '.join(shown)})" if len(shown) == 2 else shown[0], rows)
