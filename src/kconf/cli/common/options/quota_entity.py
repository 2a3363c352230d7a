"""The options that name a quota entity. They are flags because names of users and client IDs may contain any
character."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from kconf.model.quota import QuotaEntity


def add_quota_entity(parser: argparse.ArgumentParser) -> None:
    """The options that name the entity of a quota."""
    group = parser.add_argument_group("quota entity")
    for kind, one, many in (
        ("user", "a user", "users"),
        ("client-id", "a client ID", "client IDs"),
        ("ip", "an IP address", "IP addresses"),
    ):
        either = group.add_mutually_exclusive_group()
        either.add_argument(f"--{kind}", metavar="NAME", help=one)
        either.add_argument(f"--{kind}-default", action="store_true", help=f"the default of {many}")


def quota_entity(options: argparse.Namespace) -> QuotaEntity | None:
    """The entity that the options name, or None if there are none."""
    from kconf.model.quota import CLIENT_ID, IP, USER, QuotaEntity

    parts: dict[str, str | None] = {}
    for kind in (USER, CLIENT_ID, IP):
        name = getattr(options, kind.replace("-", "_"))
        if name is not None:
            parts[kind] = name
        elif getattr(options, f"{kind.replace('-', '_')}_default"):
            parts[kind] = None
    if "" in parts.values():
        raise ConfigurationError(
            "a quota entity needs a name; for the default use --user-default, --client-id-default or --ip-default"
        )
    if IP in parts and len(parts) > 1:
        raise ConfigurationError("--ip cannot be combined with --user or --client-id")
    return QuotaEntity.of(parts) if parts else None


def needed_entity(options: argparse.Namespace) -> QuotaEntity:
    entity = quota_entity(options)
    if entity is None:
        raise ConfigurationError("pass the entity: --user, --client-id, both, --ip, or one of their defaults")
    return entity
