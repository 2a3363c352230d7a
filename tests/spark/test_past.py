"""`kconf history`, `blame` and `diff` of a context that has a lake: read without Spark, on tables that Spark wrote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kconf.lake.schemas import HISTORY
from kconf.spark.delta_tables import Lake
from tests.cli.commands.scenarios import People
from tests.spark.tables import at, finish, interval, put
from tests.support.process import KconfProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = ("topic", "orders")


@pytest.fixture(scope="module")
def server() -> Iterator[KconfProcess]:
    with KconfProcess() as process:
        yield process


@pytest.fixture
def people(server: KconfProcess, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> People:
    """A context whose lake has its topic `orders`."""
    found = People(tmp_path, server.bootstrap)
    monkeypatch.setenv("KCONF_CONFIG", str(found.config))
    monkeypatch.delenv("KCONF_CONTEXT", raising=False)
    with found.admin() as admin:
        cluster: dict[str, Any] = {"cluster": admin.describe_cluster().cluster_id}
        if "orders" not in admin.list_topics():
            found.topics("orders", configs=[("segment.ms", "7200000")])
    removed = {"ended": "removed", "until_revision": 40, "until_line": 0, "until_origin": "kconf"}
    rows = [
        interval(ORDERS, "segment.ms", "3600000", 1, 2, **cluster),
        interval(ORDERS, "segment.ms", "7200000", 2, before="3600000", **cluster),
        interval(ORDERS, "max.message.bytes", "2000000", 2, 3, **{**cluster, **removed}),
    ]
    lake = Lake(str(tmp_path / "lake"), spark)
    put(lake, HISTORY, rows)
    finish(lake, [HISTORY])
    found.add_context("here", lake=str(tmp_path / "lake"))
    return found


def test_history_is_read_from_the_lake(people: People) -> None:
    whole = people.whole("history topic:orders --source lake")

    assert [(each["key"], each["before"], each["after"], each["principal"]) for each in whole["items"]] == [
        ("segment.ms", None, "3600000", "User:alice"),
        ("max.message.bytes", None, "2000000", "User:alice"),
        ("segment.ms", "3600000", "7200000", "User:alice"),
        ("max.message.bytes", "2000000", None, "User:bob"),
    ]
    assert whole["source"] == "lake"
    assert "the lake is as of" in whole["notes"][0]
    assert people.whole("history topic:orders")["source"] == "feed"  # the server's own journal comes first


def test_blame_joins_overrides_with_the_history_of_the_lake(people: People) -> None:
    found = {each["key"]: each for each in people.items("blame topic:orders --source lake")}

    assert (found["segment.ms"]["value"], found["segment.ms"]["reason"]) == ("7200000", "ticket 7")
    assert found[None]["time"] is None  # the lake has no row for the topic itself


def test_two_times_are_compared_by_the_lake(people: People) -> None:
    begin, end = at(1.5).isoformat(), at(9).isoformat()

    found = people.items(f"diff topic:orders --from {begin} --to {end} --source lake", status=3)

    assert [(each["key"], each["before"], each["after"]) for each in found] == [
        ("segment.ms", "3600000", "7200000"),
    ]


def test_a_missing_lake_is_reported_in_one_sentence(people: People) -> None:
    people.add_context("here", lake=str(people.directory / "nowhere"))

    told = people.whole("history topic:orders --source lake", status=1)

    assert "nowhere" in told["message"]
