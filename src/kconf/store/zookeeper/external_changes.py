"""Detects changes to Kafka's znodes that kconf did not make: by brokers, Kafka's tools or a ZooKeeper shell.

Most are announced by notifications (notification_follower.py). With Kafka brokers, topics are watched too, since a
controller creates topics and partitions without a notification. The first server that detects an external change
appends it to the journal with the origin "outside"; the others read it from there. Changes without a notification are
found by the next full comparison, or when kconf itself writes that znode.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from logging import getLogger
from time import time
from typing import Any, Final

from kconf.model.journal import Change, ChangeKind, RequestContext, redact_change
from kconf.model.resource import Resource
from kconf.model.snapshot import replay
from kconf.store.record_codec import revision_record
from kconf.store.zookeeper import paths
from kconf.store.zookeeper.commit_builder import CommitBuilder
from kconf.store.zookeeper.commit_log import CommitLog, UnexpectedZnodeVersion
from kconf.store.zookeeper.loader import LoadedState, TreeLoader, ZnodeTree
from kconf.store.zookeeper.marks import RevisionMark, mark_path, marked_path
from kconf.store.zookeeper.membership import Membership
from kconf.store.zookeeper.snapshot_diff import diff_overrides, diff_resource, diff_topic
from kconf.store.zookeeper.znode_codec import read_topic

log = getLogger(__name__)

ORIGIN: Final = "outside"
_BATCH: Final = 200  # znodes compared together, and journaled as one revision
_UNKNOWN_CALLER: Final = RequestContext("")

Retained = Mapping[str, Mapping[str, str]]
"""The values of each znode that stay in effect because the new ones cannot be read."""


class ExternalChanges:
    """Watches znodes, compares them with the journal, and appends the differences to it."""

    def __init__(self, commit_log: CommitLog, membership: Membership) -> None:
        self._commit_log = commit_log
        self._membership = membership
        self._session = commit_log.session
        self._notifications = commit_log.notifications
        self._fired: set[str] = set()  # paths of topics, and of their directory, whose watch has fired
        self._watched_topics: set[str] = set()  # paths of topics, to which others may add partitions

    @property
    def has_brokers(self) -> bool:
        return bool(self._membership.members.brokers)

    @property
    def is_pending(self) -> bool:
        """Whether a watch has fired since the last `poll`."""
        return bool(self._fired) or self._notifications.is_pending or self._membership.is_stale

    def start(self) -> None:
        """Set the watches. Called before the tree is read, so that no later change is missed."""
        self._fired, self._watched_topics = set(), set()
        self._membership.refresh()
        self._notifications.start()
        if self.has_brokers:
            self._watch_topics(self._children(paths.TOPIC_NODES))

    def poll(self) -> None:
        """Read the journal, and append to it the changes that the watches have announced."""
        if self._membership.is_stale:
            had_brokers = self.has_brokers
            self._membership.refresh()
            self._commit_log.cache.has_brokers = self.has_brokers
            if self.has_brokers and not had_brokers:
                self._fired.add(paths.TOPIC_NODES)
        fired, self._fired = self._fired, set()
        try:
            self._commit_log.catch_up()
            requested = self._notifications.request_positions()
            if requested:
                self._commit_log.catch_up()
            new = self._notifications.read(requested)
            changed = dict.fromkeys(new.changed)
            if paths.TOPIC_NODES in fired:
                changed |= dict.fromkeys(self._created_or_deleted_topics())
            grown = [path for path in fired if path.startswith(f"{paths.TOPIC_NODES}/")]
            self._watch_topics(path.rpartition("/")[2] for path in grown)
            self.reconcile([*changed, *grown])
        except BaseException:
            self._fired |= fired  # the next poll reads it again
            raise
        self._notifications.passed_all(new)

    def _children(self, directory: str) -> list[str]:
        def on_event(_event: Any) -> None:
            self._fired.add(directory)
            self._commit_log.changed()

        return self._session.children(directory, on_event)

    def _watch_topics(self, names: Iterable[str]) -> None:
        """Watch topics, since new partitions have no notification. Does not wait for the responses."""

        def on_event(event: Any) -> None:
            self._watched_topics.discard(event.path)
            if event.type == "CHANGED":
                self._fired.add(event.path)
                self._commit_log.changed()

        for path in {f"{paths.TOPIC_NODES}/{name}" for name in names} - self._watched_topics:
            self._watched_topics.add(path)
            self._session.client.exists_async(path, on_event)

    def _created_or_deleted_topics(self) -> Iterator[str]:
        existing = set(self._children(paths.TOPIC_NODES))
        self._watch_topics(existing)
        topics = self._commit_log.cache.snapshot.topics
        known = {name for name in topics if paths.topic_path(name).startswith(paths.TOPIC_NODES)}
        for name in sorted(existing ^ known):
            yield paths.topic_path(name)
            yield paths.config_path(Resource.topic(name))

    def find_differing(self, loaded: LoadedState, tree: ZnodeTree) -> list[str]:
        """The znodes that may differ from the journal, after the tree was read again."""
        known = {path for path in self._commit_log.cache.versions if not path.endswith("/clients")}
        return [*loaded.unjournaled, *(known ^ tree.znodes.keys())]

    def journal_loaded(self, loaded: LoadedState) -> None:
        """Journal the external changes that were made while no server was running."""
        changed = {each for path in loaded.unjournaled for each in _resources(path)}
        if not changed or not self._commit_log.journal.last:
            return
        journal = self._commit_log.journal
        revisions = journal.changes_for(changed, journal.oldest - 1, journal.last)
        before = replay((each.number, each.changes) for each in revisions)
        found = [change for each in sorted(changed) for change in diff_resource(each, before, loaded.snapshot)]
        changes, retained = self._retain_journaled(found, loaded)
        for start in range(0, len(changes), _BATCH):
            some = changes[start : start + _BATCH]
            while some and (conflicting := self._append(some, loaded.unjournaled, retained)) is not None:
                some = [change for change in some if change.resource not in conflicting]  # journaled by another server

    def reconcile(self, changed: Iterable[str]) -> set[Resource]:
        """Journal the differences between these znodes and the cache. Returns the changed resources."""
        unique = list(dict.fromkeys(changed))
        moved: set[Resource] = set()
        for start in range(0, len(unique), _BATCH):
            some = unique[start : start + _BATCH]
            compared = {each for path in some for each in _resources(path)}
            remote: set[Resource] | None = self._commit_log.catch_up()
            while remote is not None:
                moved |= remote
                changes, retained = self._compare(some)
                remote = self._commit_log.catch_up()
                if not remote & compared:  # otherwise the znodes may be newer than the cache
                    moved |= remote
                    if changes:
                        remote = self._append(changes, some, retained)
                    else:
                        self._mark_retained(retained)
                        remote = None
            moved |= {change.resource for change in changes}
        return moved

    def _compare(self, changed: Sequence[str]) -> tuple[list[Change], Retained]:
        """The differences between znodes and cache; updates the versions in the cache.

        Unreadable znodes are not differences: their previous values stay in effect, and are stored in the mark of the
        znode.
        """
        cache, loader = self._commit_log.cache, TreeLoader(self._commit_log.passwords)
        found = {path: (data, stat) for path, data, stat in self._session.get_many(changed)}
        deleting = set(self._session.children(paths.DELETE_TOPICS))
        changes: list[Change] = []
        retained: dict[str, Mapping[str, str]] = {}
        for path in changed:
            data, stat = found.get(path, (b"", None))
            name = paths.topic_of(path)
            is_topic = path.startswith((paths.TOPICS, paths.TOPIC_NODES))
            if stat is None or (is_topic and path.rpartition("/")[2] in deleting):
                cache.versions.pop(path, None)
                data, stat = b"", None
            else:
                cache.versions[path] = stat.version
            if name is not None:
                known = cache.snapshot.topics.get(name)
                topic, _, problems = (None, None, ()) if stat is None else read_topic(path, name, data)
                self._commit_log.report(path, problems)
                changes += diff_topic(Resource.topic(name), known, known if stat and topic is None else topic)
                continue
            try:
                document = loader.read_document(path, data)
            except ValueError:
                log.warning("ignored %s: it is not a config znode, or its name cannot be decoded", path)
                continue
            self._commit_log.report(path, document.problems if stat is not None else ())
            if document.problems and stat is not None:
                document, retained[path] = document.retaining(cache.snapshot.overrides)
            for resource, values in document.overrides.items():
                changes += diff_overrides(resource, cache.snapshot.overrides(resource), values)
        return changes, retained

    def _retain_journaled(self, changes: Sequence[Change], loaded: LoadedState) -> tuple[list[Change], Retained]:
        """Remove deletions of values that cannot be read. The journal contains the value, unless it is sensitive."""
        unreadable = {(each.path, each.key) for each in loaded.problems}
        removed, left = list[Change](), list[Change]()
        retained: dict[str, dict[str, str]] = {}
        for change in changes:
            path = paths.config_path(change.resource)
            is_retained = change.kind is ChangeKind.CONFIG and not change.sensitive and change.after is None
            if is_retained and change.before is not None and unreadable & {(path, change.key), (path, "")}:
                removed.append(change._replace(before=None, after=change.before, op="set"))
                retained.setdefault(path, {})[change.key] = change.before
            else:
                left.append(change)
        if removed:
            cache = self._commit_log.cache
            cache.snapshot = cache.snapshot.apply(removed, cache.snapshot.revision)
            self._mark_retained(retained)
        return left, retained

    def _mark_retained(self, retained: Retained) -> None:
        """Store the values that stay in effect without a journal entry, for servers that start later."""
        cache = self._commit_log.cache
        builder = CommitBuilder(cache, cache.snapshot, {})
        for path, _, stat in self._session.get_many(path for path, values in retained.items() if values):
            mark = builder.external_mark(path, stat.mzxid, retained[path]).write()
            if self._session.get_or_create(mark_path(path), mark) != mark:
                self._session.set(mark_path(path), mark)
            cache.marks.add(path)

    def _append(self, changes: Sequence[Change], changed: Collection[str], retained: Retained) -> set[Resource] | None:
        """Append to the journal. Returns None on success, or the resources that others changed, to compare again."""
        commit_log = self._commit_log
        snapshot = commit_log.cache.snapshot.apply(changes, commit_log.revision + 1)
        builder = CommitBuilder(commit_log.cache, snapshot, {})  # marks only: the znodes are already written
        stats = {path: stat for path, _, stat in self._session.get_many(changed)}
        for path in changed:
            resources, values = _resources(path), retained.get(path, {})
            if (values or any(change.resource in resources for change in changes)) and paths.topic_of(path) is None:
                builder.mark_external(path, stats[path].mzxid if path in stats else 0, values)
        redacted = [redact_change(change, commit_log.store_key) for change in changes]
        record = revision_record(int(time() * 1000), _UNKNOWN_CALLER, ORIGIN, redacted)
        try:
            conflicting = commit_log.append([record], builder.writes)
        except UnexpectedZnodeVersion:
            self.refresh_marks()
            return set()
        if conflicting is not None:
            return conflicting
        log.info("changed externally: %s", ", ".join(sorted({str(change.resource) for change in changes})))
        commit_log.add_remote(record, changes)
        return None

    def refresh_marks(self) -> None:
        """Read again which znodes have a revision mark, since other servers create and purge them."""
        self._commit_log.cache.marks = self._marked()

    def _marked(self) -> set[str]:
        return {marked_path(name) for name in self._session.children(paths.MARKS)}

    def purge_marks(self, oldest: int) -> None:
        """Delete marks older than the journal. Other servers refresh when a mark that they expect is missing."""
        marks = self._session.get_many(map(mark_path, self._marked()))
        found = [(path, RevisionMark.read(data)) for path, data, _ in marks]
        self._session.delete(path for path, mark in found if mark is None or _is_purgeable(mark, oldest))
        self.refresh_marks()


def _is_purgeable(mark: RevisionMark, oldest: int) -> bool:
    return not mark.retained and max(mark.revisions, default=0) < oldest


def _resources(path: str) -> tuple[Resource, ...]:
    """The resources of a znode; empty if its name cannot be decoded."""
    name = paths.topic_of(path)
    try:
        return paths.resources_of(path) if name is None else (Resource.topic(name),)
    except ValueError:
        return ()
