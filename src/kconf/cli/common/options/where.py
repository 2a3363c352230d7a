"""The option `--where`: selects resources by conditions on their values."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kconf.cli.output.result import CommandResult
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.model.resource import Resource, ResourceType
    from kconf.operations.where import WhereCondition


def add_where(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--where",
        metavar="CONDITION",
        action="append",
        help=(
            "only resources whose value (set or inherited) matches: 'retention.ms>30d' (= != < <= > >=); may be "
            "repeated"
        ),
    )


def conditions_of(options: argparse.Namespace, kinds: Sequence[ResourceType]) -> list[WhereCondition]:
    """The conditions on resources; only one type is allowed."""
    if not options.where:
        return []
    from kconf.operations.where import parse_conditions

    if len(set(kinds)) > 1:
        raise ConfigurationError("--where works on one resource type; pass topics or brokers, not both")
    return parse_conditions(options.where, kinds[0])


def select(
    admin: SyncAdminClient,
    resources: Sequence[Resource],
    conditions: Sequence[WhereCondition],
    result: CommandResult,
    fields: Callable[[Resource], dict[str, Any]],
) -> dict[Resource, dict[str, str]]:
    """The resources that meet the conditions, with the values compared. Resources that cannot be read are
    failed items."""
    from kconf.operations.where import find_matching

    found = find_matching(admin, resources, conditions)
    for resource, failure in found.failures.items():
        result.add(failure, **fields(resource))
    result.notes += found.notes
    if not found.values:
        result.notes.append(f"no resource matches --where (of {len(resources):,} selected)")
    return found.values
