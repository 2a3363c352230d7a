"""The journal as lines of JSON, used by the archive, the client's own journal and the pipeline.

One line per change, self-contained, so that any tool can read any part of a file. `(cluster, epoch, revision, line)`
identifies a line permanently and defines the order; `sequence` counts the revisions of an epoch without gaps, and
`lines` is the number of lines of a revision, so that readers detect missing ones. Sensitive values are keyed hashes.
Fields may be added (fields.py defines them): a reader ignores unknown fields, and uses defaults for fields that older
lines do not have. docs/reference/formats.md shows them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from kconf.model.journal import AuditEntry, Change, ChangeKind, RequestContext, Revision
from kconf.model.lines.fields import CALLER, CALLER_NAMES
from kconf.model.resource import Resource, ResourceType

FORMAT = 1

to_json = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode
_TYPES = {each.word: each for each in ResourceType}
_REQUIRED = frozenset(each.name for each in CALLER if each.is_required)


def change_lines(cluster: str, epoch: int, revision: Revision) -> Iterator[dict[str, Any]]:
    """A redacted revision as lines."""
    head = {
        "format": FORMAT,
        "cluster": cluster,
        "epoch": epoch,
        "revision": revision.number,
        "sequence": revision.sequence or revision.number,
        "lines": len(revision.changes),
        "time": revision.time,
        "origin": revision.origin,
        **_caller(revision.caller),
    }
    for place, change in enumerate(revision.changes):
        yield {**head, "line": place, **_change(change)}


def attempt_line(cluster: str, epoch: int, attempt: AuditEntry) -> dict[str, Any]:
    """A refused request or a dry run, as a line."""
    return {
        "format": FORMAT,
        "cluster": cluster,
        "epoch": epoch,
        "number": attempt.number,
        "revision": attempt.revision,
        "time": attempt.time,
        **_caller(attempt.caller),
        **_resource(attempt.resource),
        "keys": list(attempt.keys),
        "error": attempt.code,
        "dry_run": attempt.dry_run,
    }


def read_revisions(lines: Iterable[Mapping[str, Any]]) -> Iterator[Revision]:
    """The revisions in lines, which must be in order. Raises KeyError, TypeError or ValueError for an invalid line."""
    current: Revision | None = None
    for line in lines:
        change = read_change(line)
        if current is not None and current.number == line["revision"]:
            current = replace(current, changes=(*current.changes, change))
            continue
        if current is not None:
            yield current
        caller = read_caller(line)
        current = Revision(line["revision"], line["time"], caller, (change,), line["origin"], line["sequence"])
    if current is not None:
        yield current


def read_change(line: Mapping[str, Any]) -> Change:
    """The change in one line. Raises the same errors as `read_revisions`."""
    return Change(
        ChangeKind(line["kind"]),
        Resource(_TYPES[line["resource_type"]], line["resource_name"]),
        line["key"],
        line["before"],
        line["after"],
        line["op"],
        line["sensitive"],
    )


def read_caller(line: Mapping[str, Any]) -> RequestContext:
    """The caller in a line. Fields that an older version did not write have defaults. Raises like `read_revisions`."""
    return RequestContext(**{name: line[name] for name in CALLER_NAMES if name in line or name in _REQUIRED})


def _caller(caller: RequestContext) -> dict[str, Any]:
    return {name: getattr(caller, name) for name in CALLER_NAMES}


def _resource(resource: Resource) -> dict[str, Any]:
    """The fields of a resource. For a quota they include the entity, so that readers need not parse the name."""
    named: dict[str, Any] = {"resource_type": resource.type.word, "resource_name": resource.name}
    if resource.type == ResourceType.QUOTA:
        named["entity"] = json.loads(resource.name)
    return named


def _change(change: Change) -> dict[str, Any]:
    return {
        "kind": change.kind.value,
        **_resource(change.resource),
        "op": change.op,
        "key": change.key,
        "before": change.before,
        "after": change.after,
        "sensitive": change.sensitive,
    }
