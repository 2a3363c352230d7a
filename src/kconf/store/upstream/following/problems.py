"""Why the metadata log cannot be followed anymore: what the gateway has found, and what to do."""

from __future__ import annotations

from typing import Final

from kconf.client.kraft.follower import LogReset
from kconf.protocol.records.metadata import UnknownRecord

_OTHER_HISTORY = (
    "the cluster was restored from a backup, or formatted again with the same cluster ID. Start the gateway with a new"
    " store; the old one has the history until then"
)

UNREAD: Final = (
    "the cluster accepted the change, but this gateway has not read it from the metadata log yet, so it is not visible"
    " here; check before you try again"
)
"""The error message for a change that was acknowledged, but is not visible."""

NOT_APPLIED: Final = (
    "records of the metadata log could not be applied because of an internal error, so the state of this gateway may be"
    " wrong; see the log, and restart the gateway"
)


def reset(found: LogReset) -> str:
    """The log of the cluster is another one."""
    return (
        f"this gateway has read the metadata log up to offset {found.end}, but the log of the cluster differs from"
        f" offset {found.common} on: {_OTHER_HISTORY}"
    )


def older_epoch(found: int, known: int) -> str:
    """All controllers are in an older epoch than the gateway has seen. They may also just be starting."""
    return (
        f"the controllers are in leader epoch {found}, but this gateway has read the metadata log up to epoch {known}."
        f" If that does not change within a minute, {_OTHER_HISTORY}"
    )


def backlog(applied: int, end: int) -> str:
    """More was committed than could be read yet."""
    return f"it is still reading the metadata log, at offset {applied} of {end}"


def unreadable(record: UnknownRecord) -> str:
    return (
        f"the metadata log contains records of type {record.key}, version {record.version}, which this release of kconf"
        " does not know, so the state of this gateway may be wrong: use a newer release"
    )
