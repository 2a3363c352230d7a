"""What the reader of a stream decides: batches, limits, restarts, outages and gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from kconf.errors import ConfigurationError, ConnectionFailed, JournalTrimmed, RequestTimedOut
from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.resource import Resource
from kconf.spark.source import change_stream
from kconf.spark.source.change_feeds import FeedPage, FeedRevision
from kconf.spark.source.change_stream import ChangeReader, ChangesPartition, ChangeStreamReader, StreamOptions


class Feed:
    """A journal with two changes in each revision; `oldest` is the first that it still has."""

    cluster = "c1"
    epoch = 1

    def __init__(self, last: int) -> None:
        self.last, self.oldest, self.is_down, self.closed = last, 1, False, False

    def latest(self) -> int:
        return self.last

    def earliest(self) -> int:
        return self.oldest - 1

    def read(self, after: int, limit: int) -> FeedPage:
        if self.is_down:
            raise ConnectionFailed("cannot connect")
        if after + 1 < self.oldest:
            raise JournalTrimmed(self.oldest)
        end = min(self.last, after + max(1, limit // 2))
        return FeedPage([FeedRevision(1, revision(n)) for n in range(after + 1, end + 1)], end, end == self.last)

    def close(self) -> None:
        self.closed = True


def revision(number: int) -> Revision:
    change = Change(ChangeKind.CONFIG, Resource.topic("t"), "retention.ms", None, str(number), "set", False)
    return Revision(number, 1000 * number, RequestContext("User:a"), (change, change), "kconf")


def reader(feed: Feed, **options: str) -> ChangeStreamReader:
    return ChangeStreamReader(lambda: feed, StreamOptions.of({"startingoffsets": "earliest", **options}))


def at(number: int, cluster: str = "c1", epoch: int = 1) -> dict[str, Any]:
    return {"cluster": cluster, "epoch": epoch, "revision": number}


def numbers(source: ChangeStreamReader, start: int, end: int) -> list[tuple[int, int]]:
    parts = source.partitions(at(start), at(end))
    rows: Sequence[Any] = [row for each in parts if isinstance(each, ChangesPartition) for row in each.rows]
    return [(row["revision"], row.get("line", -1)) for row in rows]


def test_a_stream_begins_at_its_starting_offsets() -> None:
    feed = Feed(9)
    feed.oldest = 4

    assert reader(feed).initialOffset() == at(3)
    assert reader(feed, startingoffsets="latest").initialOffset() == at(9)
    assert reader(feed, startingoffsets="7").initialOffset() == at(7)
    assert StreamOptions.of({}).start == "latest"
    with pytest.raises(
        ConfigurationError, match="startingOffsets: 10 does not exist yet; the last revision of cluster c1 is 9"
    ):
        reader(feed, startingoffsets="10").initialOffset()


def test_a_batch_has_whole_revisions_up_to_the_limit() -> None:
    source = reader(Feed(9))

    assert source.latestOffset(at(0), ReadMaxRows(4)) == at(2)
    assert numbers(source, 0, 2) == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert source.latestOffset(at(2), ReadMaxRows(1)) == at(3)
    assert source.latestOffset(at(3), ReadAllAvailable()) == at(9)
    assert source.reportLatestOffset() == at(9)


def test_the_same_offsets_give_the_same_rows_after_a_restart() -> None:
    source = reader(Feed(9))
    end = source.latestOffset(at(2), ReadMaxRows(6))
    planned = numbers(source, 2, end["revision"])

    assert numbers(reader(Feed(20)), 2, end["revision"]) == planned
    assert numbers(reader(Feed(20)), 5, 5) == []


def test_a_batch_that_cannot_be_read_again_completely_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_stream, "_OUTAGE", -1.0)

    class Stuck(Feed):
        def read(self, after: int, limit: int) -> FeedPage:
            return FeedPage([], after, False) if after >= 4 else super().read(after, 2)

    with pytest.raises(RequestTimedOut, match="did not return revisions 5 to 6 within"):
        numbers(reader(Stuck(9)), 2, 6)
    assert reader(Stuck(9)).latestOffset(at(4), ReadMaxRows(5)) == at(4)


def test_a_batch_that_was_planned_waits_for_a_cluster_that_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = Feed(9)
    feed.is_down = True
    monkeypatch.setattr("time.sleep", lambda _: setattr(feed, "is_down", False))

    assert numbers(reader(feed), 8, 9) == [(9, 0), (9, 1)]


def test_committed_batches_are_removed_from_memory() -> None:
    source = reader(Feed(9))
    source.latestOffset(at(0), ReadMaxRows(4))
    source.latestOffset(at(2), ReadMaxRows(4))
    source.commit(at(2))

    assert list(source._batches) == [(2, 4)]


def test_without_new_changes_the_offset_advances_only_when_it_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = Feed(9)
    source = reader(feed)
    assert source.latestOffset(at(9), ReadMaxRows(4)) == at(9)

    class Quiet(Feed):
        def read(self, after: int, limit: int) -> FeedPage:
            return FeedPage([], 50, True)

    source = reader(Quiet(9))
    assert source.latestOffset(at(9), ReadMaxRows(4)) == at(9)
    monkeypatch.setattr(change_stream, "_IDLE", 0.0)
    assert source.latestOffset(at(9), ReadMaxRows(4)) == at(50)
    assert numbers(source, 9, 50) == []


def test_available_now_ends_at_the_revision_that_was_last_when_it_started() -> None:
    feed = Feed(5)
    source = reader(feed)
    source.prepareForTriggerAvailableNow()
    feed.last = 8

    assert source.latestOffset(at(0), ReadMaxRows(100)) == at(5)
    assert numbers(source, 0, 5)[-1] == (5, 1)
    assert source.latestOffset(at(5), ReadMaxRows(100)) == at(5)


def test_during_an_outage_the_offset_stays() -> None:
    feed = Feed(5)
    source = reader(feed)
    feed.is_down = True
    assert source.latestOffset(at(1), ReadMaxRows(100)) == at(1)
    feed.is_down = False
    assert source.latestOffset(at(1), ReadMaxRows(100)) == at(5)


def test_an_available_now_query_fails_if_the_cluster_is_unreachable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(change_stream, "_OUTAGE", -1.0)
    feed = Feed(5)
    source = reader(feed)
    source.prepareForTriggerAvailableNow()
    feed.is_down = True

    with pytest.raises(ConnectionFailed):
        source.latestOffset(at(1), ReadMaxRows(100))


def test_deleted_changes_are_an_error_or_a_gap_row() -> None:
    feed = Feed(9)
    feed.oldest = 6
    with pytest.raises(ConfigurationError, match="deleted revisions 3 to 5 before this query read them"):
        reader(feed).latestOffset(at(2), ReadMaxRows(100))
    source = reader(feed, failondataloss="false")

    assert source.latestOffset(at(2), ReadMaxRows(100)) == at(9)
    assert numbers(source, 2, 9)[:2] == [(5, -1), (6, 0)]


def test_a_batch_whose_changes_were_deleted_after_planning_is_a_gap() -> None:
    feed = Feed(9)
    feed.oldest = 8
    source = reader(feed, failondataloss="false")

    assert numbers(source, 2, 5) == [(5, -1)]
    assert numbers(source, 2, 8) == [(7, -1), (8, 0), (8, 1)]


def test_a_checkpoint_of_another_cluster_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="the checkpoint belongs to cluster other, but this is cluster c1"):
        reader(Feed(9)).latestOffset(at(2, "other"), ReadMaxRows(1))


def test_a_checkpoint_of_another_store_of_the_cluster_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="belongs to epoch 2 of cluster c1, but the cluster is in epoch 1"):
        reader(Feed(9)).latestOffset(at(2, epoch=2), ReadMaxRows(1))


def test_a_reader_yields_its_rows_on_a_worker_without_connecting() -> None:
    def fail() -> Feed:
        raise AssertionError("a worker must not connect")

    source = ChangeStreamReader(fail, StreamOptions())
    (batch,) = source.read(ChangesPartition([{"cluster": "c1", "revision": 1}]))
    source.stop()

    assert batch.num_rows == 1


def test_a_batch_query_reads_page_by_page() -> None:
    feed = Feed(1200)
    source = ChangeReader(lambda: feed, StreamOptions.of({}, "earliest"))
    (part,) = source.partitions()
    feed.last = 1300

    batches = list(source.read(part))

    assert [each.num_rows for each in batches] == [0, 1000, 1000, 400]
    assert feed.closed


def test_stopping_closes_the_connection() -> None:
    feed = Feed(1)
    source = reader(feed)
    source.initialOffset()
    source.stop()

    assert feed.closed
