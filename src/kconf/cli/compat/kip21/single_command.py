"""One command of KIP-21: alter or describe the configs of a topic or client. Also available in the shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    import argparse

    from kconf.client.admin_sync import SyncAdminClient


def add_options(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--entity-type", metavar="topic|client", help="entity type")
    add("--entity-name", metavar="NAME", help="topic name or client ID")
    add("--added-config", metavar="K=V,K=V", default="", help="configs to set; put a value with commas in brackets")
    add("--deleted-config", metavar="K,K", default="", help="configs to delete; their defaults apply again")


def run_once(admin: SyncAdminClient, options: argparse.Namespace, *, alter: bool) -> list[str]:
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
