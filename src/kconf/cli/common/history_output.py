"""The options of commands about the history of a cluster, and history entries as columns and items."""

from __future__ import annotations

import argparse
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from kconf.cli.output.cells import resource_cell, value_cell
from kconf.cli.output.result import Item, ResultColumn
from kconf.operations.display_names import display_names, value_of
from kconf.operations.history.entries import SOURCES
from kconf.util.iso_time import EPOCH, iso_time
from kconf.util.time_text import parse_time

if TYPE_CHECKING:
    from kconf.model.journal import Change
    from kconf.operations.history.entries import HistoryEntry
    from kconf.operations.history.record import Attribution

UNCERTAIN = "unless changed outside kconf since"
"""For a secret: the last recorded author. Whether another tool changed it since is unknown."""


def add_history(parser: argparse.ArgumentParser) -> None:
    """The scopes, and the source of the history."""
    parser.add_argument(
        "selectors", metavar="SELECTOR", nargs="*", help="topic:NAME|GLOB, broker:1, quota, user:NAME, …"
    )
    parser.add_argument(
        "--source",
        choices=SOURCES,
        help="read only this source (default: the change feed of a kconf server; otherwise journal and lake)",
    )


def milliseconds(text: str) -> int:
    """A point in time as milliseconds since 1970."""
    return (parse_time(text) - EPOCH) // timedelta(milliseconds=1)


def history_columns() -> list[ResultColumn]:
    return [
        ResultColumn("time", show=lambda item: str(item["time"])[:19].replace("T", " ")),
        ResultColumn("revision", "REV"),
        ResultColumn("resource", show=resource_cell),
        ResultColumn("key"),
        ResultColumn("before", show=lambda item: value_cell(item, "before")),
        ResultColumn("after", show=lambda item: value_cell(item, "after")),
        ResultColumn("principal", "WHO", who),
        ResultColumn("reason"),
        ResultColumn("outcome"),
    ]


def who(item: Item) -> str:
    """The principal and the operating system user, or why they are unknown, as in `blame`."""
    from kconf.operations.history.entries import SNAPSHOT_ORIGIN
    from kconf.operations.history.record import Attribution, Fit
    from kconf.operations.history.wording import author_text

    origin = item.get("origin")
    if not item["principal"]:
        fit = {SNAPSHOT_ORIGIN: Fit.SEEN, "outside": Fit.CHANGED_OUTSIDE}.get(str(origin), Fit.UNRECORDED)
        after = item.get("not_before")
        return author_text(Attribution(fit, None, None if after is None else milliseconds(after)))
    user = f" ({item['os_user']})" if item.get("os_user") else ""
    return f"{item['principal']}{user}"


def attribution_fields(attribution: Attribution) -> dict[str, Any]:
    """Fields: whether the value is the recorded one and, if it was changed outside kconf, after which time."""
    after = attribution.outside_after
    return {"record": attribution.fit.value, "changed_outside_after": iso_time(after)}


def author_cell(item: Item) -> str:
    """The author of a value, or why it is unknown."""
    from kconf.operations.history.record import Attribution, Fit
    from kconf.operations.history.wording import author_text

    after = item["changed_outside_after"]
    found = Attribution(Fit(item["record"]), None, None if after is None else milliseconds(after))
    known = who(item) if item["time"] else ""
    return author_text(found) or (f"{known}, {UNCERTAIN}" if found.fit is Fit.UNREADABLE else known)


def history_item(entry: HistoryEntry) -> dict[str, Any]:
    change, caller = entry.change, entry.caller
    return {
        "time": iso_time(entry.time),
        "revision": entry.revision,
        "line": entry.line,
        **names_of(change),
        "op": change.op,
        "before": value_of(change, change.before),
        "after": value_of(change, change.after),
        "sensitive": change.sensitive,
        "principal": caller.principal,
        "os_user": entry.os_user,
        "client_id": caller.client_id,
        "host": caller.host,
        "api": caller.api,
        "reason": caller.reason,
        "origin": entry.origin,
        "outcome": entry.outcome,
        **({} if entry.is_snapshot or entry.not_before is None else {"not_before": iso_time(entry.not_before)}),
    }


def names_of(change: Change) -> dict[str, Any]:
    named = display_names(change.resource, change.key)
    return {"resource": str(change.resource), "key": change.key or None, **named}
