"""Loads all znodes as a snapshot, and finds those that were changed externally."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from logging import getLogger
from typing import NamedTuple

from immutables import Map

from kconf.model.resource import Overrides, Resource, Topic
from kconf.model.snapshot import Snapshot
from kconf.store.zookeeper import paths
from kconf.store.zookeeper.bulk_reader import BulkReader, Znode
from kconf.store.zookeeper.marks import RevisionMark, marked_path
from kconf.store.zookeeper.passwords import BrokerPasswords
from kconf.store.zookeeper.znode_codec import (
    ZnodeDocument,
    ZnodeProblem,
    read_acls,
    read_config,
    read_topic,
    resource_of_key,
)
from kconf.util.memory import gc_paused

log = getLogger(__name__)


class ZnodeTree(NamedTuple):
    """All znodes as they were read. `deleting` are topics that the controller is about to delete."""

    znodes: Mapping[str, Znode]
    deleting: frozenset[str]
    marks: Mapping[str, RevisionMark]
    users: Sequence[str]  # znodes of users with client ids that have quotas


def read_tree(bulk: BulkReader) -> ZnodeTree:
    roots = (paths.TOPICS, paths.CLIENTS, paths.USERS, paths.BROKERS, paths.IPS, paths.TOPIC_NODES, paths.KCONF_TOPICS)
    directories = list(bulk.children((paths.LITERAL_ACLS, paths.PREFIXED_ACLS, paths.KCONF_CONFIG)))
    znodes = dict(bulk.get(bulk.children([*roots, *directories])))
    users = [path for path, znode in znodes.items() if znode.num_children and path.startswith(f"{paths.USERS}/")]
    znodes |= bulk.get(bulk.children(f"{user}/clients" for user in users))
    deleting = frozenset(path.rpartition("/")[2] for path in bulk.children([paths.DELETE_TOPICS]))
    marks = {}
    for path, znode in bulk.get(bulk.children([paths.MARKS])):
        mark = RevisionMark.read(znode.data)
        if mark is None:
            log.warning("ignored %s: not a revision mark", path)
        else:
            marks[marked_path(path.rpartition("/")[2])] = mark
    return ZnodeTree(znodes, deleting, marks, users)


class LoadedState(NamedTuple):
    """The state in the znodes. `unjournaled` are znodes with external changes that are not in the journal."""

    snapshot: Snapshot
    versions: dict[str, int]
    problems: Sequence[ZnodeProblem]
    unjournaled: Sequence[str]


class TreeLoader:
    """Converts znodes to resources.

    `journal_start` is the zxid from which changes are journaled; `floor` replaces revisions older than the journal.
    """

    def __init__(self, passwords: BrokerPasswords, *, floor: int = 0, journal_start: int = 0) -> None:
        self._passwords = passwords
        self._floor, self._journal_start = floor, journal_start
        self._shared: dict[tuple[tuple[str, str], ...], Overrides] = {}

    def read_document(self, path: str, data: bytes) -> ZnodeDocument:
        """The overrides in a znode. Raises ValueError if the path is not a config znode."""
        resources = paths.resources_of(path)
        if not resources:
            raise ValueError(f"{path} is not a config znode")
        if path.startswith(paths.LITERAL_ACLS):
            return read_acls(path, resources[0], data)
        document = read_config(path, resources, data)
        if not path.startswith(f"{paths.BROKERS}/"):
            return document
        values, undecodable = self._passwords.decode(resources[0], document.overrides[resources[0]])
        problems = [
            *document.problems,
            *(
                ZnodeProblem(path, key, "its value cannot be decrypted with the configured secrets")
                for key in undecodable
            ),
        ]
        return ZnodeDocument({resources[0]: values}, document.stamps, problems)

    def load(self, tree: ZnodeTree, revision: int, in_force: Snapshot = Snapshot.EMPTY) -> LoadedState:
        """The state at `revision`. Unreadable values are replaced by those in the revision mark or in `in_force`."""
        topics: dict[str, Topic] = {}
        configs: dict[Resource, Overrides] = {}
        changed: dict[Resource, int] = {}
        problems: list[ZnodeProblem] = []
        unjournaled: list[str] = []
        for path in tree.marks.keys() - tree.znodes.keys():
            _set_changed(changed, paths.resources_of(path), tree.marks[path].revisions)
        with gc_paused():
            for path, znode in tree.znodes.items():
                name = paths.topic_of(path)
                resources: Sequence[Resource]
                stamps: Sequence[int]
                try:
                    if name is not None:
                        resources = (Resource.topic(name),)
                        topic, stamp, found = read_topic(path, name, znode.data)
                        topic = topic or in_force.topics.get(name)
                        stamps = () if stamp is None else (stamp,)
                        if topic is not None and name not in tree.deleting:
                            topics[name] = topic
                    else:
                        document = self.read_document(path, znode.data)
                        if document.problems:
                            document = self._retaining(document, path, tree.marks.get(path), in_force)
                        resources, stamps, found = tuple(document.overrides), document.stamps, document.problems
                        deleting = tree.deleting if path.startswith(paths.TOPICS) else frozenset[str]()
                        self._add_configs(document, configs, deleting)
                except ValueError:
                    problems.append(ZnodeProblem(path, "", "its name cannot be decoded"))
                    continue
                problems += found
                if not stamps:
                    mark = tree.marks.get(path)
                    if self._is_unjournaled(znode, mark):
                        unjournaled.append(path)
                    stamps = self._revisions_without_stamps(znode, mark, len(resources))
                _set_changed(changed, resources, stamps)
        snapshot = Snapshot.of(revision, Map(topics), Map(configs), Map(changed))
        return LoadedState(snapshot, _versions(tree), problems, unjournaled)

    def _retaining(
        self, document: ZnodeDocument, path: str, mark: RevisionMark | None, in_force: Snapshot
    ) -> ZnodeDocument:
        resources = tuple(document.overrides)
        marked: dict[Resource, dict[str, str]] = {each: {} for each in resources}
        for key, text in (mark.retained if mark else {}).items():
            marked[resource_of_key(resources, key)][key] = text
        if path.startswith(f"{paths.BROKERS}/"):
            marked[resources[0]], _ = self._passwords.decode(resources[0], marked[resources[0]])
        return document.retaining(lambda each: {**marked[each], **in_force.overrides(each)})[0]

    def _add_configs(
        self, document: ZnodeDocument, configs: dict[Resource, Overrides], deleting: frozenset[str]
    ) -> None:
        for resource, values in document.overrides.items():
            if values and resource.name not in deleting:
                configs[resource] = self._shared.setdefault(tuple(values.items()), values)

    def _is_unjournaled(self, znode: Znode, mark: RevisionMark | None) -> bool:
        return (mark is None or mark.mzxid != znode.mzxid) and znode.mzxid > self._journal_start

    def _revisions_without_stamps(self, znode: Znode, mark: RevisionMark | None, count: int) -> tuple[int, ...]:
        """The revisions of the last journaled changes of a znode that was written externally."""
        if mark is not None and mark.mzxid == znode.mzxid:
            return tuple(mark.revisions)
        return (self._floor,) * count


def _versions(tree: ZnodeTree) -> dict[str, int]:
    """The versions of all znodes, except those that the controller is about to delete."""
    versions = {path: znode.version for path, znode in tree.znodes.items()}
    for path in tree.users:
        versions[f"{path}/clients"] = 0
    for name in tree.deleting:
        versions.pop(paths.topic_path(name), None)
        versions.pop(paths.config_path(Resource.topic(name)), None)
    return versions


def _set_changed(changed: dict[Resource, int], resources: Sequence[Resource], revisions: Sequence[int]) -> None:
    for resource, revision in zip(resources, revisions, strict=False):
        if revision > changed.get(resource, 0):
            changed[resource] = revision
