"""How the past is told: columns, items, scopes and moments on the command line."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kconf.cli.output.result import Item, ResultColumn
from kconf.errors import ConfigurationError
from kconf.model.journal import ChangeKind
from kconf.model.resource import ResourceType
from kconf.operations.history.sources import SOURCES

if TYPE_CHECKING:
    from kconf.engine.declarative.model import Scope
    from kconf.model.journal import Change
    from kconf.operations.history.sources import HistoryEntry

SENSITIVE = "(sensitive)"


def add_past(parser: argparse.ArgumentParser) -> None:
    """What is asked about, and whom is asked."""
    parser.add_argument(
        "selectors", metavar="SELECTOR", nargs="*", help="topic:NAME|GLOB, broker:1, quota, user:NAME, …"
    )
    parser.add_argument("--source", choices=SOURCES, help="whom to ask (default: the first of these that there is)")


def scopes_of(options: argparse.Namespace, what: str) -> tuple[Scope, ...]:
    from kconf.engine.declarative.tree import read_scopes

    try:
        return read_scopes(options.selectors, what)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None


def moment_of(text: str) -> int:
    """Milliseconds."""
    from kconf.cli.output.timestamps import parse_time

    return int(parse_time(text).timestamp() * 1000)


def iso(milliseconds: int) -> str:
    text = datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def columns() -> list[ResultColumn]:
    return [
        ResultColumn("time", show=lambda item: str(item["time"])[:19].replace("T", " ")),
        ResultColumn("revision", "REV"),
        ResultColumn("resource", show=subject),
        ResultColumn("key"),
        ResultColumn("before", show=lambda item: shown(item, "before")),
        ResultColumn("after", show=lambda item: shown(item, "after")),
        ResultColumn("principal", "WHO", who),
        ResultColumn("reason"),
        ResultColumn("outcome"),
    ]


def subject(item: Item) -> str:
    """Whom a line is about; a quota's entity in words."""
    from kconf.cli.commands.quota.main import resource_text

    return resource_text(item["resource"])


def who(item: Item) -> str:
    """The principal, and whose hands those were."""
    user = f" ({item['os_user']})" if item.get("os_user") else ""
    return f"{item['principal'] or '?'}{user}"


def item_of(told: HistoryEntry) -> dict[str, Any]:
    change, caller = told.change, told.caller
    return {
        "time": iso(told.time),
        "revision": told.revision,
        "line": told.line,
        **names_of(change),
        "op": change.op,
        "before": value_of(change, change.before),
        "after": value_of(change, change.after),
        "sensitive": change.sensitive,
        "principal": caller.principal,
        "os_user": told.os_user,
        "client_id": caller.client_id,
        "host": caller.host,
        "api": caller.api,
        "reason": caller.reason,
        "origin": told.origin,
        "outcome": told.outcome,
    }


def names_of(change: Change) -> dict[str, Any]:
    from kconf.operations.declarative.display import shown_names

    named = shown_names(change.resource, change.key)
    return {"resource": str(change.resource), "key": change.key or None, **named}


def value_of(change: Change, value: str | None) -> str | None:
    """A value as it may be told; a topic by its counts."""
    if value is None:
        return None
    if change.sensitive:
        return SENSITIVE
    return topic_text(value) if change.kind is ChangeKind.TOPIC else value


def topic_text(text: str) -> str:
    from json import loads

    facts = loads(text)
    replicas = facts.get("replicas")
    partitions = facts.get("partitions") if replicas is None else len(replicas)
    copies = facts.get("replication") if replicas is None else len(replicas[0]) if replicas else 0
    counts = ((partitions, "partition"), (copies, "replica"))
    return ", ".join(f"{number} {what}{'' if number == 1 else 's'}" for number, what in counts if number is not None)


def shown(item: Item, name: str) -> str:
    """A value of an item, with its unit."""
    from kconf.configdef.units import shown_value

    value = item[name]
    if value is None:
        return "(unset)" if item["key"] else "-"
    return shown_value(item["key"] or "", value)


def is_access(kind: ResourceType) -> bool:
    return kind in (ResourceType.QUOTA, ResourceType.SCRAM, ResourceType.ACL)
