"""Followed clusters: for any files in any order, the lake has every change of the log once, each author that the files
prove and no wrong one, and the offsets that were not read.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from kconf.lake.schemas import ATTEMPTS, FILES, HISTORY, JOURNAL
from kconf.operations.history.entries import HistoryEntry
from kconf.operations.history.sources import _from_directory, _from_lake
from kconf.spark import bronze, runner, silver
from kconf.spark.delta_tables import Lake
from kconf.spark.gold import Gold
from kconf.spark.inputs import Inputs
from tests.spark import gateways
from tests.spark.followed_clusters import (
    SKEW,
    Cluster,
    Commit,
    Follower,
    cut,
    gateway_lines,
    is_through_gateway,
)
from tests.spark.followed_sources import read_directory, write_tail
from tests.support.targets import one_of

Row = dict[str, Any]
SEED, COMMITS = 22, 40


@dataclass(frozen=True)
class Case:
    """A cluster with its files. `lost` is a range that no file has, `gap` one that the first follower did not read."""

    cluster: Cluster
    files: dict[str, list[Row]]
    gap: tuple[int, int] | None
    lost: tuple[int, int] | None
    known: frozenset[int]  # the offsets of commits that a follower wrote
    named: frozenset[int]  # those that a follower wrote with their author
    gateway: frozenset[int]  # the gateway's own changes
    is_alone: bool  # one follower: the archive alone is complete


def case(number: int) -> Case:
    random = Random(f"{SEED}/{number}")
    cluster = Cluster(f"c{number:02}", random)
    cluster.grow(COMMITS)
    gap = _span(cluster, 12, 18) if number % 3 == 1 else None
    first = Follower(cluster, cut(random, 0, cluster.end, gap))
    files = {f"first/{cluster.name}/{name}": lines for name, lines in first.files()}
    covered = [each[:2] for each in first.ranges if not each[2]]
    lost = None
    if number % 3 == 2:
        name = sorted(files)[len(files) // 2]
        lost = next(each[:2] for each in first.ranges if f"{each[0]:020d}-" in name)
        del files[name]
        covered.remove(lost)
    named: frozenset[int] = frozenset()
    if number % 2:
        begin, end = _span(cluster, 5, 15)
        other = Follower(cluster, cut(random, begin, end, None), names_authors=True)
        files |= {f"second/{cluster.name}/{name}": lines for name, lines in other.files()}
        covered.append((begin, end))
        named = frozenset(each.offset for each in cluster.commits if each.author and begin <= each.offset < end)
    gateway: frozenset[int] = frozenset()
    seen: frozenset[int] = frozenset()
    if number % 4 == 3:
        begin, end = _span(cluster, 8, 30)
        files[f"second/{cluster.name}/{1:020d}-{begin:020d}-{end:020d}.jsonl"] = gateway_lines(cluster, begin, end)
        mine = [each for each in cluster.commits if begin <= each.offset < end]
        gateway = frozenset(each.offset for each in mine if is_through_gateway(each))
        seen = frozenset(each.offset for each in mine) - gateway
    for place, lines in enumerate(cluster.client_lines()):
        files[f"first/{cluster.name}/client-{place:03}.jsonl"] = lines
    known = frozenset(each.offset for each in cluster.commits if any(b <= each.offset < e for b, e in covered))
    return Case(cluster, files, gap, lost, known | seen, named, gateway, not number % 2)


def _span(cluster: Cluster, first: int, last: int) -> tuple[int, int]:
    return cluster.commits[first].offset, cluster.commits[last].offset


def deliver(lake: Lake, made: list[Case], where: Path, batches: int) -> bronze.Read:
    random, result = Random(SEED), bronze.Read()
    files = [(name, lines) for each in made for name, lines in each.files.items()]
    due = [min(batches - 1, random.randrange(batches + 1)) for _ in files]
    for delivery in range(batches):
        for (name, lines), when in zip(files, due, strict=True):
            if when == delivery:
                path = where / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        number = silver.next_round(lake)
        for each in ("first", "second"):
            (where / each).mkdir(parents=True, exist_ok=True)
            bronze.read_archive(lake, str(where / each), number, result)
        silver.update(lake)
    return result


def rows(table: Any) -> list[Row]:
    return [row.asDict(recursive=True) for row in table.collect()]


def proven(one: Case) -> dict[tuple[int, Any], str]:
    """The authors that the files prove, by offset and position: exactly one request and one record match."""
    found: dict[tuple[int, Any], str] = {}
    known = [(each, step) for each in one.cluster.commits if each.offset in one.known for step in each.steps]
    asked = [(each, step) for each in one.cluster.requests() for step in each.steps]
    own = [each for each in one.cluster.commits if each.offset in one.gateway]
    asked += [(replace(each, offsets=(each.offset, each.offset + 1)), step) for each in own for step in each.steps]
    for record, step in known:
        requests = [each for each, wanted in asked if wanted.subject == step.subject and _fits(each, record)]
        if len(requests) != 1:
            continue
        fitting = [each for each, other in known if other.subject == step.subject and _fits(requests[0], each)]
        if len(fitting) == 1:
            found[record.offset, step.place] = f"User:{requests[0].author}"
    for record, step in known:
        if record.offset in one.named:
            found.setdefault((record.offset, step.place), f"User:{record.author}")
    return found


def _fits(request: Commit, record: Commit) -> bool:
    if request.offsets is not None:
        return request.offsets[0] <= record.offset < request.offsets[1]
    return request.asked - SKEW <= record.time <= request.answered + SKEW


def place_of(row: Row) -> tuple[str, str, str]:
    return row["resource_type"], row["resource_name"], row["key"]


@dataclass(frozen=True)
class Followed:
    """Followed clusters in one lake, and what was read: by the archives, and each time from a directory."""

    lake: Lake
    archives: Path
    clusters: list[Case]
    result: bronze.Read
    directory: list[tuple[int, int]]
    gold: Gold
    history: list[Row]
    findings: list[Row]

    def of(self, cluster: str) -> list[Row]:
        """The history of a cluster, in order."""
        mine = [row for row in self.history if row["cluster"] == cluster]
        return sorted(mine, key=lambda row: (row["epoch"], row["revision"], row["line"]))


def followed(lake: Lake, place: Path, count: int, batches: int) -> Followed:
    made = [case(number) for number in range(count)]
    directory = read_directory(lake, place)
    write_tail(place / "archives")
    gateways.archive_all(place / "first", place / "second")
    for each in ("first", "second"):
        bronze.read_archive(lake, str(place / each), silver.next_round(lake), bronze.Read())
    result = deliver(lake, made, place / "archives", batches)
    runner.finish(lake, {}, result, datetime.now(UTC), None)
    gold = Gold(lake, Inputs())
    history, findings = rows(lake.read(HISTORY)), rows(gold.integrity())
    return Followed(lake, place / "archives", made, result, directory, gold, history, findings)


@pytest.fixture(scope="module", params=one_of("4 clusters in a run", ["8 clusters in two runs"]))
def together(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Followed:
    """The first four clusters have a file of every kind. One update makes the history of all tests."""
    place = tmp_path_factory.mktemp("followed")
    count, batches = (4, 1) if request.param.startswith("4") else (8, 2)
    return followed(Lake(str(place / "lake"), spark, little=True), place, count, batches)


def test_the_lake_has_every_change_of_random_followed_clusters_once(together: Followed) -> None:
    made = together.clusters
    history = [row for each in made for row in together.of(each.cluster.name)]

    assert together.result.skipped == {}
    for one in made:
        mine = together.of(one.cluster.name)
        _live_values_are_open(one, mine)
        _every_record_is_there_once(one, mine)
        _authors_are_true(one, mine)
        _gaps_are_told(one, [row for row in together.findings if row["cluster"] == one.cluster.name])
        if one.is_alone:
            _archive_and_lake_agree(one, together.lake, together.archives / "first")
    assert any(row["origin"] == "client" for row in history)
    assert any(row["origin"] == "kconf" for row in history)
    assert any(row["origin"] == "outside" for row in history)
    assert any(row["origin"] == "snapshot" for row in history)
    activity = together.gold.journal.where("origin IN ('outside', 'client', 'kconf') AND epoch > 0 AND line < 1000")
    lines = sum(len(each.steps) for one in made for each in one.cluster.commits if each.offset in one.known)
    assert activity.where(F.col("cluster").isin([each.cluster.name for each in made])).count() == lines


@pytest.mark.full
def test_a_rebuilt_history_of_followed_clusters_is_the_same(lake: Lake, tmp_path: Path) -> None:
    found = followed(lake, tmp_path, 8, 2)

    silver.rebuild(lake)

    assert sorted(map(repr, rows(lake.read(HISTORY)))) == sorted(map(repr, found.history))


def _live_values_are_open(one: Case, mine: list[Row]) -> None:
    found = Counter((place_of(row), row["value"]) for row in mine if row["open"])
    if one.lost is None:
        assert found == Counter(one.cluster.live.items()), one.cluster.name


def _every_record_is_there_once(one: Case, mine: list[Row]) -> None:
    found = Counter(
        (row["revision"], place_of(row), row["value"])
        for row in mine
        if row["origin"] != "snapshot" and row["epoch"] > 0 and row["line"] < 1000
    )
    assert found == Counter(
        (each.offset, step.place, step.after)
        for each in one.cluster.commits
        if each.offset in one.known
        for step in each.steps
        if step.after is not None
    ), one.cluster.name


def _authors_are_true(one: Case, mine: list[Row]) -> None:
    truth = {each.offset: each.author for each in one.cluster.commits}
    wanted = proven(one)
    for row in mine:
        if row["epoch"] == 0 or row["line"] >= 1000 or row["origin"] == "snapshot":
            continue
        expected = wanted.get((row["revision"], place_of(row)))
        assert (row["principal"] or None) == expected, (one.cluster.name, row)
        assert row["origin"] in ({"outside"} if expected is None else {"client", "kconf"})
        if row["principal"]:
            assert row["principal"] == f"User:{truth[row['revision']]}"
            assert row["reason"] in (None, f"ticket {row['revision']}")


def _gaps_are_told(one: Case, findings: list[Row]) -> None:
    """Check the reported ranges that no file covers; for a gap of the first follower, the difference is known."""
    covered = set()
    for name in one.files:
        if "/log-0" in name:
            begin, end = (int(each) for each in name.rpartition("/log-")[2].removesuffix(".jsonl").split("-"))
            covered |= set(range(begin, end))
    missing = [each for each in range(one.cluster.end) if each not in covered]
    told = [row for row in findings if row["kind"] == "gap"]
    assert sorted(each for row in told for each in range(row["first_sequence"], row["last_sequence"] + 1)) == missing, (
        one.cluster.name
    )
    assert all((row["found"] == "difference") is (one.gap is not None) for row in told)


def _archive_and_lake_agree(one: Case, lake: Lake, directory: Path) -> None:
    name = one.cluster.name
    archive, tables = _from_directory(str(directory), name).entries, _from_lake(lake.uri, name).entries
    one_side, other = (
        {
            (each.revision, each.change.resource, each.change.key, each.change.after, each.origin, author(each))
            for each in entries
            if each.is_from_log and not each.is_snapshot and each.line < 1000 and each.change.after is not None
        }
        for entries in (archive, tables)
    )
    assert one_side == other, name


def author(entry: HistoryEntry) -> tuple[str, str | None]:
    return entry.caller.principal, entry.caller.reason


@pytest.mark.full
def test_a_line_with_an_author_replaces_the_same_line_without_one(lake: Lake, tmp_path: Path) -> None:
    """The other follower's file arrives one run later."""
    made = case(1)
    known = Follower(made.cluster, [(0, made.cluster.end, False)], names_authors=True)
    plain = Follower(made.cluster, [(0, made.cluster.end, False)])
    for folder, follower in (("a", plain), ("b", known)):
        ((name, lines),) = follower.files()
        path = tmp_path / folder / made.cluster.name / name
        path.parent.mkdir(parents=True)
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        bronze.read_archive(lake, str(path.parent.parent), silver.next_round(lake), bronze.Read())
        silver.update(lake)

    found = rows(lake.read(JOURNAL))
    authors = {each.offset: each.author for each in made.cluster.commits}
    assert len(found) == sum(len(each.steps) for each in made.cluster.commits)
    assert {(row["revision"], row["principal"]) for row in found} == {
        (offset, f"User:{author}" if author else "") for offset, author in authors.items()
    }
    assert {row["origin"] for row in rows(lake.read(HISTORY)) if row["principal"]} == {"client"}
    assert lake.read(FILES).where("end_offset IS NOT NULL").count() == 2


def test_records_that_a_later_leader_truncated_are_not_in_the_history(together: Followed) -> None:
    assert [(row["value"], row["open"]) for row in together.of("tail")] == [("1", False), ("2", True)]


@pytest.mark.full
def test_records_that_were_truncated_after_they_were_read_are_removed_from_the_history(
    lake: Lake, tmp_path: Path
) -> None:
    write_tail(tmp_path)
    for name in ("first", "second"):
        bronze.read_archive(lake, str(tmp_path / name), silver.next_round(lake), bronze.Read())
        silver.update(lake)

    history = rows(lake.read(HISTORY).orderBy("revision"))
    assert [(row["value"], row["open"]) for row in history] == [("1", False), ("2", True)]


def test_a_metadata_directory_of_a_controller_becomes_history_with_its_gap(together: Followed) -> None:
    _directory_is_in_the_history(together.directory, together.of("abc"))
    gaps = [row for row in together.findings if row["cluster"] == "abc" and row["kind"] == "gap"]
    assert [(row["first_sequence"], row["last_sequence"], row["found"]) for row in gaps] == [(0, 9, "difference")]


@pytest.mark.full
def test_a_metadata_directory_read_in_several_runs_becomes_the_same_history(lake: Lake, tmp_path: Path) -> None:
    result = read_directory(lake, tmp_path, each_time=True)

    _directory_is_in_the_history(result, rows(lake.read(HISTORY).orderBy("epoch", "revision", "line")))
    gaps = [row for row in rows(Gold(lake, Inputs()).integrity()) if row["kind"] == "gap"]
    assert [(row["first_sequence"], row["last_sequence"], row["found"]) for row in gaps] == [(0, 9, "difference")]


def _directory_is_in_the_history(result: list[tuple[int, int]], history: list[Row]) -> None:
    """It is read from its oldest snapshot on, and again only after it has changed."""
    assert result == [(6, 1), (0, 0), (1, 1)]
    assert [(row["key"], row["value"], row["origin"], row["open"]) for row in history if row["key"]] == [
        ("segment.ms", "7", "snapshot", True),
        ("retention.ms", "5", "outside", False),
        *(("log.cleaner.threads", "2", "outside", each) for each in (False, False, True)),
        ("retention.ms", "6", "outside", True),
    ]
    assert not any(row["returned"] for row in history)  # a broker key that is written again does not flap


def test_a_change_archived_by_several_gateways_is_stored_once_with_its_author(together: Followed) -> None:
    _gateways_are_true(together.lake, together.gold, together.findings)


@pytest.mark.full
def test_a_change_archived_by_several_gateways_is_stored_once_over_two_runs(lake: Lake, tmp_path: Path) -> None:
    gateways.archive_all(tmp_path / "first", tmp_path / "second")
    for each in ("first", "second"):
        bronze.read_archive(lake, str(tmp_path / each), silver.next_round(lake), bronze.Read())
        silver.update(lake)
    gold = Gold(lake, Inputs())

    _gateways_are_true(lake, gold, rows(gold.integrity()))


def _gateways_are_true(lake: Lake, gold: Gold, findings: list[Row]) -> None:
    mine = F.col("cluster").isin([*gateways.CHANGES])
    found: dict[str, list[tuple[str, str, str]]] = {}
    for row in gold.journal.where(mine).orderBy("time").collect():
        found.setdefault(row["cluster"], []).append((row["after"], row["principal"], row["origin"]))
    assert found == gateways.CHANGES
    assert lake.read(ATTEMPTS).where(mine).count() == gateways.ATTEMPTS
    assert [row for row in findings if row["cluster"] in gateways.CHANGES] == []
