"""Look-ups in a lake without Spark: the state at a time, and differences between times and clusters."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, write_deltalake

from kconf.lake.lookup import LakeTables, LookupFilter, Pair, shown
from kconf.lake.schemas import HISTORY, TOPICS, VIOLATIONS
from tests.support.small_lake import Row, SmallLake, value


def at(hour: int) -> datetime:
    return datetime(2026, 11, 1, hour, tzinfo=UTC)


def held(topic: str, key: str, text: str, since: int, until: int | None = None, **more: Any) -> Row:
    """A value from one hour to another."""
    order = {"epoch": 1, "revision": since, "line": 0, "sensitive": False, "until": until and at(until)}
    return value(topic, key, text, **{**order, "since": at(since), "open": until is None, **more})


def lake(directory: Path, *rows: Row) -> LakeTables:
    small = SmallLake(str(directory / "lake"))
    small.add(HISTORY, rows)
    small.finish(HISTORY)
    return LakeTables(small.uri)


def told(rows: Iterable[Row]) -> list[tuple[str, str, str]]:
    return [(row["resource_name"], row["key"], row["value"]) for row in rows]


def pairs(found: Iterable[Pair]) -> list[tuple[str, str | None, str | None]]:
    return [((one or other or {})["key"], shown(one), shown(other)) for one, other in found]


def test_the_state_at_a_time_has_the_values_of_that_time(tmp_path: Path) -> None:
    tables = lake(
        tmp_path,
        held("orders", "retention.ms", "1", 1, 3),
        held("orders", "retention.ms", "2", 3),
        held("orders", "segment.ms", "9", 2, 4),
        held("logs", "retention.ms", "7", 5),
    )

    assert told(tables.state()) == [("logs", "retention.ms", "7"), ("orders", "retention.ms", "2")]
    assert told(tables.state(at=at(1))) == [("orders", "retention.ms", "1")]
    assert told(tables.state(at=at(3))) == [("orders", "retention.ms", "2"), ("orders", "segment.ms", "9")]
    assert told(tables.state(at=at(4))) == [("orders", "retention.ms", "2")]
    assert tables.state(at=datetime(2026, 10, 31, tzinfo=UTC)) == []


def test_of_two_changes_at_the_same_time_the_last_one_counts(tmp_path: Path) -> None:
    """A server's clock may have been set back, so that intervals overlap."""
    tables = lake(
        tmp_path,
        held("orders", "retention.ms", "second", 1, revision=7, line=1),
        held("orders", "retention.ms", "third", 1, revision=8),
        held("orders", "retention.ms", "first", 1, revision=7),
    )

    assert told(tables.state()) == [("orders", "retention.ms", "third")]


def test_the_difference_between_two_times_has_both_values(tmp_path: Path) -> None:
    tables = lake(
        tmp_path,
        held("orders", "changed", "1", 1, 3),
        held("orders", "changed", "2", 3),
        held("orders", "removed", "1", 1, 3),
        held("orders", "set", "5", 3),
        held("orders", "same", "5", 1, 3),
        held("orders", "same", "5", 3),
    )

    assert pairs(tables.diff(LookupFilter(), at(2), at(4))) == [
        ("changed", "1", "2"),
        ("removed", "1", None),
        ("set", None, "5"),
    ]
    assert pairs(tables.diff(LookupFilter(key="set"), at(2))) == [("set", None, "5")]


def test_clusters_are_compared_without_their_hashes_of_secrets(tmp_path: Path) -> None:
    """Each cluster hashes them with its own key, so only whether they are set is compared."""
    tables = lake(
        tmp_path,
        *(held("orders", "password", f"hmac:{each}", 1, cluster=each, sensitive=True) for each in "ab"),
        *(held("orders", "same", "1", 1, cluster=each) for each in "ab"),
        *(held("orders", "differs", each, 1, cluster=each) for each in "ab"),
        *(held("orders", "my.ignored", each, 1, cluster=each) for each in "ab"),
        held("orders", "only.a", "1", 1, cluster="a"),
        held("orders", "secret.b", "hmac:1", 1, cluster="b", sensitive=True),
    )

    found = tables.compare("a", "b", ["my.*"])

    assert pairs(found.pairs) == [("differs", "a", "b"), ("only.a", "1", None), ("secret.b", None, "hmac:1")]
    assert (found.values, found.hidden) == (5, 1)
    assert tables.compare("a", "b", ["*"]) == ([], 0, 0)
    assert tables.clusters() == ["a", "b"]


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({"replicas": [[1, 2], [2, 1], [1, 2]]}, "partitions=3 replicas=2"),
        ({"partitions": 3, "replication": 2}, "partitions=3 replicas=2"),
        ({"replicas": []}, "partitions=0 replicas=0"),
    ],
)
def test_topics_are_compared_by_their_partitions_and_replicas(facts: dict[str, object], text: str) -> None:
    assert shown({"kind": "topic", "value": json.dumps(facts)}) == text
    assert shown({"kind": "config", "value": None}) == ""
    assert shown(None) is None


def test_a_table_that_the_last_run_did_not_write_is_empty(tmp_path: Path) -> None:
    tables = lake(tmp_path, held("orders", "retention.ms", "1", 1))

    assert tables.has(HISTORY)
    assert not tables.has(TOPICS)
    assert tables.rows(TOPICS) == []
    assert tables.delta_table(TOPICS) is None
    assert not tables.is_declared
    assert tables.names("topic") == ["orders"]
    assert tables.knows(LookupFilter(key="retention.ms"))
    assert not tables.knows(LookupFilter(key="segment.ms"))


def test_the_note_of_a_table_is_that_of_the_last_run_while_another_run_writes(tmp_path: Path) -> None:
    small = SmallLake(str(tmp_path / "lake"))
    place = tmp_path / "lake" / VIOLATIONS.path
    rows = pa.table({"cluster": ["c"], "rule": ["r"]})

    def write(*rules: str) -> None:
        noted = CommitProperties(custom_metadata={"userMetadata": json.dumps({"rules": rules})})
        write_deltalake(place, rows, mode="append", commit_properties=noted)

    write("a")
    write("b")
    small.add(HISTORY, [value("orders", "retention.ms", "1")])
    small.finish(HISTORY, VIOLATIONS)
    write_deltalake(place, rows, mode="append")
    write("c")

    assert LakeTables(small.uri).note(VIOLATIONS) == {"rules": ["b"]}
    small.finish(HISTORY, VIOLATIONS)
    assert LakeTables(small.uri).note(VIOLATIONS) == {"rules": ["c"]}
    assert LakeTables(small.uri).note(TOPICS) == {}
