"""Which files of an archive the pipeline reads, by their names."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, write_deltalake

from kconf.lake.local_tables import Piece
from kconf.lake.schemas import FILES, QUARANTINE, Table
from kconf.lake.storage.location import LakeError
from kconf.spark.delta_tables import Lake
from kconf.spark.files import Listed, LogRange, covering, is_known, log_range, rejected, unread
from tests.support.small_lake import Row, SmallLake


def session(place: Path) -> Lake:
    """A lake as in a new session, for what needs no Spark."""
    no_spark: Any = None
    return Lake(str(place), no_spark)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        (f"{1:020}-{1:020}-{9:020}.jsonl", None),
        ("client-00001794804454949875-b436b1f3.jsonl", None),
        (f"log-{0:020}-{32:020}.jsonl", None),
        ("log-of-mine.jsonl", None),
        ("x.jsonl.gz", "its name does not end with .jsonl"),
        ("x.JSONL", "its name does not end with .jsonl"),
        ("_x.jsonl", "its name starts with _"),
    ],
)
def test_a_file_is_read_or_skipped_with_the_reason_by_its_name(name: str, fault: str | None) -> None:
    found = Listed(f"/archive/cluster/{name}", 1, 1).fault

    assert found is None if fault is None else (found or "").startswith(fault)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (f"log-{0:020}-{32:020}.jsonl", LogRange("cluster", 0, 32, False)),
        (f"log-gap-{5:020}-{32:020}.jsonl", LogRange("cluster", 5, 32, True)),
        ("log-of-mine.jsonl", None),
        (f"{1:020}-{1:020}-{9:020}.jsonl", None),
    ],
)
def test_the_name_of_a_followers_file_has_the_offsets_that_it_covers(name: str, found: LogRange | None) -> None:
    assert log_range(f"/archive/cluster/{name}") == found
    assert log_range(f"s3a://bucket/archive/cluster/{name}") == found


def test_every_file_that_may_have_lines_is_found_also_behind_a_link(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "archive", tmp_path / "disk2"
    for each in (home / "a", elsewhere):
        each.mkdir(parents=True)
    (home / "linked").symlink_to(elsewhere)
    (elsewhere / "circle").symlink_to(home)
    found = ("a/1.jsonl", "a/2.jsonl.gz", "3.json", "4.NDJSON", "linked/5.jsonl")
    for name in (*found, "a/.hidden.jsonl", "a/begun-1.json", "client.key", "notes.txt"):
        (home / name).write_text("x")
    lake = session(tmp_path / "lake")

    assert [each.path for each in unread(lake, "archive", str(home))] == sorted(str(home / each) for each in found)


def test_a_directory_that_cannot_be_listed_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests may run as root, who can list every directory."""
    locked = tmp_path / "locked"
    locked.mkdir()
    scandir = os.scandir

    def refused(path: str) -> Any:
        if path == str(locked):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refused)
    lake = session(tmp_path / "lake")

    with pytest.raises(LakeError, match=r"locked cannot be listed: Permission denied$"):
        unread(lake, "archive", str(tmp_path))


NAME = "/archive/c/1.jsonl"


def row(size: int, number: int | None, file: str = NAME) -> Row:
    modified = datetime.fromtimestamp(1_700_000_000 + size, UTC)
    state = {"source": "archive", "file": file, "size": size, "modified": modified, "read": True, "round": number}
    return {**state, **dict.fromkeys(LogRange._fields)}


def listed(size: int, file: str = NAME) -> Listed:
    return Listed(file, size, (1_700_000_000 + size) * 1000)


def known(lake: Lake, *sizes: int) -> list[int]:
    """With which of these sizes the file is known."""
    return [each for each in sizes if is_known(lake, "archive", listed(each))]


def test_the_last_row_of_a_file_is_valid_in_a_running_session_and_in_a_new_one(tmp_path: Path) -> None:
    small, lake = SmallLake(str(tmp_path)), session(tmp_path)
    assert known(lake, 1, 2, 3) == []

    for size, number in ((3, 1), (1, 2), (2, 3)):
        small.add(FILES, [row(size, number)])
        assert known(lake, 1, 2, 3) == [size]

    assert known(session(tmp_path), 1, 2, 3) == [2]
    assert not is_known(lake, "snapshots", listed(2))


def test_a_file_with_different_rows_of_one_round_is_read_again(tmp_path: Path) -> None:
    """An older version could write two rows of one round, and nothing shows which one came last."""
    small, lake = SmallLake(str(tmp_path)), session(tmp_path)
    small.add(FILES, [row(1, 5)])
    small.add(FILES, [row(2, 5)])
    assert known(lake, 1, 2) == known(session(tmp_path), 1, 2) == []

    small.add(FILES, [row(2, 6)])
    small.add(FILES, [row(2, 6)])
    assert known(lake, 1, 2) == known(session(tmp_path), 1, 2) == [2]


def test_a_ledger_that_was_rewritten_is_read_again(tmp_path: Path) -> None:
    small, lake = SmallLake(str(tmp_path)), session(tmp_path)
    small.add(FILES, [row(1, 1), row(1, 1, "/archive/c/2.jsonl")])
    assert known(lake, 1) == [1]

    write_deltalake(tmp_path / FILES.path, DeltaTable(tmp_path / FILES.path).to_pyarrow_table()[:0], mode="overwrite")
    assert known(lake, 1) == []


def test_only_new_rows_of_the_ledger_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small, lake = SmallLake(str(tmp_path)), session(tmp_path)
    read: list[int] = []
    pieces_of = lake.pieces_of

    def counted(table: Table, paths: Collection[str], names: Sequence[str]) -> Iterator[Piece]:
        read.append(len(paths))
        return pieces_of(table, paths, names)

    monkeypatch.setattr(lake, "pieces_of", counted)
    for number in range(1, 4):
        small.add(FILES, [row(number, number)])
        assert known(lake, 1, 2, 3) == [number]
        assert known(lake, 1, 2, 3) == [number]

    assert read == [1, 1, 1]


def test_files_with_lines_in_quarantine_are_found(tmp_path: Path) -> None:
    small, lake = SmallLake(str(tmp_path)), session(tmp_path)
    assert rejected(lake) == frozenset()

    for file in (NAME, "file:///archive/c%20d/2.jsonl", NAME):
        small.add(QUARANTINE, [{"line": "{}", "reason": "no epoch", "file": file}])

    assert rejected(lake) == {NAME, "/archive/c d/2.jsonl"}


def test_the_rows_of_followed_logs_are_kept_in_the_session(tmp_path: Path) -> None:
    small, lake = SmallLake(str(tmp_path)), session(tmp_path)
    for number in (1, 2):
        log = {"cluster": "c", "first_offset": 0, "end_offset": 10 * number, "gap": False}
        small.add(FILES, [row(number, number), {**row(number, number, f"/archive/c/log-{number}.jsonl"), **log}])
        assert [each["end_offset"] for each in covering(lake)] == [10, 20][:number]
