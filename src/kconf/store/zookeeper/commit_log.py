"""The one order of all servers' commits: append behind the last znode of the journal, or read what others appended.

An append is one multi. It takes the next name of the journal, which only one server can have; who is second reads what
the first wrote. So the mirror here always stands at a revision of the journal, and guards can be checked against it.
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
from kconf.store.zookeeper import paths as at
from kconf.store.zookeeper.bulk_reader import BulkReader
from kconf.store.zookeeper.fairness import CommitFairness
from kconf.store.zookeeper.journal import ZookeeperJournal, node_path, read, written
from kconf.store.zookeeper.loader import Said, TreeLoader, ZnodeTree, read_tree
from kconf.store.zookeeper.passwords import Passwords
from kconf.store.zookeeper.session import TIMEOUT, Session, Unsure, ZnodeOp
from kconf.store.zookeeper.znode_cache import ZnodeCache, ZnodeWrites
from kconf.store.zookeeper.znode_codec import ZnodeProblem

log = getLogger(__name__)

_MOST_SEALED: Final = 4096
_MOST_BYTES: Final = 1_000_000  # in a multi; ZooKeeper's own limit, jute.maxbuffer, is 1,048,575


class UnexpectedZnodeVersion(Exception):
    """A znode was not as the mirror has it, so nothing was written."""

    def __init__(self, op: ZnodeOp, why: Exception) -> None:
        super().__init__(f"{op.kind} {op.path}: {type(why).__name__}")
        self.path = op.path


class CommitTooLarge(Exception):
    """A multi that ZooKeeper would not even read, so it was not sent."""


class CommitLog:
    """The mirror, the journal, and what others have committed since someone last took it."""

    mirror: ZnodeCache

    def __init__(self, session: Session, seal: bytes, secrets: Secrets) -> None:
        self.session = session
        self.seal = seal
        self.journal = ZookeeperJournal(session)
        self.passwords = Passwords(seal, secrets)
        self.turn = CommitFairness(session)
        self.news: list[Revision] = []
        self.sealed: dict[int, Revision] = {}  # the last ones of others with sensitive values, as the journal has them
        self.problems: Sequence[ZnodeProblem] = ()
        self.is_behind = False
        self.wake: Callable[[], None] = lambda: None
        self._own = ""  # the znode of the journal that we are about to make
        self._asked: tuple[str, Any] = ("", None)  # the znode of the journal that is on its way to us

    @property
    def revision(self) -> int:
        return self.mirror.snapshot.revision

    def read(self) -> tuple[Said, ZnodeTree]:
        """All znodes, as they are now; the mirror stays."""
        place = self.session.place
        reading = TreeLoader(self.passwords, floor=self.journal.oldest - 1, born=self.journal.born())
        with BulkReader(place.hosts, place.chroot) as bulk:
            tree = read_tree(bulk)
        said = reading.said(tree, self.journal.last)
        for each in said.problems:
            if each not in self.problems:
                log.warning("left out what a broker might not start from: %s", each)
        self.problems = said.problems
        return said, tree

    def begin(self, *, beside: bool) -> Said:
        """Make the mirror from the znodes, and follow what was committed while they were read."""
        self.journal.open()
        said, tree = self.read()
        self.mirror = ZnodeCache(said, tree, self.passwords)
        self.mirror.beside = beside
        self.follow()
        self.news.clear()
        return said

    def append(self, records: Sequence[Any], writing: ZnodeWrites) -> set[Resource] | None:
        """Commit. None: it is done; else others were first, and these are the resources that they moved.

        Raises Surprise when a znode is not as it should be, Oversize when it is too much at once, StoreUnavailable when
        nobody can say what happened.
        """
        first = self.revision + 1
        commit = token_hex(8)
        entry = written(commit, records)
        if len(entry) + writing.size > _MOST_BYTES:
            raise CommitTooLarge
        self._own = node_path(first)
        try:
            results = self.session.commit([ZnodeOp("create", self._own, entry), self.turn.op(), *writing.ops])
        except Unsure:
            if not self._was_written(first, commit):
                self.turn.look()
                return self.follow()
            results = []
        for place, result in enumerate(results):
            if isinstance(result, Exception) and not isinstance(result, RolledBackError | RuntimeInconsistency):
                self._own = ""
                return self._failed(place, writing, result)
        self.turn.won()
        self.mirror.done(writing)
        self.journal.append(first, first + len(records) - 1)
        writing.named = [str(name) for op, name in zip(writing.ops, results[2:], strict=False) if op.kind == "notice"]
        self.watch()
        return None

    def _failed(self, place: int, writing: ZnodeWrites, why: Exception) -> set[Resource]:
        """A multi was refused for one of its operations: the name was taken, it is another's turn, or a znode moved."""
        if place > 1:
            raise UnexpectedZnodeVersion(writing.ops[place - 2], why)
        if place:
            self.turn.look()
        else:
            self.turn.lost()
        return self.follow()

    def announce(self, record: Sequence[Any], changes: Sequence[Change]) -> None:
        """Tell of a revision that was just appended, though it is nobody's commit."""
        self.news.append(replace(read_revision(self.revision, record), changes=tuple(changes)))

    def _was_written(self, first: int, commit: str) -> bool:
        """After an answer was lost: whether a commit is in the journal. Where nobody can say, nobody is told no.

        ZooKeeper takes what a session asks in order, so behind a `sync` the journal has it, or never will.
        """
        if not self.session.await_up(TIMEOUT):
            self._own, self.is_behind = "", True
            raise StoreUnavailable("ZooKeeper was lost during a commit; whether it was made will be seen later")
        self.session.client.sync_async(at.JOURNAL).get(timeout=TIMEOUT)
        found = self.journal.entry(first)
        return found is not None and found.commit == commit

    def follow(self) -> set[Resource]:
        """Read what the journal has got, and say which resources it moved.

        The next znode is asked for before the one at hand is looked at, so nobody waits for its answer.
        """
        self.is_behind = False
        moved: set[Resource] = set()
        self.session.check()
        first = self.revision + 1
        answer = self._asking(first)
        while (data := _data(answer)) is not None:
            entry = read(first, data)
            answer = self.session.client.get_async(node_path(first + len(entry.revisions)))
            moved |= self._take(entry.revisions)
            self.journal.append(first, self.revision)
            first = self.revision + 1
        self.watch()
        return moved

    def _take(self, revisions: Sequence[Revision]) -> set[Resource]:
        """All of one commit at once, as its server wrote it: a znode that it changed thrice has one version more."""
        new, opened = self.mirror.snapshot, list[Revision]()
        for sealed in revisions:
            revision = self._opened(sealed, new)
            new = new.apply(revision.changes, revision.number)
            opened.append(revision)
        lines = [change for each in opened for change in each.changes]
        self.mirror.done(self.mirror.writing(new, lines))
        self.news += opened
        return {change.resource for change in lines}

    def _asking(self, first: int) -> Any:
        """It may have been asked for when its watch fired; not so when the session ended in between."""
        (path, answer), self._asked = self._asked, ("", None)
        if path == node_path(first) and (not answer.ready() or answer.successful()):
            return answer
        return self.session.client.get_async(node_path(first))

    def _opened(self, revision: Revision, snapshot: Snapshot) -> Revision:
        """The journal has sensitive values sealed; their znodes have them, by now perhaps newer ones."""
        shut = {at.config_path(change.resource) for change in revision.changes if change.sensitive}
        if not shut:
            return revision
        self.sealed[revision.number] = revision
        if len(self.sealed) > _MOST_SEALED:
            del self.sealed[next(iter(self.sealed))]
        reading, values = TreeLoader(self.passwords), dict[Resource, Any]()
        for path, data, _ in self.session.get_many(shut):
            values.update(reading.document(path, data).overrides)

        def opened(change: Change) -> Change:
            if not change.sensitive:
                return change
            before = snapshot.overrides(change.resource).get(change.key)
            now = values.get(change.resource, {}).get(change.key)
            return change._replace(before=before, after=None if change.after is None else now)

        return replace(revision, changes=tuple(map(opened, revision.changes)))

    def watch(self) -> None:
        """Be woken by the next znode of the journal; nobody waits for the answer."""
        path = node_path(self.revision + 1)

        def made(event: Any) -> None:
            if event.type == "CREATED" and path != self._own:
                self._asked = (path, self.session.client.get_async(path))  # the answer comes while others wake up
                self.woken()

        def answered(answer: Any) -> None:
            if answer.successful() and answer.value is not None and path != self._own:
                self.woken()

        if self.session.is_up:
            self.session.client.exists_async(path, made).rawlink(answered)

    def woken(self) -> None:
        """Called from kazoo's threads."""
        self.is_behind = True
        self.wake()


def _data(answer: Any) -> bytes | None:
    try:
        data: bytes = answer.get(timeout=TIMEOUT)[0]
    except NoNodeError:
        return None
    return data
