"""The changes of a live cluster as a stream: `spark.readStream.format("kconf").option("rows", "changes")`.

The driver reads the changes and sends them with the partition, so that workers need neither the network nor a login. An
offset has the cluster ID, the epoch of its store, and the number of the last revision that was read. The same two
offsets always give the same rows, which a sink such as Delta Lake needs to write each change exactly once.

    startingOffsets       `latest` (default of streams), `earliest` (of batches), or a number: read what follows it
    maxChangesPerTrigger  changes per batch (default 10000); a revision is not split
    failOnDataLoss        if the cluster deleted changes before they were read: `true` (default) fails, `false` adds
                          a row of the kind `gap` and continues
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from kconf.errors import ConfigurationError, JournalTrimmed, RequestTimedOut
from kconf.lake.schemas import CHANGE_ROW
from kconf.model.lines.journal import change_lines
from kconf.spark.source.change_feeds import PAGE, ClusterFeed, FeedRevision, is_unreachable

if TYPE_CHECKING:
    import pyarrow as pa

Offset = dict[str, Any]
Row = dict[str, Any]
OpenFeed = Callable[[], ClusterFeed]

GAP: Final = "gap"
_MOST: Final = 10_000
_IDLE: Final = 300.0
"""Seconds after which the position is recorded although nothing has changed: a cluster may delete its log up to it."""
_OUTAGE: Final = 300.0
"""Seconds that a batch planned before a restart waits for the cluster."""
_PAUSE: Final = 1.0  # seconds

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StreamOptions:
    """The options that only `rows=changes` has."""

    start: str | int = "latest"
    most: int = _MOST
    fail_on_loss: bool = True

    @classmethod
    def of(cls, options: Mapping[str, str], start: str = "latest") -> StreamOptions:
        """Keys are in lower case; `start` is the default of startingOffsets."""
        start = options.get("startingoffsets", start).lower()
        loss = options.get("failondataloss", "true").lower()
        most = options.get("maxchangespertrigger", str(_MOST))
        if loss not in ("true", "false"):
            raise ConfigurationError(f"failOnDataLoss must be true or false, not {loss!r}")
        if not _is_number(most) or not 0 < int(most) <= 1_000_000:
            raise ConfigurationError(f"maxChangesPerTrigger must be a number from 1 to 1000000, not {most!r}")
        if start not in ("latest", "earliest") and not _is_number(start):
            raise ConfigurationError(
                f"startingOffsets must be latest, earliest, a revision or an offset, not {start!r}"
            )
        return cls(int(start) if _is_number(start) else start, int(most), loss == "true")


class ChangePages:
    """The rows of a feed, page by page, up to the number `until`; None: up to its end."""

    def __init__(self, feed: ClusterFeed, after: int, until: int | None, *, fail_on_loss: bool) -> None:
        self.position = after
        self._is_at_end = False
        self._feed, self._until, self._fail_on_loss = feed, until, fail_on_loss

    @property
    def is_done(self) -> bool:
        return self._is_at_end if self._until is None else self.position >= self._until

    def next_page(self, limit: int = PAGE) -> list[Row]:
        """The next rows; `position` moves after them. If it does not move, the cluster did not respond in time."""
        until = self._until
        try:
            page = self._feed.read(self.position, min(PAGE, limit))
        except JournalTrimmed as error:
            return [self._gap(error)]
        wanted = [each for each in page.revisions if until is None or each.revision.number <= until]
        self.position = page.end if until is None else min(page.end, until)
        self._is_at_end = page.is_last
        return [row for each in wanted for row in change_rows(self._feed.cluster, each)]

    def _gap(self, error: JournalTrimmed) -> Row:
        begin, end = self.position + 1, error.oldest - 1
        end = end if self._until is None else min(end, self._until)
        if end < begin:
            raise error
        if self._fail_on_loss:
            raise ConfigurationError(
                f"cluster {self._feed.cluster} deleted revisions {begin} to {end} before this query read them. Start"
                " the query with a new checkpoint, or set failOnDataLoss to false: the query then adds one row of the"
                " kind gap for these revisions and continues"
            )
        self.position = end
        where = {"cluster": self._feed.cluster, "epoch": self._feed.epoch}
        return {**where, "kind": GAP, "gap_begin": begin, "revision": end}


@dataclass
class RangePartition(InputPartition):
    """The revisions after `after`, up to `until`."""

    after: int
    until: int


class ChangeReader(DataSourceReader):
    """All changes that a cluster still has, or those after `startingOffsets`. A worker reads them, page by page."""

    def __init__(self, open_feed: OpenFeed, options: StreamOptions) -> None:
        self._open, self._options = open_feed, options

    def partitions(self) -> Sequence[InputPartition]:
        feed = self._open()
        try:
            return [RangePartition(first_position(feed, self._options.start), feed.latest())]
        finally:
            feed.close()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RangePartition)
        feed = self._open()
        try:
            pages = ChangePages(feed, partition.after, partition.until, fail_on_loss=self._options.fail_on_loss)
            yield change_batch([])
            while not pages.is_done:
                before = pages.position
                rows = pages.next_page()
                if pages.position == before:
                    raise RequestTimedOut(_not_returned(feed.cluster, before, partition.until, "in time"))
                yield change_batch(rows)
        finally:
            feed.close()


@dataclass
class ChangesPartition(InputPartition):
    """The rows of a batch."""

    rows: Sequence[Row]


class ChangeStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads on the driver; Spark keeps one instance for as long as a query runs.

    Spark also sends a copy to the workers, which only unpack partitions. It connects when it is first used.
    """

    def __init__(self, open_feed: OpenFeed, options: StreamOptions) -> None:
        self._open, self._options = open_feed, options
        self._opened: ClusterFeed | None = None
        self._batches: dict[tuple[int, int], list[Row]] = {}
        self._target: int | None = None
        self._latest: int | None = None
        self._moved = time.monotonic()

    @property
    def _feed(self) -> ClusterFeed:
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    def initialOffset(self) -> Offset:
        return self._offset(first_position(self._feed, self._options.start))

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self._options.most)

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._feed.latest()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        after = self._after(start)
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        if self._target is not None and after >= self._target:
            return start
        try:
            rows, end = self._read(after, most, self._target)
        except Exception as error:
            if not is_unreachable(error) or self._target is not None:  # a query that ends must not seem complete
                raise
            log.warning("cluster %s does not respond: %s", self._feed.cluster, error)
            return start
        self._latest = end
        if not rows and self._target is None and time.monotonic() - self._moved < _IDLE:
            return start
        self._moved = time.monotonic()
        self._batches[after, end] = rows
        return self._offset(end)

    def reportLatestOffset(self) -> Offset | None:
        return None if self._latest is None else self._offset(self._latest)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        after, until = self._after(start), self._after(end)
        rows = self._batches.get((after, until))
        if rows is None:  # a batch that was planned before a restart
            rows, _ = self._read(after, None, until)
        return [ChangesPartition(rows)] if rows else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, ChangesPartition)
        yield change_batch(partition.rows)

    def commit(self, end: Offset) -> None:
        done = self._after(end)
        self._batches = {between: rows for between, rows in self._batches.items() if between[1] > done}

    def stop(self) -> None:
        if self._opened is not None:
            self._opened.close()

    def _read(self, after: int, most: int | None, until: int | None) -> tuple[list[Row], int]:
        """About `most` rows after a revision (None: all), and the position after them.

        With `until`, waits up to _OUTAGE seconds for a cluster that is unreachable or slow. Without it, returns no rows
        if the cluster is slow.
        """
        rows: list[Row] = []
        pages = ChangePages(self._feed, after, until, fail_on_loss=self._options.fail_on_loss)
        deadline = time.monotonic() + _OUTAGE
        while not pages.is_done and (most is None or len(rows) < most):
            before = pages.position
            try:
                rows += pages.next_page(PAGE if most is None else most - len(rows))
            except Exception as error:
                if until is None or not is_unreachable(error) or time.monotonic() > deadline:
                    raise
            if pages.position > before:
                continue
            if until is None:
                break
            if time.monotonic() > deadline:
                raise RequestTimedOut(_not_returned(self._feed.cluster, before, until, f"within {_OUTAGE:.0f} s"))
            time.sleep(_PAUSE)
        return rows, pages.position

    def _offset(self, after: int) -> Offset:
        return {"cluster": self._feed.cluster, "epoch": self._feed.epoch, "revision": after}

    def _after(self, offset: Offset) -> int:
        feed = self._feed
        if offset["cluster"] != feed.cluster:
            raise ConfigurationError(
                f"the checkpoint belongs to cluster {offset['cluster']}, but this is cluster {feed.cluster}. Connect to"
                " the cluster of the checkpoint, or start the query with a new checkpoint"
            )
        if offset["epoch"] != feed.epoch:
            raise ConfigurationError(
                f"the checkpoint belongs to epoch {offset['epoch']} of cluster {feed.cluster}, but the cluster is in"
                f" epoch {feed.epoch}: its store was replaced, or the query switched between the journal and the"
                " metadata log. Start the query with a new checkpoint"
            )
        return int(offset["revision"])


def _not_returned(cluster: str, after: int, until: int, when: str) -> str:
    return (
        f"cluster {cluster} did not return revisions {after + 1} to {until} {when}. Check the cluster, then start the"
        " query again"
    )


def first_position(feed: ClusterFeed, start: str | int) -> int:
    """The revision or offset after which reading begins."""
    if start == "earliest":
        return feed.earliest()
    latest = feed.latest()
    if start == "latest":
        return latest
    if int(start) > latest:
        raise ConfigurationError(
            f"startingOffsets: {start} does not exist yet; the last revision of cluster {feed.cluster} is {latest}"
        )
    return int(start)


def change_rows(cluster: str, read: FeedRevision) -> list[Row]:
    """The rows of a revision."""
    return [
        {
            **line,
            "time": datetime.fromtimestamp(line["time"] / 1000, UTC),
            "principal": line["principal"] or None,  # a log has no authors
        }
        for line in change_lines(cluster, read.epoch, read.revision)
    ]


def change_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    import pyarrow as pa

    kinds = {
        "string": pa.string(),
        "bigint": pa.int64(),
        "int": pa.int32(),
        "boolean": pa.bool_(),
        "timestamp": pa.timestamp("us", "UTC"),
        "map<string,string>": pa.map_(pa.string(), pa.string()),
    }
    columns = [pa.array([_value(row.get(each.name)) for row in rows], kinds[each.type]) for each in CHANGE_ROW]
    return pa.RecordBatch.from_arrays(columns, names=[each.name for each in CHANGE_ROW])


def _value(value: Any) -> Any:
    return list(value.items()) if isinstance(value, dict) else value


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
