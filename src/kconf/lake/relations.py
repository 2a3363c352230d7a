"""The key columns of each table, and the columns that join tables. docs/reference/tables.md shows them.

Null counts as a value in a key. tests/spark/test_whole_way.py checks the keys on a lake that the pipeline wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from kconf.lake.schemas import (
    ACTIVITY,
    ATTEMPTS,
    DECLARED,
    DRIFT,
    EFFECTIVE_CONFIG,
    EFFECTIVE_QUOTA,
    FILES,
    HISTORY,
    INTEGRITY,
    JOURNAL,
    QUARANTINE,
    RUNS,
    SNAPSHOT,
    STATE,
    TOPICS,
    UNEVEN,
    VIOLATIONS,
    Table,
)
from kconf.model.lines.fields import COUNTED


class Join(NamedTuple):
    """A join with another table: the columns that must be equal, and further conditions."""

    table: Table
    columns: str
    about: str = ""


_SETTING: Final = ("cluster", "resource_type", "resource_name", "key")
_SAME_SETTING: Final = ", ".join(_SETTING)
_OF_TOPICS: Final = "where resource_type is `topic`"
_FILE: Final = Join(FILES, "file")

KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    JOURNAL.name: ("cluster", "epoch", "revision", "line", "origin", "resource_type", "resource_name", "key"),
    ATTEMPTS.name: ("cluster", "epoch", "number"),
    QUARANTINE.name: ("file", "line", "reason"),
    SNAPSHOT.name: ("cluster", "taken", "kind", "resource_type", "resource_name", "key"),
    DECLARED.name: _SETTING,
    FILES.name: ("source", "file", "round"),
    HISTORY.name: (*_SETTING, "epoch", "revision", "line"),
    STATE.name: ("cluster",),
    TOPICS.name: ("cluster", "topic", "topic_id"),
    EFFECTIVE_CONFIG.name: _SETTING,
    EFFECTIVE_QUOTA.name: ("cluster", "user", "client_id", "key"),
    DRIFT.name: _SETTING,
    UNEVEN.name: ("cluster", "key"),
    VIOLATIONS.name: (
        "cluster",
        "rule",
        "resource_type",
        "resource_name",
        "topic_id",
        "key",
        "since",
        "epoch",
        "revision",
    ),
    ACTIVITY.name: ("cluster", "kind", "day", *COUNTED, "origin", "resource_type", "resource_name", "key", "error"),
    INTEGRITY.name: ("cluster", "kind", "epoch", "first_sequence", "resource_type", "resource_name", "key", "time"),
    RUNS.name: ("run",),
}
JOINS: Final[Mapping[str, tuple[Join, ...]]] = {
    JOURNAL.name: (Join(HISTORY, f"{_SAME_SETTING}, epoch, revision, line", "the value that the change set"), _FILE),
    ATTEMPTS.name: (_FILE,),
    QUARANTINE.name: (_FILE,),
    SNAPSHOT.name: (_FILE,),
    DECLARED.name: (Join(DRIFT, _SAME_SETTING, "a null cluster means every cluster"),),
    FILES.name: (Join(JOURNAL, "file", "the lines that were read from it"),),
    HISTORY.name: (
        Join(JOURNAL, f"{_SAME_SETTING}, epoch, revision, line"),
        Join(EFFECTIVE_CONFIG, _SAME_SETTING, "where open"),
        Join(TOPICS, "cluster, topic_id, resource_name = topic", _OF_TOPICS),
    ),
    STATE.name: (Join(HISTORY, "cluster"),),
    TOPICS.name: (Join(HISTORY, "cluster, topic = resource_name", _OF_TOPICS),),
    EFFECTIVE_CONFIG.name: (
        Join(HISTORY, _SAME_SETTING, "where open: who set it"),
        Join(TOPICS, "cluster, resource_name = topic", f'{_OF_TOPICS} and "exists"'),
    ),
    EFFECTIVE_QUOTA.name: (),
    DRIFT.name: (Join(EFFECTIVE_CONFIG, _SAME_SETTING), Join(DECLARED, _SAME_SETTING)),
    UNEVEN.name: (Join(EFFECTIVE_CONFIG, "cluster, key", "where resource_type is `broker`"),),
    VIOLATIONS.name: (
        Join(JOURNAL, "cluster, epoch, revision", "the change that caused it"),
        Join(TOPICS, "cluster, resource_name = topic", f'{_OF_TOPICS} and "exists"'),
    ),
    ACTIVITY.name: (),
    INTEGRITY.name: (Join(HISTORY, _SAME_SETTING),),
    RUNS.name: (),
}
