"""Sentences about what is known and unknown: authors, gaps in the record, values that are not recorded."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, assert_never

from kconf.operations.history.entries import OUTSIDE_ORIGIN, SNAPSHOT_ORIGIN
from kconf.operations.history.record import Attribution, Fit

if TYPE_CHECKING:
    from kconf.operations.history.entries import HistoryEntry
    from kconf.operations.history.record import Moment, PastValue
    from kconf.operations.state import ConfigName

_MAX_NOTES: Final = 5


def time_text(time: int) -> str:
    """A time (milliseconds) as tables show it, in UTC."""
    return datetime.fromtimestamp(time / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def moment_text(moment: Moment) -> str:
    return f"revision {moment.revision}" if moment.revision is not None else time_text(moment.time or 0)


def name_text(name: ConfigName) -> str:
    """A resource and a key for messages."""
    from kconf.operations.display_names import display_names

    resource, key = name
    fields = {"resource": str(resource), "key": key, **display_names(resource, key)}
    return f"{fields['resource']} {fields['key']}".rstrip()


def author_text(attribution: Attribution) -> str:
    """Why the author is unknown; empty if known."""
    after = "" if attribution.outside_after is None else f" after {time_text(attribution.outside_after)}"
    match attribution.fit:
        case Fit.MATCHES | Fit.UNREADABLE:
            return ""
        case Fit.SEEN:
            return f"changed outside kconf{after}" if after else "unknown: first seen in a snapshot"
        case Fit.CHANGED_OUTSIDE:
            return f"changed outside kconf{after}"
        case Fit.RECREATED_OUTSIDE:
            return f"topic recreated outside kconf{after}"
        case Fit.NOT_LISTED:
            return "topic not listed: deleted outside kconf, or not visible to you"
        case Fit.UNKNOWN_OUTCOME:
            return "unknown: a change was started, but its outcome was not recorded"
        case Fit.NOT_YET_VISIBLE:
            return "unknown: the broker may not show the last recorded change yet"
        case Fit.UNRECORDED:
            return "unknown: not recorded"
        case _:
            assert_never(attribution.fit)


def entry_author(entry: HistoryEntry) -> str:
    """The author of a change: the principal and the operating system user, or why it is unknown."""
    if entry.caller.principal:
        return f"{entry.caller.principal} ({entry.os_user})" if entry.os_user else entry.caller.principal
    fits = {SNAPSHOT_ORIGIN: Fit.SEEN, OUTSIDE_ORIGIN: Fit.CHANGED_OUTSIDE}
    return author_text(Attribution(fits.get(entry.origin, Fit.UNRECORDED)))


def gap_note(name: ConfigName, value: PastValue, moment: Moment) -> str:
    """A note on what is unknown about a value at a moment."""
    if value.gap is None:
        assert value.seen_at is not None
        shown = "unset" if value.value is None else "what is shown"
        return (
            f"{name_text(name)} has no recorded value before {time_text(value.seen_at)}: {shown} is its value at that "
            f"time; its value at {moment_text(moment)} is unknown"
        )
    begin, end = value.gap
    after = "" if begin is None else f" after {time_text(begin)}"
    before = "" if end is None else f"{' and' if after else ''} before {time_text(end)}"
    shown = "unset" if value.value is None else "what is shown"
    return (
        f"{name_text(name)} was changed without being recorded{after}{before}: {shown} is its last recorded value "
        f"before {moment_text(moment)}, which may differ from the actual value"
    )


def unknown_notes(names: Sequence[ConfigName], moment: Moment) -> list[str]:
    """One note per key, or one for all if there are many."""
    if len(names) <= _MAX_NOTES:
        return [
            f"{name_text(each)} has no recorded value before {moment_text(moment)}; whether it changed is unknown"
            for each in names
        ]
    some = ", ".join(map(name_text, names[:_MAX_NOTES]))
    more = f"{some} and {len(names) - _MAX_NOTES} more (--output json lists them)"
    return [
        (
            f"{len(names)} keys have no recorded value before {moment_text(moment)}; whether they changed is unknown: "
            f"{more}"
        )
    ]


def secret_notes(names: Sequence[ConfigName]) -> list[str]:
    return [f"{name_text(each)} is a secret and cannot be compared; whether it changed is unknown" for each in names]


def unreadable_note(resource: object) -> str:
    return f"{resource} cannot be read now and is not shown"
