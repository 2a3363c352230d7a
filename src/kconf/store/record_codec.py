"""Encodes revisions and audit entries as JSON arrays, the format in which stores write them.

The meaning of an array position never changes, because stored records and the SQL in store/sqlite/schema.py depend on
it. The caller's first six fields follow the time; fields that were added later are at the end. Missing fields of older
versions get defaults, and additional fields of newer versions are ignored. Optional fields that most revisions do not
have are in an object at the end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from operator import attrgetter
from sys import intern
from typing import Any, Final

from kconf.model.journal import AuditEntry, Change, ChangeKind, RequestContext, Revision
from kconf.model.lines.fields import CALLER_NAMES
from kconf.model.resource import Resource, ResourceType

to_json = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode
_TYPES: Mapping[int, ResourceType] = {int(each): each for each in ResourceType}
_KINDS: Mapping[str, ChangeKind] = {each.value: each for each in ChangeKind}
_FIRST: Final = 6
_LATER: Final = CALLER_NAMES[_FIRST:]
_REVISION: Final = 1 + _FIRST + 2  # the length of a revision record without later fields
_ATTEMPT: Final = 1 + _FIRST + 5
_first = attrgetter(*CALLER_NAMES[:_FIRST])


class DamagedRecord(ValueError):
    """A stored record is invalid."""


def revision_record(
    time: int, caller: RequestContext, origin: str, redacted: Sequence[Change], *, not_before: int | None = None
) -> list[Any]:
    """A revision without its number. Sensitive values must already be redacted."""
    record = _with_later([time, *_first(caller), origin, redacted], caller)
    return record if not_before is None else [*record, {"not_before": not_before}]


def read_revision(number: int, record: Sequence[Any]) -> Revision:
    time, *first, origin, lines = record[:_REVISION]
    facts: Mapping[str, Any] = {}
    if isinstance(record[-1], dict):
        *record, facts = record
    caller = RequestContext(*first, *record[_REVISION : _REVISION + len(_LATER)])
    changes = tuple(map(_read_change, lines))
    return Revision(number, time, caller, changes, origin, not_before=facts.get("not_before"))


def attempt_record(attempt: AuditEntry) -> list[Any]:
    """An attempt without its number. It contains no values."""
    facts = (attempt.revision, attempt.resource, list(attempt.keys), int(attempt.code), attempt.dry_run)
    return _with_later([attempt.time, *_first(attempt.caller), *facts], attempt.caller)


def read_attempt(number: int, record: Sequence[Any]) -> AuditEntry:
    time, *first, revision, resource, keys, code, dry_run = record[:_ATTEMPT]
    caller = RequestContext(*first, *record[_ATTEMPT : _ATTEMPT + len(_LATER)])
    return AuditEntry(time, caller, revision, read_resource(resource), tuple(keys), code, dry_run, number)


def _with_later(record: list[Any], caller: RequestContext) -> list[Any]:
    return [*record, *(getattr(caller, name) for name in _LATER)] if _LATER else record


def _read_change(line: Sequence[Any]) -> Change:
    kind, resource, key, before, after, op, sensitive = line
    return Change(_KINDS[kind], read_resource(resource), intern(key), before, after, op, sensitive)


def read_resource(pair: Sequence[Any]) -> Resource:
    number, name = pair
    return Resource(_TYPES[number], name)
