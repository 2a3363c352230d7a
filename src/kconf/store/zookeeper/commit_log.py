"""The total order of all servers' commits: appends to the journal, and reads what other servers appended.

An append is one multi. It creates the next znode of the journal, which only one server can do; the others read what
that server wrote. So the cache is always at a revision of the journal, and guards can be checked against it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from logging import getLogger
from secrets import token_hex
from typing import Any, Final

from kazoo.exceptions import NoNodeError, RolledBackError, RuntimeInconsistency

from kconf.errors import StoreUnavailable
from kconf.model.journal import Change, Revision
from kconf.model.resource import Resource
from kconf.model.snapshot import Snapshot
from kconf.security.value_cipher import Secrets
from kconf.store.record_codec import read_revision
from kconf.store.zookeeper import paths
from kconf.store.zookeeper.bulk_reader import BulkReader
from kconf.store.zookeeper.commit_builder import build_commit
from kconf.store.zookeeper.fairness import CommitFairness
from kconf.store.zookeeper.journal import ZookeeperJournal, journal_path, read_entry, write_entry
from kconf.store.zookeeper.loader import LoadedState, TreeLoader, ZnodeTree, read_tree
from kconf.store.zookeeper.notification_follower import NotificationFollower
from kconf.store.zookeeper.passwords import BrokerPasswords
from kconf.store.zookeeper.session import OUTCOME_UNKNOWN, TIMEOUT, ZookeeperSession
from kconf.store.zookeeper.znode_cache import ZnodeCache
from kconf.store.zookeeper.znode_codec import ZnodeProblem
from kconf.store.zookeeper.znode_ops import ZnodeOp, ZnodeWrites

log = getLogger(__name__)

_MAX_REDACTED: Final = 4096
_MAX_BYTES: Final = 1_000_000  # bytes in a multi; ZooKeeper's limit, jute.maxbuffer, is 1,048,575


class UnexpectedZnodeVersion(Exception):
    """A znode has another version than the cache, so nothing was written."""

    def __init__(self, op: ZnodeOp, cause: Exception) -> None:
        super().__init__(f"{op.kind} {op.path}: {type(cause).__name__}")
        self.path = op.path


class CommitTooLarge(Exception):
    """ZooKeeper would reject a multi of this size, so it was not sent."""


class CommitLog:
    """The cache, the journal, and the commits of other servers that were not polled yet."""

    cache: ZnodeCache

    def __init__(self, session: ZookeeperSession, store_key: bytes, secrets: Secrets) -> None:
        self.session = session
        self.store_key = store_key
        self.journal = ZookeeperJournal(session)
        self.passwords = BrokerPasswords(store_key, secrets)
        self.fairness = CommitFairness(session)
        self.notifications = NotificationFollower(session, self.changed)
        self.remote: list[Revision] = []
        self.redacted: dict[int, Revision] = {}  # recent remote revisions with sensitive values, as in the journal
        self.problems: Sequence[ZnodeProblem] = ()  # problems of znodes, as last read
        self.has_brokers: Callable[[], bool] = lambda: False
        self.is_behind = False
        self.on_change: Callable[[], None] = lambda: None
        self._own_path = ""  # the znode of the journal that this server is creating
        self._prefetched: tuple[str, Any] = ("", None)  # the journal znode that was requested when its watch fired

    @property
    def revision(self) -> int:
        return self.cache.snapshot.revision

    def read_tree(self) -> tuple[LoadedState, ZnodeTree]:
        """Read all znodes, without changing the cache."""
        url = self.session.url
        loader = TreeLoader(self.passwords, floor=self.journal.oldest - 1, journal_start=self.journal.first_zxid())
        with BulkReader(url.hosts, url.chroot) as bulk:
            tree = read_tree(bulk)
        loaded = loader.load(tree, self.journal.last)
        self._warn(loaded.problems)
        self.problems = loaded.problems
        return loaded, tree

    def report(self, path: str, problems: Sequence[ZnodeProblem]) -> None:
        """Log the problems of a znode, once."""
        self._warn(problems)
        self.problems = [*(each for each in self.problems if each.path != path), *problems]

    def _warn(self, problems: Sequence[ZnodeProblem]) -> None:
        for each in problems:
            if each.for_brokers and self.has_brokers() and each not in self.problems:
                log.warning("%s; kconf accepts the value, but a Kafka broker would not start with it", each)
            elif not each.for_brokers and each not in self.problems:
                log.warning("cannot read %s; kconf keeps the previous value, but a Kafka broker may drop it", each)

    def _written(self, writes: ZnodeWrites) -> None:
        """Clear the problems of znodes that kconf has written."""
        if self.problems:
            self.problems = [each for each in self.problems if each.path not in writes.versions]

    def load(self, *, has_brokers: bool) -> LoadedState:
        """Fill the cache from the znodes, and read what was committed in the meantime."""
        self.journal.open()
        loaded, tree = self.read_tree()
        self.cache = ZnodeCache(loaded, tree, self.passwords, has_brokers=has_brokers)
        self.catch_up()
        self.remote.clear()
        return loaded

    def append(self, records: Sequence[Any], writes: ZnodeWrites) -> set[Resource] | None:
        """Commit. Returns None on success, or the resources that other servers changed first.

        Raises UnexpectedZnodeVersion, CommitTooLarge, and StoreUnavailable if the outcome is unknown.
        """
        first = self.revision + 1
        commit_id = token_hex(8)
        times = [record[0] for record in records]
        entry = write_entry(commit_id, records, writes.notified, self.journal.step_after(first, times))
        if len(entry) + writes.size > _MAX_BYTES:
            raise CommitTooLarge
        self._own_path = journal_path(first)
        self.notifications.begin_commit()
        try:
            return self._append(first, commit_id, entry, times, writes)
        finally:
            self.notifications.end_commit(writes.notifications)

    def _append(
        self, first: int, commit_id: str, entry: bytes, times: Sequence[int], writes: ZnodeWrites
    ) -> set[Resource] | None:
        try:
            ops = [ZnodeOp("create", self._own_path, entry), self.fairness.op(), *writes.ops]
            results = self.session.multi(ops)
        except OUTCOME_UNKNOWN:
            if not self._was_committed(first, commit_id):
                self.fairness.wait_for_turn()
                return self.catch_up()
            results = []
        for index, result in enumerate(results):
            if isinstance(result, Exception) and not isinstance(result, RolledBackError | RuntimeInconsistency):
                self._own_path = ""
                return self._rejected(index, writes, result)
        self.fairness.race_won()
        self.cache.apply(writes)
        self._written(writes)
        self.journal.add(first, times)
        created = zip(writes.ops, results[2:], strict=False)
        writes.notifications = [str(name) for op, name in created if op.kind == "create_sequential"]
        self.watch()
        return None

    def _rejected(self, index: int, writes: ZnodeWrites, cause: Exception) -> set[Resource]:
        """Handle a failed multi: the journal znode exists, another server has the turn, or a version differs."""
        if index > 1:
            raise UnexpectedZnodeVersion(writes.ops[index - 2], cause)
        if index:
            self.fairness.wait_for_turn()
        else:
            self.fairness.race_lost()
        return self.catch_up()

    def add_remote(self, record: Sequence[Any], changes: Sequence[Change]) -> None:
        """Report a revision that this server appended on behalf of others."""
        self.remote.append(replace(read_revision(self.revision, record), changes=tuple(changes)))

    def _was_committed(self, first: int, commit_id: str) -> bool:
        """After a lost response: whether the commit is in the journal. Raises StoreUnavailable if that is unknown.

        ZooKeeper processes the requests of a session in order: after a `sync` the journal has it, or never will.
        """
        if not self.session.wait_connected(TIMEOUT):
            self._own_path, self.is_behind = "", True
            raise StoreUnavailable("the connection to ZooKeeper was lost during a commit; its outcome is not known yet")
        self.session.client.sync_async(paths.JOURNAL).get(timeout=TIMEOUT)
        found = self.journal.entry(first)
        return found is not None and found.commit_id == commit_id

    def catch_up(self) -> set[Resource]:
        """Read the new znodes of the journal. Returns the resources that they changed.

        The next znode is requested before the current one is processed, so that its latency is hidden.
        """
        self.is_behind = False
        changed: set[Resource] = set()
        self.session.check_connected()
        first = self.revision + 1
        response = self._request(first)
        while (found := _found(response)) is not None:
            entry = read_entry(first, found[0])
            self.notifications.remote_commit(found[1].czxid, entry.notified)
            response = self.session.client.get_async(journal_path(first + len(entry.revisions)))
            changed |= self._apply_remote(entry.revisions)
            self.journal.add(first, [each.time for each in entry.revisions])
            first = self.revision + 1
        self.watch()
        return changed

    def _apply_remote(self, revisions: Sequence[Revision]) -> set[Resource]:
        """Apply one commit as a whole: a znode that it changes several times has only one new version."""
        snapshot, restored = self.cache.snapshot, list[Revision]()
        for redacted in revisions:
            revision = self._with_sensitive_values(redacted, snapshot)
            snapshot = snapshot.apply(revision.changes, revision.number)
            restored.append(revision)
        changes = [change for each in restored for change in each.changes]
        writes = build_commit(self.cache, snapshot, changes)
        self.cache.apply(writes)
        if all(each.origin == "kconf" for each in restored):
            self._written(writes)
        self.remote += restored
        return {change.resource for change in changes}

    def _request(self, first: int) -> Any:
        """Request a znode, or use the request of the watch unless the session has expired."""
        (path, response), self._prefetched = self._prefetched, ("", None)
        if path == journal_path(first) and (not response.ready() or response.successful()):
            return response
        return self.session.client.get_async(journal_path(first))

    def _with_sensitive_values(self, revision: Revision, snapshot: Snapshot) -> Revision:
        """Add sensitive values, which the journal redacts, from the znodes. They may already be newer."""
        sensitive = {paths.config_path(change.resource) for change in revision.changes if change.sensitive}
        if not sensitive:
            return revision
        self.redacted[revision.number] = revision
        if len(self.redacted) > _MAX_REDACTED:
            del self.redacted[next(iter(self.redacted))]
        loader, values = TreeLoader(self.passwords), dict[Resource, Any]()
        for path, data, _ in self.session.get_many(sensitive):
            values.update(loader.read_document(path, data).overrides)

        def restored(change: Change) -> Change:
            if not change.sensitive:
                return change
            before = snapshot.overrides(change.resource).get(change.key)
            now = values.get(change.resource, {}).get(change.key)
            return change._replace(before=before, after=None if change.after is None else now)

        return replace(revision, changes=tuple(map(restored, revision.changes)))

    def watch(self) -> None:
        """Watch for the next znode of the journal, without waiting for the response."""
        path = journal_path(self.revision + 1)

        def created(event: Any) -> None:
            if event.type == "CREATED" and path != self._own_path:
                self._prefetched = (path, self.session.client.get_async(path))  # before the store's thread wakes up
                self.changed()

        def exists(response: Any) -> None:
            if response.successful() and response.value is not None and path != self._own_path:
                self.changed()

        if self.session.is_connected:
            self.session.client.exists_async(path, created).rawlink(exists)

    def changed(self) -> None:
        """Another server may have committed. Called from kazoo's threads."""
        self.is_behind = True
        self.on_change()


def _found(response: Any) -> tuple[bytes, Any] | None:
    """The data and stat of a znode, or None if it does not exist."""
    try:
        data, stat = response.get(timeout=TIMEOUT)
    except NoNodeError:
        return None
    return data, stat
