"""A keeper for many servers: ZooKeeper, in Kafka's own layout, so that a Kafka up to 3.9 obeys.

A commit is one multi: the znodes that change, a notification for each, and one znode of the journal whose name only one
server can take. Who comes second reads what the first wrote and tries again behind it, so all servers make the same
changes in the same order, and a draft whose resource has moved is left out. A revision is its place in that order.

Its parts: zookeeper_paths and zookeeper_layout (Kafka's names and documents), zookeeper_tree (all znodes as a
snapshot), zookeeper_mirror (what a commit does to them), zookeeper_journal, _ledger and _turn (the one order),
zookeeper_drafts (what fits into one multi), zookeeper_outside (what others write), zookeeper_session and
zookeeper_bulk (the connections).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from logging import getLogger
from secrets import token_bytes
from time import monotonic, time
from typing import Any, Final
from uuid import uuid4

from kconf.errors import ChangeTooLarge, ConfigurationError, RevisionConflict, StoreMismatch, StoreUnavailable
from kconf.model.journal import AuditEntry, Change, ChangeKind, RequestContext, Revision, redacted, sealed_with
from kconf.model.membership import Member, Members
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource, ResourceType
from kconf.model.snapshot import Snapshot, encode_id
from kconf.security.value_cipher import NO_SECRETS, Secrets
from kconf.store.base import broken
from kconf.store.record_codec import revision_record
from kconf.store.zookeeper import paths as at
from kconf.store.zookeeper.batching import Answers, Waiting, first_of, without
from kconf.store.zookeeper.commit_log import CommitLog, CommitTooLarge, UnexpectedZnodeVersion
from kconf.store.zookeeper.external_changes import ORIGIN, ExternalChanges, between
from kconf.store.zookeeper.journal import ZookeeperJournal
from kconf.store.zookeeper.membership import Membership
from kconf.store.zookeeper.notifications import ALONE, BESIDE, NotificationPurger
from kconf.store.zookeeper.session import Session, ZookeeperUrl, failures
from kconf.store.zookeeper.znode_codec import ZnodeProblem

log = getLogger(__name__)

_ROUNDS: Final = 200  # races that a commit loses before it gives up
_FORMAT: Final = b"1"
_MARKS_EVERY: Final = 3600.0  # seconds


class ZookeeperStore:
    """One server's part in a shared store."""

    def __init__(self, url: str, ledger: CommitLog, cluster_id: str, epoch: int) -> None:
        self.url = url
        self.cluster_id = cluster_id
        self.epoch = epoch
        self._ledger = ledger
        self._session = ledger.session
        self._journal = ledger.journal
        self._membership = Membership(ledger.session, ledger.woken)
        self._outside = ExternalChanges(ledger, self._membership)
        self._handed = 0  # the revision that our caller stands at
        self._notices = NotificationPurger(ledger.session)
        self._marks_due = 0.0
        self._session.on_news = ledger.woken
        with failures():
            self._begin()

    @classmethod
    def open(
        cls, url: str, secrets: Secrets = NO_SECRETS, *, cluster_id: str | None = None, epoch: int = 1
    ) -> ZookeeperStore:
        """Open zookeeper://host:port[,host:port]/chroot, and make what is missing there.

        Raises StoreUnavailable where no ZooKeeper answers, StoreMismatch where a newer kconf has been.
        """
        session = Session(ZookeeperUrl.of(url), secrets)
        session.open()
        try:
            with failures():
                if cluster_id is None and session.get(at.COPYING) is not None:
                    raise StoreMismatch(f"{url} is a copy that was not finished: copy again")
                if session.get(at.JOURNAL) is None:
                    _make(session, cluster_id or encode_id(uuid4()), epoch)
                if session.create_once(f"{at.OURS}/format", _FORMAT) != _FORMAT:
                    raise StoreMismatch(f"{url} was written by a newer kconf")
                found = session.get_many((at.SEAL, at.CLUSTER_ID, at.EPOCH))
                seal, cluster, number = (data for _, data, _ in found)
            return cls(url, CommitLog(session, seal, secrets), _cluster_id(cluster), int(number))
        except BaseException:
            session.close()
            raise

    @property
    def problems(self) -> Sequence[ZnodeProblem]:
        """What was found in znodes that others wrote, and left out."""
        return self._ledger.problems

    @property
    def is_reachable(self) -> bool:
        """Whether there is a connection; without one, what was read last goes on being served."""
        return self._session.is_up

    def _begin(self) -> None:
        self._session.expired = False
        self._outside.begin()
        said = self._ledger.begin(beside=self._outside.beside)
        self._outside.take_in(said)
        self._ledger.news.clear()
        self._handed = self._ledger.revision

    def join(self, member: Member) -> None:
        with failures():
            self._membership.join(member)

    @property
    def members(self) -> Members:
        return self._membership.members

    @property
    def faults(self) -> int:
        return len(self._ledger.problems)

    def load(self) -> Snapshot:
        self.poll_remote()
        return self._ledger.mirror.snapshot

    def commit(self, batch: Sequence[PendingCommit]) -> Sequence[Revision | RevisionConflict]:
        answers: Answers = {}
        waiting = self._checked(batch, answers)
        with failures():
            if self._ledger.is_behind and waiting:
                self._ledger.follow()
            lost = {change.resource for revision in self._ledger.news for change in revision.changes}
            for _ in range(_ROUNDS):
                kept = without(lost, waiting, answers)
                if len(kept) < len(waiting):
                    self._ledger.turn.lost()
                waiting = kept
                lost |= self._write_all(waiting, answers)
                if not waiting:
                    self._handed = self._ledger.revision
                    return [answers[place] for place in range(len(batch))]
        raise StoreUnavailable("too many others are changing something")

    def _checked(self, batch: Sequence[PendingCommit], answers: Answers) -> list[Waiting]:
        """Those whose guards hold as they were made: on the state that our caller has, and on each other."""
        changed = self._ledger.mirror.snapshot.changed.mutate()
        number = self._handed
        waiting = []
        for place, draft in enumerate(batch):
            moved = broken(draft.guards, changed)
            if moved is not None:
                answers[place] = RevisionConflict(f"{moved} has moved")
                continue
            number += bool(draft.changes)
            for change in draft.changes:
                changed[change.resource] = number
            waiting.append((place, draft))
        return waiting

    def _write_all(self, waiting: list[Waiting], answers: Answers) -> set[Resource]:
        """Commit what waits, as long as nobody is faster; what others moved, where someone was."""
        most = len(waiting)
        while waiting:
            some = first_of(waiting, self._ledger.mirror.snapshot)[:most]
            try:
                moved = self._write(some, answers)
            except CommitTooLarge:
                most = len(some) // 2
                if not most:
                    place, draft = waiting.pop(0)
                    answers[place] = ChangeTooLarge(f"{draft.changes[0].resource} is larger than ZooKeeper takes")
                    most = len(waiting)
                continue
            except UnexpectedZnodeVersion as found:
                moved = self._look_again(found)
            if moved is not None:
                return moved
            del waiting[: len(some)]
        return set()

    def _write(self, some: Sequence[Waiting], answers: Answers) -> set[Resource] | None:
        """One multi. None: done; else what others have moved, and nothing was written."""
        snapshot, made, records = self._ledger.mirror.snapshot, list[tuple[int, Revision]](), list[Any]()
        for place, draft in some:
            if draft.changes:
                snapshot = snapshot.apply(draft.changes, snapshot.revision + 1)
                sealed = [redacted(change, self._ledger.seal) for change in draft.changes]
                records.append(revision_record(draft.time, draft.caller, "kconf", sealed))
            made.append((place, Revision(snapshot.revision, draft.time, draft.caller, draft.changes)))
        if records:
            lines = [change for _, draft in some for change in draft.changes]
            writing = self._ledger.mirror.writing(snapshot, lines, self._documents(lines))
            moved = self._ledger.append(records, writing)
            if moved is not None:
                return moved
            self._notices.made(writing.named)
            self._tell_of_hidden(lines)
        for place, revision in made:
            earlier = answers.get(place)
            if isinstance(earlier, Revision):
                self._ledger.news.append(earlier)  # a draft in several parts: its caller is answered by the last
            answers[place] = revision
        return None

    def _tell_of_hidden(self, lines: Iterable[Change]) -> None:
        """Real brokers do not obey ACLs that Kafka's tree cannot hold: nobody shall take them for being in force."""
        if self._outside.beside:
            for resource in {each.resource for each in lines if each.resource.type is ResourceType.ACL}:
                if at.config_path(resource).startswith(at.OWN_CONFIG):
                    log.warning("%s holds on kconf only: Kafka's brokers cannot read a name such as this", resource)

    def _look_again(self, found: UnexpectedZnodeVersion) -> set[Resource]:
        """A znode is not as the journal says: someone else wrote it, or a mark was purged."""
        if found.path.startswith(at.MARKS):
            self._ledger.mirror.marks = self._outside.marks()
            return set()
        return self._outside.reconcile([found.path])

    def _documents(self, lines: Iterable[Change]) -> Mapping[str, bytes]:
        """Of topics that grow: what else a controller keeps there stays."""
        if not self._outside.beside:
            return {}
        grown = (at.topic_path(each.resource.name) for each in lines if each.kind is ChangeKind.TOPIC and each.before)
        return {path: data for path, data, _ in self._session.get_many(grown)}

    def housekeep(self) -> bool:
        """Purge notifications that every broker has read by now: ours, and what servers left that are gone.

        And try again to read what could not be read when it was told.
        """
        if not self._session.is_up:
            return False
        if self._ledger.is_behind:
            self._ledger.wake()
        with failures():
            return self._notices.purge(BESIDE if self._outside.beside else ALONE)

    def follow(self, wake: Callable[[], None]) -> None:
        self._ledger.wake = wake

    def poll_remote(self) -> Sequence[Revision]:
        ledger = self._ledger
        if self._session.is_up and (ledger.is_behind or self._session.expired or self._outside.is_waiting):
            try:
                with failures():
                    self._catch_up()
            except StoreUnavailable as error:  # what was read so far is true; the rest is read when it is back
                log.warning("could not read what others have changed: %s", error)
                ledger.is_behind = True
        news, ledger.news = ledger.news, []
        self._handed = ledger.revision
        return news

    def _catch_up(self) -> None:
        if not self._session.expired:
            self._ledger.follow()
            if self._outside.is_waiting:
                self._outside.look()
            return
        self._session.expired = False
        self._membership.rejoin()
        if self._journal.look_at_oldest() > self._ledger.revision + 1:
            self._begin_anew()
            return
        self._ledger.follow()
        self._outside.begin()
        self._outside.reconcile(self._outside.suspects(*self._ledger.read()))

    def _begin_anew(self) -> None:
        """The journal does not reach back to where we were: what is different now is told as one revision."""
        before = self._ledger.mirror.snapshot
        self._begin()
        after = self._ledger.mirror.snapshot
        changes = between(before, after)
        if changes:
            self._ledger.news.append(Revision(after.revision, int(time() * 1000), RequestContext(""), changes, ORIGIN))

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        return self._journal.changes(after, limit)

    def redact(self, revision: Revision) -> Revision:
        return self._ledger.sealed.get(revision.number) or sealed_with(self._ledger.seal, revision)

    def reader(self) -> ZookeeperJournal:
        return self._journal

    def append_attempts(self, attempts: Sequence[AuditEntry]) -> None:
        self._journal.append_attempts(attempts)

    def oldest(self) -> int:
        return self._journal.oldest

    def trim(self, *, before_time: int | None = None, keep_last: int | None = None, up_to: int | None = None) -> int:
        gone = self._journal.trim(before_time, keep_last, up_to)
        if gone and monotonic() > self._marks_due:
            self._marks_due = monotonic() + _MARKS_EVERY
            with failures():
                self._outside.purge_marks(self._journal.oldest)
        return gone

    def acquire_archive_lock(self) -> bool:
        """Who has made the lock; it goes with its server's session."""
        with failures():
            return self._session.holds(at.ARCHIVER)

    def close(self) -> None:
        self._session.close()


def _make(session: Session, cluster_id: str, epoch: int) -> None:
    """All that a store has besides its contents; the directory of the journal last, so that it means the rest."""
    for each in at.ROOTS:
        session.create_once(each, b"")
    session.create_once(f"{at.OURS}/format", _FORMAT)
    session.create_once(f"{at.OURS}/clock", b"")
    session.create_once(at.OLDEST, b"1")
    session.create_once(at.SEAL, token_bytes(32), private=True)
    session.create_once(at.CLUSTER_ID, json.dumps({"version": "1", "id": cluster_id}).encode())
    session.create_once(at.EPOCH, str(epoch).encode())
    session.create_once(at.JOURNAL, b"")


def _cluster_id(data: bytes) -> str:
    try:
        return str(json.loads(data)["id"])
    except (ValueError, KeyError, TypeError):
        raise ConfigurationError(f"{at.CLUSTER_ID} in ZooKeeper is not what Kafka writes there") from None
