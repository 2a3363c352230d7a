"""A store for several servers: ZooKeeper, in Kafka's own layout, so that brokers up to 3.9 apply the changes.

A commit is one multi: the changed znodes, a notification for each, and a journal znode that only one server can create.
The other servers read that commit and retry after it. So all servers apply the same changes in the same order, and a
pending commit whose resource has changed is rejected. A revision is the position in that order.

The modules, bottom up: paths, znode_codec and notifications (Kafka's names and documents), session and bulk_reader (the
connections), loader (all znodes as a snapshot), commit_builder (the znode operations of a commit), journal, fairness
and commit_log (the order of commits), external_changes (what others write), batching and committer (batches).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from logging import getLogger
from time import monotonic, time
from typing import Final

from kconf.errors import RevisionConflict, StoreFailed, StoreUnavailable
from kconf.model.journal import AuditEntry, RequestContext, Revision, redact_revision
from kconf.model.membership import ClusterMember, ClusterMembers
from kconf.model.plan import PendingCommit
from kconf.model.snapshot import Snapshot
from kconf.security.value_cipher import NO_SECRETS, Secrets
from kconf.store.base import InitialIdentity, OwnStateMixin
from kconf.store.zookeeper import paths
from kconf.store.zookeeper.commit_log import CommitLog
from kconf.store.zookeeper.committer import Committer
from kconf.store.zookeeper.external_changes import ORIGIN, ExternalChanges
from kconf.store.zookeeper.journal import ZookeeperJournal
from kconf.store.zookeeper.layout import StoreIdentity, open_layout
from kconf.store.zookeeper.membership import Membership
from kconf.store.zookeeper.notification_purger import KAFKAS_RETENTION, NotificationPurger
from kconf.store.zookeeper.session import TIMEOUT, ZookeeperSession, store_errors
from kconf.store.zookeeper.snapshot_diff import diff_snapshots
from kconf.store.zookeeper.url import ZookeeperUrl
from kconf.store.zookeeper.znode_codec import ZnodeProblem

log = getLogger(__name__)

_PURGE_MARKS_INTERVAL: Final = 3600.0  # seconds


class ZookeeperStore(OwnStateMixin):
    """One server's view of a shared store."""

    keeps_fractions = False  # brokers up to 3.9 fail to read them

    def __init__(self, url: str, session: ZookeeperSession, identity: StoreIdentity, secrets: Secrets) -> None:
        self.url = url
        self.cluster_id, self.epoch, store_key = identity
        self._session = session
        self._commit_log = CommitLog(session, store_key, secrets)
        self._journal = self._commit_log.journal
        self._membership = Membership(session, self._commit_log.changed)
        self._external = ExternalChanges(self._commit_log, self._membership)
        self._commit_log.has_brokers = lambda: self._external.has_brokers
        self._purger = NotificationPurger(session)
        self._committer = Committer(self._commit_log, self._external, self._purger)
        self._polled = 0  # the last revision that the caller has polled
        self.polled_generation = session.generation
        self._next_mark_purge = 0.0
        session.on_connected = self._connected
        with store_errors():
            self._load_tree()

    @classmethod
    def open(cls, url: str, secrets: Secrets = NO_SECRETS, identity: InitialIdentity | None = None) -> ZookeeperStore:
        """Open zookeeper://host:port[,host:port]/chroot. Creates missing znodes, with `identity` if given.

        Raises StoreUnavailable if ZooKeeper does not respond, StoreMismatch if a newer kconf wrote the store.
        """
        session = ZookeeperSession(ZookeeperUrl.parse(url), secrets)
        session.open()
        try:
            with store_errors():
                found = open_layout(session, url, identity)
            return cls(url, session, found, secrets)
        except BaseException:
            session.close()
            raise

    @property
    def problems(self) -> Sequence[ZnodeProblem]:
        """The invalid parts of external znodes. Parts that only brokers cannot read count only if there are brokers."""
        has_brokers = self._external.has_brokers
        return [each for each in self._commit_log.problems if has_brokers or not each.for_brokers]

    @property
    def unreadable(self) -> Sequence[str]:
        return [str(each) for each in self.problems]

    @property
    def problem(self) -> StoreFailed | None:
        """Always None: the ensemble manages its own files."""
        return None

    @property
    def is_reachable(self) -> bool:
        """Whether the session is held. If not, the last state stays available."""
        return self._session.is_held

    @property
    def generation(self) -> int:
        return self._session.generation

    def _connected(self) -> None:
        """Called from kazoo's threads. Watches may have been lost with the connection."""
        self._commit_log.notifications.check()
        self._commit_log.changed()

    def _load_tree(self) -> None:
        self._session.expired = False
        self._external.start()
        loaded = self._commit_log.load(has_brokers=self._external.has_brokers)
        self._external.journal_loaded(loaded)
        self._commit_log.remote.clear()
        self._polled = self._commit_log.revision

    def join(self, member: ClusterMember) -> None:
        with store_errors():
            self._membership.join(member, self._commit_log.notifications.passed)

    @property
    def members(self) -> ClusterMembers:
        return self._membership.members

    @property
    def faults(self) -> int:
        return len(self.problems)

    def load(self) -> Snapshot:
        self.poll_remote()
        return self._commit_log.cache.snapshot

    def commit(self, batch: Sequence[PendingCommit]) -> Sequence[Revision | RevisionConflict]:
        with store_errors():
            results = self._committer.commit(batch, self._polled)
        self._polled = self._commit_log.revision
        return results

    def housekeep(self, *, notification_retention: float) -> bool:
        """Purge old notifications, find those that fired no watch, and retry failed reads.

        With Kafka brokers, the retention is not shorter than theirs.
        """
        if not self._session.is_connected:
            return False
        self._commit_log.notifications.check()
        self._commit_log.on_change()
        with store_errors():
            self._membership.publish(self._commit_log.notifications.passed)
            has_brokers = self._external.has_brokers
            retention = max(notification_retention, KAFKAS_RETENTION) if has_brokers else notification_retention
            return self._purger.purge(retention, self._membership.passed_by_all(), bounded=not has_brokers)

    def on_change(self, callback: Callable[[], None]) -> None:
        self._commit_log.on_change = callback

    def poll_remote(self) -> Sequence[Revision]:
        generation = self._session.generation
        missed = generation != self.polled_generation
        is_behind = missed or self._commit_log.is_behind or self._session.expired or self._external.is_pending
        if self._session.is_connected and is_behind:
            try:
                with store_errors():
                    if missed:  # do not read from a lagging server of the ensemble
                        self._session.client.sync_async(paths.JOURNAL).get(timeout=TIMEOUT)
                    self._catch_up()
                self.polled_generation = generation
            except StoreUnavailable as error:  # a later call reads the rest
                log.warning("cannot read the changes by other servers: %s", error)
                self._commit_log.is_behind = True
        remote, self._commit_log.remote = self._commit_log.remote, []
        self._polled = self._commit_log.revision
        return remote

    def _catch_up(self) -> None:
        if not self._session.expired:
            if self._external.is_pending:
                self._external.poll()
            else:
                self._commit_log.catch_up()
            return
        self._session.expired = False
        try:
            self._compare_all()
        except BaseException:
            self._session.expired = True  # a later call compares again
            raise

    def _compare_all(self) -> None:
        """Register again after a lost session, and find what was changed in the meantime."""
        self._membership.rejoin(self._commit_log.notifications.passed)
        if self._journal.refresh_oldest() > self._commit_log.revision + 1:
            self._reload()
            return
        self._commit_log.catch_up()
        self._external.start()
        self._external.reconcile(self._external.find_differing(*self._commit_log.read_tree()))

    def _reload(self) -> None:
        """Report all differences as one revision, if the journal was trimmed beyond our revision."""
        before = self._commit_log.cache.snapshot
        self._load_tree()
        after = self._commit_log.cache.snapshot
        changes = diff_snapshots(before, after)
        if changes:
            revision = Revision(after.revision, int(time() * 1000), RequestContext(""), changes, ORIGIN)
            self._commit_log.remote.append(revision)

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        return self._journal.changes(after, limit)

    def redact(self, revision: Revision) -> Revision:
        known = self._commit_log.redacted.get(revision.number)
        return known or redact_revision(revision, self._commit_log.store_key)

    def journal_reader(self) -> ZookeeperJournal:
        return self._journal

    def append_attempts(self, attempts: Sequence[AuditEntry]) -> None:
        self._journal.append_attempts(attempts)

    def oldest(self) -> int:
        return self._journal.oldest

    def trim(self, *, before_time: int | None = None, keep_last: int | None = None, up_to: int | None = None) -> int:
        count = self._journal.trim(before_time, keep_last, up_to)
        if count and monotonic() > self._next_mark_purge:
            self._next_mark_purge = monotonic() + _PURGE_MARKS_INTERVAL
            with store_errors():
                self._external.purge_marks(self._journal.oldest)
        return count

    def acquire_archive_lock(self) -> bool:
        """Acquire the lock: an ephemeral znode, which is deleted with the session."""
        with store_errors():
            return self._session.acquire_lock(paths.ARCHIVE_LOCK)

    def close(self) -> None:
        self._session.close()
