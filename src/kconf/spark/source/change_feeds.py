"""Where a stream of changes comes from: the journal of a kconf server, or the metadata log of a KRaft cluster.

Revisions are numbered in order: by the server, or by their offset in the log. A feed returns complete revisions after a
number, and the number from which the reader continues. Neither returns sensitive values: a kconf server sends keyed
hashes instead, and a follower of the log the offset of the record.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from kconf.client.kraft.follower import LogChanges, LogGap, LogReset
from kconf.errors import (
    ConfigurationError,
    ConnectionFailed,
    ErrorCode,
    JournalTrimmed,
    KafkaError,
    RequestTimedOut,
    UnsupportedVersion,
)

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.client.calls.changes import ChangePage
    from kconf.client.follow_sync import Follow
    from kconf.model.journal import Revision
    from kconf.spark.source.options import SourceOptions

PAGE: Final = 1000  # changes per request
PATIENCE: Final = 10.0
"""Seconds that one call waits for the quorum to have a leader, or for a server that is behind the others."""
_PAUSE: Final = 0.5  # seconds
_NOWHERE: Final = -2


class FeedRevision(NamedTuple):
    """A revision, and the epoch of the store or of the log, in which its number is unique."""

    epoch: int
    revision: Revision


class FeedPage(NamedTuple):
    """Revisions in order, and the number up to which there are no others (`end`). `is_last`: no more are known yet."""

    revisions: Sequence[FeedRevision]
    end: int
    is_last: bool


class ClusterFeed(Protocol):
    """Reading from `latest` or `earliest` begins after that number. `epoch` is the epoch of the store; 0 for a log."""

    cluster: str
    epoch: int

    def latest(self) -> int: ...

    def earliest(self) -> int: ...

    def read(self, after: int, limit: int) -> FeedPage:
        """The revisions after a number with about `limit` changes, but at least one revision if there is any.

        Raises JournalTrimmed if some of them were deleted.
        """

    def close(self) -> None: ...


def open_feed(source: SourceOptions) -> ClusterFeed:
    """The changes of a cluster: from its metadata log if controllers are passed, otherwise from its journal. If the
    cluster is not a kconf server, they come from the log of the context's controllers."""
    if source.controllers is not None:
        return _log_feed(source)
    admin = source.open()
    try:
        return JournalFeed(admin)
    except UnsupportedVersion:
        admin.close()
        return _log_feed(source)
    except BaseException:
        admin.close()
        raise


def _log_feed(source: SourceOptions) -> LogFeed:
    admin = source.open_controllers()
    if admin is None:
        raise ConfigurationError(
            "the cluster is not a kconf server, so it has no journal; to read the metadata log of a KRaft cluster, set "
            "bootstrap.controllers, or use a context with controllers"
        )
    try:
        return LogFeed(admin)
    except BaseException:
        admin.close()
        raise


class JournalFeed:
    """The journal of a kconf server. Raises UnsupportedVersion if it is not one."""

    def __init__(self, admin: SyncAdminClient) -> None:
        self._admin = admin
        self.epoch = admin.list_changes(-1).epoch
        self.cluster = admin.describe_cluster().cluster_id or ""

    def latest(self) -> int:
        return self._admin.list_changes(-1).next_after

    def earliest(self) -> int:
        return self._admin.list_changes(-1).oldest - 1

    def read(self, after: int, limit: int) -> FeedPage:
        page = self._page(after, max(1, min(limit, PAGE)))
        if page.epoch != self.epoch:
            raise ConfigurationError(
                f"the store of cluster {self.cluster} was replaced: its epoch was {self.epoch} and is"
                f" now {page.epoch}; start the query with a new checkpoint"
            )
        revisions = [FeedRevision(page.epoch, each) for each in page.revisions]
        return FeedPage(revisions, page.next_after, page.next_after >= page.current)

    def _page(self, after: int, limit: int) -> ChangePage:
        """A page of the journal. Waits for a server that has not received yet what was read from another server."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self._admin.list_changes(after, limit=limit)
            except JournalTrimmed:
                raise
            except KafkaError as error:
                if error.code != ErrorCode.OFFSET_OUT_OF_RANGE:
                    raise
                if time.monotonic() >= deadline:
                    raise ConfigurationError(
                        f"cluster {self.cluster}: {error.message}. Its store was restored to an older state; start the"
                        " query with a new checkpoint"
                    ) from None
            time.sleep(_PAUSE)

    def close(self) -> None:
        self._admin.close()


class LogFeed:
    """The metadata log of a KRaft cluster. Between two calls, the follower keeps its position."""

    def __init__(self, controllers: SyncAdminClient) -> None:
        self._controllers = controllers
        self.cluster = controllers.describe_cluster().cluster_id or ""
        self.epoch = 0
        self._follow: Follow | None = None
        self._last = self._after = _NOWHERE
        self._waiting: deque[FeedRevision] = deque()

    def latest(self) -> int:
        with self._controllers.follow(cluster=self.cluster) as follow:
            return self._position(follow)

    def earliest(self) -> int:
        try:
            self.read(-1, 1)
        except JournalTrimmed as error:
            return error.oldest - 1
        return -1

    def read(self, after: int, limit: int) -> FeedPage:
        follow = self._at(after)
        count = sum(len(each.revision.changes) for each in self._waiting)
        deadline = time.monotonic() + PATIENCE
        is_fresh = False
        try:
            while count < limit and not (is_fresh and self._is_at_end(follow)) and time.monotonic() < deadline:
                count += self._step(follow)
                is_fresh = True  # before the first request, the known end may be out of date
        except BaseException:
            self._forget()
            raise
        end = follow.follower.high_watermark
        if self._is_at_end(follow) and end <= after:
            self._forget()
            raise ConfigurationError(
                f"offset {after} does not exist in the metadata log of cluster {self.cluster}, which ends at {end - 1}:"
                " the cluster was reformatted or restored to an older state; start the query with a new checkpoint"
            )
        return self._page(follow, limit)

    def _step(self, follow: Follow) -> int:
        """Read on; returns the number of new changes."""
        count = 0
        for event in follow.step():
            if isinstance(event, LogReset):
                raise ConfigurationError(
                    f"cluster {self.cluster} was reformatted, so it has a new metadata log; start the query with a new"
                    " checkpoint"
                )
            if isinstance(event, LogGap):  # only the difference is known, and another reader would not get it
                raise JournalTrimmed(event.end)
            if isinstance(event, LogChanges):
                self._waiting += (FeedRevision(event.epoch, each) for each in event.revisions)
                count += sum(len(each.changes) for each in event.revisions)
        follow.take()
        return count

    def _position(self, follow: Follow) -> int:
        """The last offset that was read. A transaction is read as a whole."""
        return follow.follower.checkpoint(self.cluster).offset - 1

    def _is_at_end(self, follow: Follow) -> bool:
        """Whether everything that is committed has been read."""
        return 0 <= follow.follower.high_watermark <= follow.follower.applied

    def _page(self, follow: Follow, limit: int) -> FeedPage:
        taken: list[FeedRevision] = []
        count = 0
        while self._waiting and count < limit:
            taken.append(self._waiting.popleft())
            count += len(taken[-1].revision.changes)
            self._last = taken[-1].revision.number
        is_last = not self._waiting
        end = max(self._after, self._position(follow)) if is_last else taken[-1].revision.number
        self._after = end
        return FeedPage(taken, end, is_last and self._is_at_end(follow))

    def _at(self, after: int) -> Follow:
        """The follower at this position; the existing one if it has returned nothing after it."""
        if self._follow is None or not self._last <= after <= self._after:
            self._forget()
            self._follow = self._controllers.follow(after, cluster=self.cluster)
            self._last = self._after = after
        return self._follow

    def _forget(self) -> None:
        if self._follow is not None:
            self._follow.close()
        self._follow, self._waiting = None, deque()
        self._last = self._after = _NOWHERE

    def close(self) -> None:
        self._forget()
        self._controllers.close()


def is_unreachable(error: Exception) -> bool:
    """Whether the cluster does not respond now, but may respond later."""
    return isinstance(error, ConnectionFailed | RequestTimedOut)
