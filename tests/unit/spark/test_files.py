"""Which files of an archive the pipeline reads, by their names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from kconf.lake.storage.location import LakeError
from kconf.spark.files import Listed, LogRange, log_range, unread


class NoLake:
    """A lake without a ledger."""

    def columns(self, *_: object) -> list[dict[str, Any]]:
        return []


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
    lake: Any = NoLake()

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
    lake: Any = NoLake()

    with pytest.raises(LakeError, match=r"locked cannot be listed: Permission denied$"):
        unread(lake, "archive", str(tmp_path))
