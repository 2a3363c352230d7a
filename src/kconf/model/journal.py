"""Committed changes, revisions and audit entries.

A `Change` contains clear values. In the journal it is redacted: a keyed hash replaces a sensitive value. Equal secrets
have equal hashes; nothing else is revealed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import sha256
from hmac import digest
from typing import Any, NamedTuple

from kconf.model.resource import Resource


class ChangeKind(StrEnum):
    """What a change is about."""

    CONFIG = "config"  # before and after are the values of `key`, None if not set
    TOPIC = "topic"  # before and after are topics as JSON, None if it does not exist


class Change(NamedTuple):
    """One change: the `key` of `resource` changed from `before` to `after` (None: not set)."""

    kind: ChangeKind
    resource: Resource
    key: str
    before: str | None
    after: str | None
    op: str
    sensitive: bool = False

    def __repr__(self) -> str:
        """Hides sensitive values, since a change may appear in a log or a traceback."""
        shown = self._replace(before=_hidden(self.before), after=_hidden(self.after)) if self.sensitive else self
        fields = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, shown, strict=True))
        return f"Change({fields})"


def caller_field(default: Any, about: str, *, is_required: bool = False, is_counted: bool = False) -> Any:
    """A field of `RequestContext`, with its description.

    `is_required`: a line without it is refused. `is_counted`: the lake's table `activity` counts by this field, so it
    should have few distinct values.
    """
    described = {"about": about, "is_required": is_required, "is_counted": is_counted}
    return field(default=default, metadata=described)


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The sender of a request, as recorded in the journal.

    This is the only definition of these fields: the lines and records of the journal and the caller columns of the lake
    are derived from it. Add new fields at the end, with a default, because lines and records of older versions do not
    have them. docs/how-to/extend.md shows the steps.
    """

    principal: str = caller_field(
        "User:ANONYMOUS",
        "principal of the request; null if only a snapshot shows the change",
        is_required=True,
        is_counted=True,
    )
    client_id: str = caller_field("", "client ID of the request", is_counted=True)
    host: str = caller_field("", "the client's IP address; USER@MACHINE where the client itself recorded it")
    api: str = caller_field("", "API of the request")
    request_id: int = caller_field(0, "correlation ID of the request")
    reason: str | None = caller_field(None, "reason, if the caller gave one")


@dataclass(frozen=True, slots=True)
class Revision:
    """One committed plan. `time` is milliseconds since 1970; numbers define the order, times do not.

    A change found by polling was made between `not_before` and `time`.
    """

    number: int
    time: int
    caller: RequestContext
    changes: Sequence[Change]
    origin: str = "kconf"
    sequence: int = 0  # position in the journal, without gaps; 0 if the numbers have no gaps
    not_before: int | None = None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A request for one resource that committed nothing: it was refused (`code` is not 0), or a dry run.

    If it is neither, it changed something that is not stored: a logger level. `revision` is the one on which it was
    evaluated. Values are never stored. The store assigns `number`.
    """

    time: int
    caller: RequestContext
    revision: int
    resource: Resource
    keys: Sequence[str]
    code: int
    dry_run: bool
    number: int = 0


def redact_change(change: Change, key: bytes) -> Change:
    """The redacted form of a change, which may be stored and shown."""
    if not change.sensitive:
        return change
    return change._replace(before=_hash(change.before, key), after=_hash(change.after, key))


def _hidden(value: str | None) -> str | None:
    return None if value is None else "[hidden]"


def redact_revision(revision: Revision, key: bytes) -> Revision:
    """A revision with all sensitive values redacted."""
    if not any(change.sensitive for change in revision.changes):
        return revision
    return replace(revision, changes=tuple(redact_change(change, key) for change in revision.changes))


def _hash(value: str | None, key: bytes) -> str | None:
    return None if value is None else "hmac:" + digest(key, value.encode(), sha256).hex()
