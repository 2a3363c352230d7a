"""A small lake with hand-written rows in every table, as after a finished run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kconf.lake.schemas import (
    ACTIVITY,
    DECLARED,
    DRIFT,
    HISTORY,
    INTEGRITY,
    RUNS,
    SNAPSHOT,
    STATE,
    TOPICS,
    VIOLATIONS,
    Table,
)
from kconf.spark.delta_tables import Lake

Row = Mapping[str, Any]
ONE, OTHER = "cluster-one-000000000A", "cluster-other-0000000B"
BEGAN = datetime(2026, 11, 1, tzinfo=UTC)
HASH = "hmac:" + "ab" * 32
LONG = "User:CN=dave.of.a.large.department,OU=engineering,O=example,L=Somewhere,C=GB"


def at(hours: float) -> datetime:
    return BEGAN + timedelta(hours=hours)


def interval(
    resource: tuple[str, str], key: str, value: str | None, since: float, until: float | None = None, **more: Any
) -> Row:
    """A row of the history; times are hours since BEGAN."""
    kind, name = resource
    row = {
        "cluster": ONE,
        "kind": "config" if key else "topic",
        "resource_type": kind,
        "resource_name": name,
        "key": key,
        "value": value,
        "sensitive": False,
        "since": at(since),
        "epoch": 1,
        "revision": int(since * 10) + 1,
        "line": 0,
        "origin": "kconf",
        "op": "set",
        "principal": "User:alice",
        "client_id": "tool",
        "host": "10.0.0.1",
        "reason": "ticket 7",
        "open": until is None,
    }
    if until is not None:
        row |= {"until": at(until), "until_principal": "User:bob", "until_reason": "enough", "ended": "replaced"}
    return {**row, **more}


def shape(partitions: int) -> str:
    replicas = ",".join(["[1,2]"] * partitions)
    return f'{{"id":"AAAAAAAAAAAAAAAAAAAAAQ","replicas":[{replicas}]}}'


ORDERS, PAYMENTS, BROKERS = ("topic", "orders"), ("topic", "payments"), ("broker", "")
PAIR = ("quota", '{"client-id":null,"user":"ann"}')
PASSWORD = "listener.name.x.ssl.keystore.password"

INTERVALS: Sequence[Row] = [
    interval(ORDERS, "", shape(3), 0),
    interval(ORDERS, "retention.ms", "60000", 1, 2),
    interval(ORDERS, "retention.ms", "120000", 2, 5),
    interval(ORDERS, "retention.ms", "180000", 5, principal="User:carol", reason=None),
    interval(ORDERS, "cleanup.policy", "compact", 1, 3, ended="removed"),
    interval(PAYMENTS, "", shape(1), 0),
    interval(BROKERS, "log.retention.ms", "99000", 1),
    interval(("broker", "1"), PASSWORD, HASH, 1, sensitive=True),
    interval(PAIR, "consumer_byte_rate", "5", 2, entity={"client-id": None, "user": "ann"}),
    interval(ORDERS, "", shape(3), 0, cluster=OTHER),
    interval(ORDERS, "retention.ms", "7", 1, cluster=OTHER),
    interval(PAYMENTS, "", shape(2), 0, cluster=OTHER),
    interval(BROKERS, "log.retention.ms", "99000", 1, cluster=OTHER),
    interval(("broker", "1"), PASSWORD, "hmac:" + "cd" * 32, 1, sensitive=True, cluster=OTHER),
]


def put(lake: Lake, table: Table, rows: Sequence[Row]) -> None:
    values = [tuple(row.get(name) for name in table.names) for row in rows]
    lake.overwrite(table, lake.spark.createDataFrame(values, table.ddl))


def finish(lake: Lake, tables: Sequence[Table], run: int = 1, inputs: Mapping[str, str] | None = None) -> None:
    """Write the run row, which records the versions that belong together."""
    versions = {each.name: lake.version(each) for each in tables}
    put(lake, RUNS, [{"run": run, "started": at(0), "finished": at(24), "versions": versions, "inputs": inputs}])


def fill(lake: Lake, today: datetime) -> None:
    """Fill all tables that the look-ups and the report need."""
    put(lake, HISTORY, INTERVALS)
    put(lake, SNAPSHOT, [static("log.segment.bytes", "1000000"), static("log.retention.ms", "1")])
    put(lake, STATE, [reached(ONE), reached(OTHER)])
    put(lake, DECLARED, [declared("orders", "retention.ms"), declared("payments", "partitions")])
    put(lake, DRIFT, [_drift("retention.ms"), _drift("segment.bytes")])
    put(lake, ACTIVITY, _activity(today))
    put(lake, VIOLATIONS, [_finding(number) for number in range(3)])
    put(
        lake,
        TOPICS,
        [{"cluster": ONE, "topic": "orders", "exists": True}, {"cluster": ONE, "topic": "x", "exists": False}],
    )
    put(lake, INTEGRITY, [{"cluster": ONE, "kind": "gap", "time": today}])
    finish(lake, [HISTORY, SNAPSHOT, STATE, DECLARED, DRIFT, ACTIVITY, VIOLATIONS, TOPICS, INTEGRITY])


def rendered(where: Path) -> Path:
    """Write the report next to the lake, and check that no other file is left."""
    command = [sys.executable, "-m", "kconf", "lake", "report", str(where / "r.html"), "--lake", str(where / "lake")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    assert [each.name for each in where.iterdir() if each.name.startswith(".")] == []
    return where / "r.html"


def static(key: str, value: str) -> dict[str, Any]:
    return {
        "cluster": ONE,
        "taken": at(1),
        "kind": "config",
        "resource_type": "broker",
        "resource_name": "1",
        "key": key,
        "value": value,
        "source": "STATIC_BROKER_CONFIG",
        "sensitive": False,
        "gone": False,
    }


def reached(cluster: str, **more: Any) -> Row:
    """How far the history of a cluster goes, with the journal of a server and snapshots."""
    row = {"cluster": cluster, "epoch": 1, "revision": 51, "line": 0, "time": at(5), "began": at(0), "looked": True}
    return {**row, "recorded": False, "followed": False, "round": 1, **more}


def declared(topic: str, key: str, cluster: str | None = None) -> Row:
    return {"cluster": cluster, "resource_type": "topic", "resource_name": topic, "key": key, "value": "1"}


def _drift(key: str) -> Row:
    return {
        "cluster": ONE,
        "resource_type": "topic",
        "resource_name": "orders",
        "key": key,
        "kind": "differs",
        "declared": "1",
        "actual": "180000",
        "since": at(5),
        "principal": "User:carol",
        "place": "topics.yaml:3:5",
    }


def _activity(today: datetime) -> list[Row]:
    common = {"cluster": ONE, "resource_type": "topic", "first": today, "last": today, "key": "retention.ms"}
    changes = [
        {**common, "kind": "changes", "day": (today - timedelta(days=back)).date(), "principal": who, "count": 3 + back}
        for back in range(0, 20, 4)
        for who in ("User:alice", "User:<b>bob</b>", "User:carol", LONG, "User:erin", "User:frank", "User:grace")
    ]
    flapping = {**common, "kind": "flapping", "resource_name": "orders", "count": 4, "principal": "User:bob"}
    refused = {**common, "kind": "refusals", "day": today.date(), "principal": "User:eve", "error": 44, "count": 9}
    return [*changes, flapping, refused]


def _finding(number: int) -> Row:
    return {
        "cluster": ONE,
        "rule": "retention",
        "severity": "error" if number else "warn",
        "resource_type": "topic",
        "resource_name": f"t{number}",
        "owner": ["search", "search", None][number],
        "key": "retention.ms",
        "message": "an hour & more, for who reads late shall find what was written on a Friday",
        "since": at(1),
        "until": at(2) if number == 1 else None,
        "open": number != 1,
    }
