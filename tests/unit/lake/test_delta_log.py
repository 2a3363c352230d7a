"""The log of a Delta table: its last commit, its notes, and which commits are deleted."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from kconf.lake import delta_log
from kconf.lake.delta_log import DeltaLog, LocalLogFiles, StoredLogFiles, note_at, shorten
from tests.support.object_store import BUCKET, object_store

DAY = 86_400.0


def write(place: str | Path, note: object = None, *, mode: str = "append") -> None:
    properties = None
    if note is not None:
        properties = CommitProperties(custom_metadata={"userMetadata": json.dumps(note)})
    options = {"AWS_ALLOW_HTTP": "true"}
    data = pa.table({"a": [1]})
    write_deltalake(str(place), data, mode=mode, commit_properties=properties, storage_options=options)  # type: ignore[call-overload]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "table"


def listings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The listed folders, from now on."""
    found: list[str] = []
    listdir = os.listdir

    def counted(folder: str) -> list[str]:
        found.append(folder)
        return listdir(folder)

    monkeypatch.setattr(os, "listdir", counted)
    return found


def test_the_log_of_a_growing_table_is_listed_once(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, listed = DeltaLog(LocalLogFiles(table)), listings(monkeypatch)
    write(table, {"round": 1})
    assert (log.last() or (None,))[0] == 0

    for number in range(2, 6):
        write(table, {"round": number})
        assert log.note() == {"round": number}
        assert log.note(of_rows=True) == {"round": number}
        assert (log.last() or (None,))[0] == number - 1

    assert len(listed) == 1


def test_a_commit_is_read_once(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(table, {"round": 1})
    write(table)
    read: list[int] = []
    files = LocalLogFiles(table)
    text = files.text

    def counted(version: int) -> str | None:
        read.append(version)
        return text(version)

    monkeypatch.setattr(files, "text", counted)
    log = DeltaLog(files)

    assert [log.note(), log.note()] == [{"round": 1}, {"round": 1}]
    write(table)
    assert log.note() == {"round": 1}
    assert log.note(of_rows=True) == {}

    assert read == [1, 0, 2, 2]


def test_a_table_that_was_created_anew_or_whose_log_was_shortened_is_listed_again(table: Path) -> None:
    log = DeltaLog(LocalLogFiles(table))
    assert log.last() is None
    for number in range(3):
        write(table, {"old": number})
    assert log.note() == {"old": 2}

    shutil.rmtree(table)
    assert (log.last(), log.note()) == (None, {})
    write(table, {"new": 0})
    assert log.note() == {"new": 0}
    for number in range(1, 5):
        write(table, {"new": number})
    (table / "_delta_log" / f"{0:020}.json").unlink()
    assert log.note() == {"new": 4}


def test_the_note_of_a_version_is_not_that_of_a_later_one(table: Path) -> None:
    for number in range(4):
        write(table, {"rules": [number]} if number != 2 else None)
    files = LocalLogFiles(table)

    assert note_at(files, 1) == '{"rules": [1]}'
    assert note_at(files, 2) == '{"rules": [1]}'
    assert note_at(files, 2, most=1) is None
    assert note_at(files, 9) is None


@pytest.fixture(scope="module")
def store() -> Iterator[dict[str, str]]:
    with object_store() as environment:
        yield environment


def test_the_log_of_a_table_on_an_object_store(store: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in store.items():
        monkeypatch.setenv(name, value)
    place = f"s3://{BUCKET}/table"
    log = DeltaLog(StoredLogFiles(place))
    assert log.last() is None

    for number in range(3):
        write(place, {"round": number})
        assert (log.note(), (log.last() or (None,))[0]) == ({"round": number}, number)
    write(place)
    write(place)

    assert (log.note(), (log.last() or (None,))[0]) == ({"round": 2}, 4)
    assert note_at(StoredLogFiles(place), 1) == '{"round": 1}'


def age(table: Path, first: int, last: int, days: float) -> None:
    """Make the commits of these versions this old."""
    at = time.time() - days * DAY
    for version in range(first, last + 1):
        os.utime(table / "_delta_log" / f"{version:020}.json", (at, at))


def versions(table: Path) -> list[int]:
    return sorted(int(path.stem) for path in (table / "_delta_log").glob("*.json"))


def test_old_commits_before_a_checkpoint_are_deleted_and_the_others_can_be_read(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta_log, "_MOST", 6)
    for number in range(12):
        write(table, {"round": number})
        if number in (2, 4, 10):
            DeltaTable(table).create_checkpoint()
    age(table, 0, 6, 2)  # version 6 was current until version 7
    hidden = table / "_delta_log" / f".{1:020}.json.crc"
    hidden.touch()

    assert shorten(table) == 4 + 1 + 1  # versions 0 to 3, a checkpoint, a checksum

    assert versions(table) == list(range(4, 12))
    assert not hidden.exists()
    assert [DeltaTable(table, version=each).version() for each in range(4, 12)] == list(range(4, 12))
    assert len(DeltaTable(table, version=6).file_uris()) == 7
    assert shorten(table) == 0
    write(table, {"round": 12})
    assert DeltaLog(LocalLogFiles(table)).note() == {"round": 12}


@pytest.mark.parametrize(
    ("days", "most", "first"),
    [
        (0.5, 3, 0),  # younger than a day
        (2, 3, 5),  # older than a day: the last 3 are kept, and the one before
        (2, 1000, 0),  # few commits in a week
        (8, 1000, 8),  # older than a week: the last one is kept
    ],
)
def test_versions_of_a_day_and_a_few_of_a_week_are_kept(
    table: Path, monkeypatch: pytest.MonkeyPatch, days: float, most: int, first: int
) -> None:
    monkeypatch.setattr(delta_log, "_MOST", most)
    for number in range(9):
        write(table, {"round": number})
        DeltaTable(table).create_checkpoint()
    age(table, 0, 8, days)

    shorten(table)

    assert versions(table) == list(range(first, 9))


def test_the_last_note_is_kept(table: Path) -> None:
    for number in range(9):
        write(table, {"round": number} if number < 4 else None)
        DeltaTable(table).create_checkpoint()
    age(table, 0, 8, 30)

    shorten(table)

    assert versions(table) == list(range(3, 9))
    assert DeltaLog(LocalLogFiles(table)).note() == {"round": 3}


def test_a_log_without_checkpoint_or_without_commits_is_left_as_it_is(table: Path) -> None:
    assert shorten(table) == 0
    for _ in range(3):
        write(table)
    age(table, 0, 2, 30)

    assert shorten(table) == 0
    assert versions(table) == [0, 1, 2]
