"""Defines the fields of journal lines: name, type, description, and whether they are required.

The caller's fields come from `RequestContext`. The Spark reader of lines, the lake's tables and
docs/reference/tables.md are generated from these definitions; tests/unit/model/lines/test_journal.py checks that all of
them are written. Types are Spark SQL type names as text, so that this module does not need Spark. A new field must be
optional, since lines of older versions do not have it.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Final, NamedTuple

from kconf.model.journal import RequestContext


class LineField(NamedTuple):
    """A field of a line."""

    name: str
    type: str
    about: str
    is_required: bool = True


_COLUMN_TYPES: Final = {"str": "string", "str | None": "string", "int": "bigint", "bool": "boolean"}


def _optional(name: str, kind: str, about: str) -> LineField:
    return LineField(name, kind, about, is_required=False)


CALLER: Final = tuple(
    LineField(each.name, _COLUMN_TYPES[str(each.type)], each.metadata["about"], each.metadata["is_required"])
    for each in fields(RequestContext)
)
CALLER_NAMES: Final = tuple(each.name for each in CALLER)
COUNTED: Final = tuple(each.name for each in fields(RequestContext) if each.metadata["is_counted"])
"""The caller's fields by which the lake's table `activity` counts changes and attempts."""

_FORMAT: Final = _optional("format", "int", "version of this format")
_CLUSTER: Final = LineField("cluster", "string", "cluster ID")
_RESOURCE: Final = (
    LineField(
        "resource_type",
        "string",
        "`topic`, `broker`, `broker-logger`, `client-metrics`, `group`, `quota`, `scram`, `acl`",
    ),
    LineField(
        "resource_name",
        "string",
        "resource name; an empty broker name is the cluster-wide default; for quotas the entity as JSON",
    ),
    _optional("entity", "map<string,string>", "for quotas: type → name, null for the default"),
)
CLIENT_ONLY: Final = (
    _optional("os_user", "string", "in a client's journal: operating system user"),
    _optional("outcome", "string", "in a client's journal: `done`, `refused`, or `unknown`"),
)
"""Additional fields of a client that records its own changes."""

REQUEST: Final = (
    _optional("answered", "bigint", "in a client's journal: time of the response"),
    _optional(
        "log_begin",
        "bigint",
        "offset in the metadata log: for a client, the end of the log before the request; for a gateway, the offset of "
        "the change",
    ),
    _optional(
        "log_end",
        "bigint",
        "offset in the metadata log: for a client, the end of the log after the request; for a gateway, the offset "
        "after the change",
    ),
)
"""The range of times, and of offsets in a KRaft cluster's metadata log, in which a client's change was committed."""

CHANGE_LINE: Final = (
    _FORMAT,
    _CLUSTER,
    LineField(
        "epoch",
        "bigint",
        "number of the store (a copy gets the next one); for a followed log, the leader epoch; 0 in a client's journal",
    ),
    LineField(
        "revision",
        "bigint",
        "revision of the change; for a followed log, the offset; in a client's journal, microseconds since 1970",
    ),
    LineField("line", "int", "position of this line within the revision"),
    LineField("sequence", "bigint", "counts the revisions of an epoch, without gaps"),
    LineField("lines", "int", "number of lines of the revision"),
    LineField("time", "bigint", "commit time by the server's clock; never use it for ordering"),
    LineField(
        "origin",
        "string",
        "`kconf`, `outside` (not made through kconf), `client`, `log` (metadata log), `snapshot` (gap in that log)",
    ),
    *CALLER,
    LineField(
        "kind", "string", "`config` (before and after are values), `topic` (before and after are topics, as JSON)"
    ),
    *_RESOURCE,
    LineField(
        "op",
        "string",
        "requested operation: `set`, `delete`, `append`, `subtract`, `replace`, `create`, `grow`, `reassign`, "
        "`rewrite` (a broker key set to its current value)",
    ),
    LineField("key", "string", "key; empty for the topic itself"),
    _optional("before", "string", "previous value; null: not set"),
    _optional("after", "string", "new value; null: not set"),
    LineField("sensitive", "boolean", "true: before and after are keyed hashes"),
    *CLIENT_ONLY,
    *REQUEST,
)
"""A line about one change."""

ATTEMPT_LINE: Final = (
    _FORMAT,
    _CLUSTER,
    LineField("epoch", "bigint", "epoch of the store that got the request"),
    LineField("number", "bigint", "counts the attempts of an epoch"),
    LineField("revision", "bigint", "revision on which the decision was based"),
    LineField("time", "bigint", "time of the request"),
    *CALLER,
    *_RESOURCE,
    LineField("keys", "array<string>", "keys in the request"),
    LineField("error", "int", "Kafka error code; 0: a dry run that would have succeeded"),
    LineField("dry_run", "boolean", "whether the request was a dry run"),
    *CLIENT_ONLY,
)
"""A line about an attempt: a request that was refused, or a dry run."""
