"""What others write into Kafka's part of the tree: brokers, their tools, people with a shell.

Beside real brokers the directories of notifications are watched, as a broker does; of what is there only the new is
read. A change from outside is put into the journal by whichever server is first, with the origin "outside"; the others
then find it there. What came without a notification is found at the next full comparison, or when kconf itself wants
to write that znode.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from logging import getLogger
from time import time
from typing import Any, Final
from urllib.parse import unquote

from kconf.configdef.dynamic import is_broker_secret
from kconf.configdef.topic import TOPIC
from kconf.model.journal import Change, ChangeKind, RequestContext, redacted
from kconf.model.resource import Overrides, Resource, ResourceType, Topic
from kconf.model.snapshot import Snapshot, replay, topic_to_json
from kconf.store.record_codec import revision_record
from kconf.store.zookeeper import paths as at
from kconf.store.zookeeper.commit_log import CommitLog, UnexpectedZnodeVersion
from kconf.store.zookeeper.loader import Mark, Said, TreeLoader, ZnodeTree, mark_path
from kconf.store.zookeeper.membership import Membership
from kconf.store.zookeeper.znode_codec import read_topic

log = getLogger(__name__)

ORIGIN: Final = "outside"
_NOTICES: Final = (at.CONFIG_CHANGES, at.LITERAL_ACL_CHANGES, at.PREFIXED_ACL_CHANGES)
_WATCHED: Final = (*_NOTICES, at.TOPIC_NODES)
_AT_ONCE: Final = 200  # znodes compared together, and journalled as one revision
_NOBODY: Final = RequestContext("")


class ExternalChanges:
    """Watches, compares, and puts into the journal what it finds."""

    def __init__(self, ledger: CommitLog, membership: Membership) -> None:
        self._ledger = ledger
        self._membership = membership
        self._session = ledger.session
        self._fired: set[str] = set()
        self._handled: dict[str, int] = {}
        self._watched: set[str] = set()  # topics' znodes, whose partitions others may add

    @property
    def beside(self) -> bool:
        """Whether real brokers are there."""
        return bool(self._membership.members.brokers)

    @property
    def is_waiting(self) -> bool:
        return bool(self._fired) or self._membership.is_waiting

    def begin(self) -> None:
        """Before all znodes are read: what is notified from now on will be followed."""
        self._fired, self._watched = set(), set()
        self._membership.look()
        for directory in _NOTICES if self.beside else ():
            self._handled[directory] = max(map(at.number_of, self._children(directory)), default=-1)
        if self.beside:
            self._watch_topics(self._children(at.TOPIC_NODES))

    def look(self) -> None:
        """Follow what the watches have told."""
        fired, self._fired = self._fired, set()
        if self._membership.is_waiting:
            was_beside = self.beside
            self._membership.look()
            self._ledger.mirror.beside = self.beside
            fired |= set(_WATCHED) if self.beside and not was_beside else set()
        paths: dict[str, None] = {}
        for directory in _NOTICES:
            if directory in fired:
                paths |= dict.fromkeys(self._named(directory))
        if at.TOPIC_NODES in fired:
            paths |= dict.fromkeys(self._turned_topics())
        grown = [path for path in fired if path.startswith(f"{at.TOPIC_NODES}/")]
        self._watch_topics(path.rpartition("/")[2] for path in grown)
        self.reconcile([*paths, *grown])

    def _children(self, directory: str) -> list[str]:
        def changed(_event: Any) -> None:
            self._fired.add(directory)
            self._ledger.woken()

        return self._session.children(directory, changed)

    def _watch_topics(self, names: Iterable[str]) -> None:
        """Nothing but a watch on each topic tells that it has grown; nobody waits for the answers."""

        def changed(event: Any) -> None:
            self._watched.discard(event.path)
            if event.type == "CHANGED":
                self._fired.add(event.path)
                self._ledger.woken()

        for path in {f"{at.TOPIC_NODES}/{name}" for name in names} - self._watched:
            self._watched.add(path)
            self._session.client.exists_async(path, changed)

    def _named(self, directory: str) -> Iterator[str]:
        """The znodes that new notifications name, in their order; bad ones are told of and passed over."""
        handled = self._handled.get(directory, -1)
        new = sorted((number, name) for name in self._children(directory) if (number := at.number_of(name)) > handled)
        if new:
            self._handled[directory] = new[-1][0]
        for path, data, _ in self._session.get_many(f"{directory}/{name}" for _, name in new):
            try:
                if directory != at.CONFIG_CHANGES:
                    yield at.read_acl_notice(directory, data)
                elif (found := at.read_notice(data)) is not None and not found[1]:
                    yield found[0]
            except at.MalformedNotification as error:
                log.warning("a notification was passed over: %s: %s", path, error)

    def _turned_topics(self) -> Iterator[str]:
        """The znodes of topics that came or went."""
        there = set(self._children(at.TOPIC_NODES))
        self._watch_topics(there)
        known = {name for name in self._ledger.mirror.snapshot.topics if at.topic_path(name).startswith(at.TOPIC_NODES)}
        for name in sorted(there ^ known):
            yield at.topic_path(name)
            yield at.config_path(Resource.topic(name))

    def suspects(self, said: Said, tree: ZnodeTree) -> list[str]:
        """After all znodes were read again: those that may not be as the journal says."""
        known = {path for path in self._ledger.mirror.versions if not path.endswith("/clients")}
        return [*said.unseen, *(known ^ tree.znodes.keys())]

    def take_in(self, said: Said) -> None:
        """Put into the journal what was written from outside while no server was there to see it."""
        changed = {each for path in said.unseen for each in _holders(path)}
        if not changed or not self._ledger.journal.last:
            return
        journal = self._ledger.journal
        lines = journal.changes_for(changed, journal.oldest - 1, journal.last)
        before = replay((each.number, each.changes) for each in lines)
        changes = [line for each in sorted(changed) for line in _difference(each, before, said.snapshot)]
        for start in range(0, len(changes), _AT_ONCE):
            some = changes[start : start + _AT_ONCE]
            while some and (moved := self._write(some, said.unseen)) is not None:
                some = [change for change in some if change.resource not in moved]  # who moved it has told of it

    def reconcile(self, paths: Iterable[str]) -> set[Resource]:
        """Read znodes and put into the journal how they differ from it; returns the resources that moved."""
        wanted = list(dict.fromkeys(paths))
        moved: set[Resource] = set()
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            about = {each for path in some for each in _holders(path)}
            news: set[Resource] | None = self._ledger.follow()
            while news is not None:
                moved |= news
                changes = self._compared(some)
                news = self._ledger.follow()
                if not news & about:  # else what was read may be newer than what it was compared with
                    moved |= news
                    news = self._write(changes, some) if changes else None
            moved |= {change.resource for change in changes}
        return moved

    def _compared(self, paths: Sequence[str]) -> list[Change]:
        """How the znodes differ from the mirror, whose versions of them become the real ones."""
        mirror, reading = self._ledger.mirror, TreeLoader(self._ledger.passwords)
        found = {path: (data, stat) for path, data, stat in self._session.get_many(paths)}
        doomed = set(self._session.children(at.DELETIONS))
        changes: list[Change] = []
        for path in paths:
            data, stat = found.get(path, (b"", None))
            name = at.topic_of(path)
            if stat is None or (path.startswith((at.TOPICS, at.TOPIC_NODES)) and path.rpartition("/")[2] in doomed):
                mirror.versions.pop(path, None)
                data, stat = b"", None
            else:
                mirror.versions[path] = stat.version
            if name is not None:
                topic = read_topic(path, name, data)[0] if stat is not None else None
                changes += _turned(Resource.topic(name), mirror.snapshot.topics.get(name), topic)
                continue
            try:
                document = reading.document(path, data)
            except ValueError:
                log.warning("passed over %s: it names nothing that can be read", path)
                continue
            for each in document.problems if stat is not None else ():
                log.warning("left out what a broker might not start from: %s", each)
            for resource, values in document.overrides.items():
                changes += _altered(resource, mirror.snapshot.overrides(resource), values)
        return changes

    def _write(self, changes: Sequence[Change], paths: Collection[str]) -> set[Resource] | None:
        """Append to the journal. None: done; else someone was faster, and this is what has moved: look again."""
        ledger = self._ledger
        snapshot = ledger.mirror.snapshot.apply(changes, ledger.revision + 1)
        writing = ledger.mirror.noting(snapshot)
        stats = {path: stat for path, _, stat in self._session.get_many(paths)}
        for path in paths:
            holders = _holders(path)
            if any(change.resource in holders for change in changes) and at.topic_of(path) is None:
                numbers = [snapshot.changed.get(each, 0) for each in holders]
                writing.seen(path, numbers, stats[path].mzxid if path in stats else 0)
        sealed = [redacted(change, ledger.seal) for change in changes]
        record = revision_record(int(time() * 1000), _NOBODY, ORIGIN, sealed)
        try:
            moved = ledger.append([record], writing)
        except UnexpectedZnodeVersion:
            ledger.mirror.marks = self.marks()
            return set()
        if moved is not None:
            return moved
        log.info("changed from outside: %s", ", ".join(sorted({str(change.resource) for change in changes})))
        ledger.announce(record, changes)
        return None

    def marks(self) -> set[str]:
        """The znodes that have a mark, as ZooKeeper has them now."""
        return {unquote(name) for name in self._session.children(at.MARKS)}

    def purge_marks(self, oldest: int) -> None:
        """Forget what is older than the journal; a server that still counts on a mark finds that it is gone."""
        found = [(path, Mark.of(data)) for path, data, _ in self._session.get_many(map(mark_path, self.marks()))]
        self._session.delete(path for path, mark in found if mark is None or max(mark.numbers, default=0) < oldest)
        self._ledger.mirror.marks = self.marks()


def between(before: Snapshot, after: Snapshot) -> list[Change]:
    """What leads from one state to another."""
    resources = {Resource.topic(name) for name in {*before.topics, *after.topics}} | {*before.configs, *after.configs}
    return [change for each in sorted(resources) for change in _difference(each, before, after)]


def _difference(resource: Resource, before: Snapshot, after: Snapshot) -> Iterator[Change]:
    if resource.type == ResourceType.TOPIC:
        yield from _turned(resource, before.topics.get(resource.name), after.topics.get(resource.name))
    yield from _altered(resource, before.overrides(resource), after.overrides(resource))


def _turned(resource: Resource, before: Topic | None, after: Topic | None) -> Iterator[Change]:
    if before != after:
        op = "create" if before is None else "delete" if after is None else "grow"
        old, new = (None if each is None else topic_to_json(each) for each in (before, after))
        yield Change(ChangeKind.TOPIC, resource, "", old, new, op)


def _altered(resource: Resource, before: Overrides, after: Overrides) -> Iterator[Change]:
    for key in sorted({*before, *after}):
        old, new = before.get(key), after.get(key)
        if old != new:
            op = "delete" if new is None else "set"
            yield Change(ChangeKind.CONFIG, resource, key, old, new, op, sensitive=_is_sensitive(resource, key))


def _is_sensitive(resource: Resource, key: str) -> bool:
    match resource.type:
        case ResourceType.SCRAM:
            return True
        case ResourceType.BROKER:
            return is_broker_secret(key)
        case ResourceType.TOPIC:
            return key not in TOPIC
    return False


def _holders(path: str) -> tuple[Resource, ...]:
    name = at.topic_of(path)
    try:
        return at.owners(path) if name is None else (Resource.topic(name),)
    except ValueError:
        return ()
