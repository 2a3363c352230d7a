"""Committed changes, revisions and audit entries.

A `Change` has the clear values. The journal has its redacted form, in which a keyed hash replaces a sensitive value:
equal secrets have equal hashes, and nothing else is revealed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from hmac import digest
from typing import NamedTuple

from kconf.model.resource import Resource


class ChangeKind(StrEnum):
    """What a change is about."""

    CONFIG = "config"  # before and after are the values of `key`; after None: the override was removed
    TOPIC = "topic"  # before and after are Topics as JSON; created, grown or deleted


class Change(NamedTuple):
    """One change: the `key` of `resource` went from `before` to `after` (None: not set)."""

    kind: ChangeKind
    resource: Resource
    key: str
    before: str | None
    after: str | None
    op: str
    sensitive: bool = False

    def __repr__(self) -> str:
        """The fields as usual, but never a sensitive value: a change may end up in a log or a traceback."""
        shown = self._replace(before=_hidden(self.before), after=_hidden(self.after)) if self.sensitive else self
        fields = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, shown, strict=True))
        return f"Change({fields})"


@dataclass(frozen=True, slots=True)
class RequestContext:
    """Who asks, as the journal will name them."""

    principal: str = "User:ANONYMOUS"
    client_id: str = ""
    host: str = ""
    api: str = ""
    request_id: int = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Revision:
    """One committed plan. `time` is milliseconds since 1970; numbers define the order, times do not."""

    number: int
    time: int
    caller: RequestContext
    changes: Sequence[Change]
    origin: str = "kconf"
    sequence: int = 0  # its position in the journal, without gaps; 0 if the numbers have no gaps either


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A request for one resource that committed nothing: refused (`code` is not 0), or a dry run.

    If it is neither, it changed something that is not stored: the level of a logger. `revision` is the one on which it
    was evaluated; values are never stored. The store assigns `number`.
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
    """The form that may be stored and shown."""
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
