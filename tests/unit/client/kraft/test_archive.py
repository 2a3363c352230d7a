"""The archive of a followed log: ranges without gaps, and no duplicate lines after any failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kconf.client.kraft.archive import LogArchive, LogSegment, followed_until, log_segments, missing_ranges
from kconf.client.kraft.checkpoint import Checkpoint
from kconf.client.kraft.follower import LogChanges, LogGap, LogReset
from kconf.client.kraft.image import MetadataImage
from kconf.errors import StoreLocked, StoreMismatch
from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.resource import Resource


def change(value: str) -> Change:
    return Change(ChangeKind.CONFIG, Resource.topic("orders"), "retention.ms", None, value, "set")


def changes(*offsets: int, epoch: int = 1) -> LogChanges:
    revisions = [Revision(each, 5, RequestContext(""), (change(str(each)),), "log") for each in offsets]
    return LogChanges(epoch, offsets[-1] + 1, revisions)


def at(offset: int) -> Checkpoint:
    return Checkpoint("cluster", offset, 1, MetadataImage())


def lines(directory: Path) -> list[dict[str, Any]]:
    found = [each.path.read_text().splitlines() for each in log_segments(directory)]
    return [json.loads(line) for text in found for line in text]


def opened(tmp_path: Path) -> tuple[LogArchive, Checkpoint]:
    archive = LogArchive(tmp_path, "cluster")
    return archive, archive.open()


def test_segments_cover_the_log_without_gaps(tmp_path: Path) -> None:
    archive, start = opened(tmp_path)
    archive.add([changes(3, 4)])
    archive.flush(at(10))
    archive.flush(at(20))  # nothing new: no file
    archive.add([changes(25, epoch=2)])
    archive.flush(at(30))
    archive.close()

    assert start.offset == 0
    assert [(each.begin, each.end) for each in log_segments(archive.directory)] == [(0, 10), (10, 30)]
    assert [
        (each["epoch"], each["revision"], each["sequence"], each["origin"]) for each in lines(archive.directory)
    ] == [
        (1, 3, 3, "log"),
        (1, 4, 4, "log"),
        (2, 25, 25, "log"),
    ]


def test_files_published_before_a_crash_are_not_written_again(tmp_path: Path) -> None:
    """The file exists, but the checkpoint is the previous one."""
    archive, _ = opened(tmp_path)
    archive.add([changes(3)])
    archive.flush(at(5))
    (archive.directory / ".follow.json").unlink()
    archive.close()

    again, start = opened(tmp_path)
    again.add([changes(3), changes(7)])
    again.flush(at(9))

    assert start.offset == 0
    assert [each["revision"] for each in lines(again.directory)] == [3, 7]
    assert [(each.begin, each.end) for each in log_segments(again.directory)] == [(0, 5), (5, 9)]


def test_a_gap_is_marked_by_its_name(tmp_path: Path) -> None:
    archive, _ = opened(tmp_path)
    archive.add([LogGap(0, 50, 3, 77, (change("1"),)), changes(60)])
    archive.flush(at(61))

    assert [(each.begin, each.end, each.is_gap) for each in log_segments(archive.directory)] == [
        (0, 50, True),
        (50, 61, False),
    ]
    assert [(each["origin"], each["revision"]) for each in lines(archive.directory)] == [("snapshot", 49), ("log", 60)]


def test_a_pending_record_keeps_its_range_when_a_gap_occurs(tmp_path: Path) -> None:
    archive, _ = opened(tmp_path)
    archive.add([changes(3), LogGap(5, 50, 3, 77, (change("1"),)), changes(60)])
    archive.flush(at(61))

    found = log_segments(archive.directory)
    assert [(each.begin, each.end, each.is_gap) for each in found] == [(0, 5, False), (5, 50, True), (50, 61, False)]
    assert [each["revision"] for each in lines(archive.directory)] == [3, 49, 60]


def test_the_time_until_which_the_log_was_followed_is_known(tmp_path: Path) -> None:
    archive, _ = opened(tmp_path)
    before = followed_until(archive.directory)
    archive.flush(at(5))

    assert before is None
    assert (followed_until(archive.directory) or 0) > 1_700_000_000_000


def test_missing_files_are_reported_as_ranges() -> None:
    segments = [LogSegment(Path(), *each, False) for each in ((0, 5), (5, 9), (12, 20), (15, 20))]

    assert list(missing_ranges(segments)) == [(9, 12)]


def test_only_one_process_may_write_a_directory(tmp_path: Path) -> None:
    opened(tmp_path)

    with pytest.raises(StoreLocked):
        opened(tmp_path)


def test_another_log_under_the_same_id_is_refused(tmp_path: Path) -> None:
    archive, _ = opened(tmp_path)

    with pytest.raises(StoreMismatch, match="was reformatted"):
        archive.add([LogReset(40)])


def test_a_checkpoint_of_another_cluster_and_a_damaged_one_are_refused(tmp_path: Path) -> None:
    archive, _ = opened(tmp_path)
    path = archive.directory / ".follow.json"
    archive.close()
    path.write_text(json.dumps(Checkpoint("other", 3, 1, MetadataImage()).to_json()))
    with pytest.raises(StoreMismatch, match="belongs to cluster other"):
        opened(tmp_path)
    path.write_text("{")
    with pytest.raises(StoreMismatch, match="damaged"):
        LogArchive(tmp_path, "cluster").open()


def test_files_are_readable_only_by_their_owner(tmp_path: Path) -> None:
    archive, _ = opened(tmp_path)
    archive.add([changes(3)])
    archive.flush(at(5))

    assert {oct(each.stat().st_mode & 0o777) for each in archive.directory.iterdir()} == {"0o600"}
