"""A read-only ZooKeeper store: reads and follows the configuration of a cluster, and writes no znodes.

For `--read-only`, and as the source of a copy. Changes are detected by watches on Kafka's notifications. Each time, all
znodes are read again and compared. The journal of these changes is in memory only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from logging import getLogger
from secrets import token_bytes
from time import time
from typing import Final

from kconf.errors import RevisionConflict, StoreFailed, StoreMismatch, StoreReadOnly, StoreUnavailable
from kconf.model.journal import AuditEntry, RequestContext, Revision, redact_revision
from kconf.model.membership import ClusterMember, ClusterMembers
from kconf.model.plan import PendingCommit
from kconf.model.snapshot import Snapshot
from kconf.security.value_cipher import NO_SECRETS, Secrets
from kconf.store.base import OwnStateMixin
from kconf.store.memory_journal import MemoryJournal
from kconf.store.zookeeper import paths
from kconf.store.zookeeper.bulk_reader import BulkReader
from kconf.store.zookeeper.external_changes import ORIGIN
from kconf.store.zookeeper.layout import read_cluster_id
from kconf.store.zookeeper.loader import TreeLoader, read_tree
from kconf.store.zookeeper.membership import Membership
from kconf.store.zookeeper.notifications import DIRECTORIES
from kconf.store.zookeeper.passwords import BrokerPasswords
from kconf.store.zookeeper.session import ZookeeperSession, store_errors
from kconf.store.zookeeper.snapshot_diff import diff_snapshots
from kconf.store.zookeeper.url import ZookeeperUrl
from kconf.store.zookeeper.znode_codec import ZnodeProblem

log = getLogger(__name__)

_WATCHED: Final = (*DIRECTORIES, paths.TOPIC_NODES, paths.DELETE_TOPICS, paths.JOURNAL)


class ReadonlyZookeeperStore(OwnStateMixin):
    """A store to which nothing can be committed."""

    keeps_fractions = False  # brokers up to 3.9 fail to read them

    def __init__(self, url: str, session: ZookeeperSession, secrets: Secrets, facts: dict[str, bytes]) -> None:
        self.url = url
        self.cluster_id = read_cluster_id(facts[paths.CLUSTER_ID])
        self.epoch = int(facts.get(paths.EPOCH, b"0"))
        self.problems: Sequence[ZnodeProblem] = ()
        self._session = session
        self._store_key = facts.get(paths.STORE_KEY) or token_bytes(32)
        self._passwords = BrokerPasswords(self._store_key, secrets)
        self._journal = MemoryJournal()
        self._callback: Callable[[], None] = lambda: None
        self._own: dict[int, ClusterMember] = {}
        self._membership = Membership(session, lambda: self._callback())
        self._stale = set(_WATCHED)  # directories that may have changed since they were read
        session.on_connected = self._connected
        self.polled_generation = session.generation
        self._snapshot = Snapshot.EMPTY
        self._snapshot = self._read(0)

    @classmethod
    def open(cls, url: str, secrets: Secrets = NO_SECRETS) -> ReadonlyZookeeperStore:
        """Open the store.

        Raises StoreUnavailable if ZooKeeper does not respond, StoreMismatch if there is no cluster.
        """
        session = ZookeeperSession(ZookeeperUrl.parse(url), secrets)
        session.open()
        try:
            with store_errors():
                found = session.get_many((paths.CLUSTER_ID, paths.EPOCH, paths.STORE_KEY))
                facts = {path: data for path, data, _ in found}
                if paths.CLUSTER_ID not in facts:
                    raise StoreMismatch(f"{url} contains neither a Kafka cluster nor a kconf store")
                return cls(url, session, secrets, facts)
        except BaseException:
            session.close()
            raise

    @property
    def unreadable(self) -> Sequence[str]:
        """Values that cannot be decoded, and those that are invalid for Kafka too."""
        return [str(each) for each in self.problems]

    @property
    def problem(self) -> StoreFailed | None:
        """Always None: the ensemble manages its own files."""
        return None

    @property
    def is_reachable(self) -> bool:
        return self._session.is_held

    @property
    def generation(self) -> int:
        return self._session.generation

    def join(self, member: ClusterMember) -> None:
        """Stored in this process only, since nothing is written."""
        self._own = {member.id: member}
        with store_errors():
            self._membership.refresh()

    @property
    def members(self) -> ClusterMembers:
        known = self._membership.members
        return known._replace(servers={**known.servers, **self._own})

    @property
    def faults(self) -> int:
        return len(self.problems)

    def _read(self, revision: int) -> Snapshot:
        """Read all znodes. Watches are set first."""
        stale, self._stale = self._stale, set()
        for directory in stale:
            self._session.children(directory, partial(self._changed, directory))
        with BulkReader(self._session.url.hosts, self._session.url.chroot) as bulk:
            loaded = TreeLoader(self._passwords).load(read_tree(bulk), revision, self._snapshot)
        for each in loaded.problems:
            if not each.for_brokers and each not in self.problems:
                log.warning("cannot read %s; its previous value stays in effect", each)
        self.problems = loaded.problems
        return loaded.snapshot

    def _changed(self, directory: str, _event: object) -> None:
        self._stale.add(directory)
        self._callback()

    def _connected(self) -> None:
        self._stale |= set(_WATCHED) if self._session.generation != self.polled_generation else set()
        self._callback()

    def load(self) -> Snapshot:
        self.poll_remote()
        return self._snapshot

    def on_change(self, callback: Callable[[], None]) -> None:
        self._callback = callback

    def poll_remote(self) -> Sequence[Revision]:
        if self._membership.is_stale and self._session.is_connected:
            with suppress(StoreUnavailable), store_errors():
                self._membership.refresh()
        if not self._stale or not self._session.is_connected:
            return ()
        generation = self._session.generation
        self._session.expired = False
        stale = set(self._stale)
        try:
            with store_errors():
                found = self._read(self._snapshot.revision)
        except StoreUnavailable as error:
            log.warning("cannot read the changes by other servers: %s", error)
            self._stale |= stale
            return ()
        self.polled_generation = generation
        changes = diff_snapshots(self._snapshot, found)
        if not changes:
            return ()
        number = self._snapshot.revision + 1
        revision = Revision(number, int(time() * 1000), RequestContext(""), tuple(changes), ORIGIN)
        self._snapshot = self._snapshot.apply(changes, number)
        self._journal.append(self.redact(revision))
        return (revision,)

    def commit(self, batch: Sequence[PendingCommit]) -> Sequence[Revision | RevisionConflict]:
        raise StoreReadOnly("this ZooKeeper store is read-only")

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        return self._journal.changes(after, limit)

    def redact(self, revision: Revision) -> Revision:
        return redact_revision(revision, self._store_key)

    def journal_reader(self) -> MemoryJournal:
        return self._journal

    def append_attempts(self, attempts: Sequence[AuditEntry]) -> None:
        self._journal.append_attempts(attempts)

    def oldest(self) -> int:
        return self._journal.oldest()

    def trim(self, *, before_time: int | None = None, keep_last: int | None = None, up_to: int | None = None) -> int:
        return self._journal.trim(before_time=before_time, keep_last=keep_last, up_to=up_to)

    def housekeep(self, *, notification_retention: float) -> bool:
        return False

    def acquire_archive_lock(self) -> bool:
        return False

    def close(self) -> None:
        self._session.close()
