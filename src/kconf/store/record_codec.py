"""Revisions and attempts as JSON arrays: the form in which a keeper writes them down."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from sys import intern
from typing import Any

from kconf.model.journal import AuditEntry, Change, ChangeKind, RequestContext, Revision
from kconf.model.resource import Resource, ResourceType

to_json = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode
_TYPES: Mapping[int, ResourceType] = {int(each): each for each in ResourceType}
_KINDS: Mapping[str, ChangeKind] = {each.value: each for each in ChangeKind}


def revision_record(time: int, caller: RequestContext, origin: str, sealed: Sequence[Change]) -> list[Any]:
    """A revision without its number. Sensitive values are sealed by now."""
    return [time, *_who(caller), origin, sealed]


def read_revision(number: int, record: Sequence[Any]) -> Revision:
    time, *caller, origin, lines = record
    return Revision(number, time, RequestContext(*caller), tuple(map(_read_change, lines)), origin)


def attempt_record(attempt: AuditEntry) -> list[Any]:
    """An attempt without its number. It holds no values."""
    facts = (attempt.revision, attempt.resource, list(attempt.keys), int(attempt.code), attempt.dry_run)
    return [attempt.time, *_who(attempt.caller), *facts]


def read_attempt(number: int, record: Sequence[Any]) -> AuditEntry:
    time, *caller, revision, resource, keys, code, dry_run = record
    return AuditEntry(
        time, RequestContext(*caller), revision, read_resource(resource), tuple(keys), code, dry_run, number
    )


def _who(caller: RequestContext) -> tuple[Any, ...]:
    return caller.principal, caller.client_id, caller.host, caller.api, caller.request_id, caller.reason


def _read_change(line: Sequence[Any]) -> Change:
    kind, resource, key, before, after, op, sensitive = line
    return Change(_KINDS[kind], read_resource(resource), intern(key), before, after, op, sensitive)


def read_resource(pair: Sequence[Any]) -> Resource:
    number, name = pair
    return Resource(_TYPES[number], name)
