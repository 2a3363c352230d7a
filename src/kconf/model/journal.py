"""What was done: changes, and the revisions that carry them.

A `Change` holds the real values. Its journal line is the redacted form, in which a keyed hash stands for a sensitive
value: two equal secrets look equal, and nothing else can be learned.
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
    """What a line of the journal is about."""

    CONFIG = "config"  # before and after are the values of `key`; after None: the override is gone
    TOPIC = "topic"  # before and after are Topics as JSON; made, grown or deleted


class Change(NamedTuple):
    """One committed line: `resource`'s `key` went from `before` to `after` (None: not set)."""

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


def caller_field(default: Any, about: str, *, is_required: bool = False, is_counted: bool = False) -> Any:
    """A field of `Caller`, with a sentence about it.

    `is_required`: a line without it is refused. `is_counted`: the lake's `activity` counts by it, so that it should
    have few values.
    """
    described = {"about": about, "is_required": is_required, "is_counted": is_counted}
    return field(default=default, metadata=described)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, as the journal will name them.

    This is the only definition of these fields: the lines and records of the journal and the caller columns of the lake
    are made from it. A new field goes to the end and has a default, since lines and records of older versions are read
    without it. docs/how-to/extend.md shows the steps.
    """

    principal: str = caller_field(
        "User:ANONYMOUS", "who asked; null where only snapshots tell", is_required=True, is_counted=True
    )
    client_id: str = caller_field("", "the client id of the request", is_counted=True)
    host: str = caller_field("", "from where; USER@MACHINE where the client itself recorded it")
    api: str = caller_field("", "by which request")
    request_id: int = caller_field(0, "its number on its connection")
    reason: str | None = caller_field(None, "why, where the caller said so")


@dataclass(frozen=True, slots=True)
class Revision:
    """One committed plan. `time` is milliseconds since 1970; the order is that of the numbers, never of the clock."""

    number: int
    time: int
    caller: Caller
    changes: Sequence[Change]
    origin: str = "kconf"
    sequence: int = 0  # its place in the journal, without gaps; 0 where the numbers themselves have none


@dataclass(frozen=True, slots=True)
class Attempt:
    """A request about one resource that changed nothing: refused (`code` is not 0), or a dry run.

    Where it is neither, something was changed that is not kept: the level of a logger. It has no revision of its own,
    and names the one it was judged on; values are never kept. `number` is given by the store.
    """

    time: int
    caller: Caller
    revision: int
    resource: Resource
    keys: Sequence[str]
    code: int
    dry_run: bool
    number: int = 0


def redacted(change: Change, key: bytes) -> Change:
    """The form that may be written down and shown."""
    if not change.sensitive:
        return change
    return change._replace(before=_sealed(change.before, key), after=_sealed(change.after, key))


def _hidden(value: str | None) -> str | None:
    return None if value is None else "[hidden]"


def sealed_with(key: bytes, revision: Revision) -> Revision:
    """A revision with all its sensitive values sealed."""
    if not any(change.sensitive for change in revision.changes):
        return revision
    return replace(revision, changes=tuple(redacted(change, key) for change in revision.changes))


def _sealed(value: str | None, key: bytes) -> str | None:
    return None if value is None else "hmac:" + digest(key, value.encode(), sha256).hex()
