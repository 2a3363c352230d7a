"""All of the znodes at once: what they say, as a snapshot, and what of it kconf did not write."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from logging import getLogger
from typing import NamedTuple
from urllib.parse import quote, unquote

from immutables import Map

from kconf.model.resource import Overrides, Resource, Topic
from kconf.model.snapshot import Snapshot
from kconf.store.zookeeper import paths as at
from kconf.store.zookeeper.bulk_reader import BulkReader, Znode
from kconf.store.zookeeper.passwords import Passwords
from kconf.store.zookeeper.znode_codec import ZnodeDocument, ZnodeProblem, read_acls, read_config, read_topic
from kconf.util.gc_tuning import gc_paused

log = getLogger(__name__)


class Mark(NamedTuple):
    """What is remembered of a znode that cannot say it itself: it is gone, or was written from outside."""

    numbers: Sequence[int]
    modified: int = 0  # the zxid at which it was seen; 0: it was deleted

    @classmethod
    def of(cls, data: bytes) -> Mark | None:
        """As it was written; None where someone else wrote something else."""
        try:
            numbers, modified = json.loads(data)
            return cls(tuple(map(int, numbers)), int(modified))
        except (TypeError, ValueError):
            return None


def mark_path(path: str) -> str:
    return f"{at.MARKS}/{quote(path, safe='')}"


def write_mark(mark: Mark) -> bytes:
    return json.dumps([list(mark.numbers), mark.modified]).encode()


class ZnodeTree(NamedTuple):
    """Everything as it was read; `doomed` are topics that the controller is about to delete."""

    znodes: Mapping[str, Znode]
    doomed: frozenset[str]
    marks: Mapping[str, Mark]
    users: Sequence[str]  # those that have clients with quotas


def read_tree(bulk: BulkReader) -> ZnodeTree:
    roots = (at.TOPICS, at.CLIENTS, at.USERS, at.BROKERS, at.IPS, at.TOPIC_NODES, at.OWN_TOPICS)
    directories = list(bulk.children((at.LITERAL_ACLS, at.PREFIXED_ACLS, at.OWN_CONFIG)))
    znodes = dict(bulk.get(bulk.children([*roots, *directories])))
    users = [path for path, znode in znodes.items() if znode.children and path.startswith(f"{at.USERS}/")]
    znodes |= bulk.get(bulk.children(f"{user}/clients" for user in users))
    doomed = frozenset(path.rpartition("/")[2] for path in bulk.children([at.DELETIONS]))
    marks = {}
    for path, znode in bulk.get(bulk.children([at.MARKS])):
        mark = Mark.of(znode.data)
        if mark is None:
            log.warning("%s is no mark of ours, and left out", path)
        else:
            marks[unquote(path.rpartition("/")[2])] = mark
    return ZnodeTree(znodes, doomed, marks, users)


class Said(NamedTuple):
    """What a tree says. `unseen` are znodes that were written from outside and are in no journal."""

    snapshot: Snapshot
    versions: dict[str, int]
    problems: Sequence[ZnodeProblem]
    unseen: Sequence[str]


class TreeLoader:
    """Turns znodes into resources. `floor` stands for changes older than the journal, `born` is where that begins."""

    def __init__(self, passwords: Passwords, *, floor: int = 0, born: int = 0) -> None:
        self._passwords = passwords
        self._floor, self._born = floor, born
        self._shared: dict[tuple[tuple[str, str], ...], Overrides] = {}

    def document(self, path: str, data: bytes) -> ZnodeDocument:
        """The overrides in a znode; raises ValueError for a path that names nothing."""
        holders = at.owners(path)
        if not holders:
            raise ValueError(f"{path} names nothing")
        if path.startswith(at.LITERAL_ACLS):
            return read_acls(path, holders[0], data)
        document = read_config(path, holders, data)
        if not path.startswith(f"{at.BROKERS}/"):
            return document
        shown, lost = self._passwords.shown(holders[0], document.overrides[holders[0]])
        problems = [*document.problems, *(ZnodeProblem(path, key, "no secret opens its value") for key in lost)]
        return ZnodeDocument({holders[0]: shown}, document.stamps, problems)

    def said(self, tree: ZnodeTree, revision: int) -> Said:
        """The state of a tree, at `revision`."""
        topics: dict[str, Topic] = {}
        configs: dict[Resource, Overrides] = {}
        changed: dict[Resource, int] = {}
        problems: list[ZnodeProblem] = []
        unseen: list[str] = []
        for path, mark in tree.marks.items():
            if path not in tree.znodes:
                _note(changed, at.owners(path), mark.numbers)
        with gc_paused():
            for path, znode in tree.znodes.items():
                name = at.topic_of(path)
                holders: Sequence[Resource]
                stamps: Sequence[int]
                try:
                    if name is not None:
                        holders = (Resource.topic(name),)
                        topic, stamp, found = read_topic(path, name, znode.data)
                        stamps = () if stamp is None else (stamp,)
                        if topic is not None and name not in tree.doomed:
                            topics[name] = topic
                    else:
                        document = self.document(path, znode.data)
                        holders, stamps, found = tuple(document.overrides), document.stamps, document.problems
                        self._take(document, configs, tree.doomed if path.startswith(at.TOPICS) else frozenset())
                except ValueError:
                    problems.append(ZnodeProblem(path, "", "its name cannot be decoded"))
                    continue
                problems += found
                if not stamps:
                    stamps = self._foreign(path, znode, len(holders), tree.marks.get(path), unseen)
                _note(changed, holders, stamps)
        snapshot = Snapshot.of(revision, Map(topics), Map(configs), Map(changed))
        return Said(snapshot, _versions(tree), problems, unseen)

    def _take(self, document: ZnodeDocument, configs: dict[Resource, Overrides], doomed: frozenset[str]) -> None:
        for resource, values in document.overrides.items():
            if values and resource.name not in doomed:
                configs[resource] = self._shared.setdefault(tuple(values.items()), values)

    def _foreign(self, path: str, znode: Znode, count: int, mark: Mark | None, unseen: list[str]) -> tuple[int, ...]:
        """When a znode without stamps was last changed, as far as the journal knows."""
        if mark is not None and mark.modified == znode.modified:
            return tuple(mark.numbers)
        if znode.modified > self._born:
            unseen.append(path)
        return (self._floor,) * count


def _versions(tree: ZnodeTree) -> dict[str, int]:
    """Of all znodes but those that the controller is about to delete."""
    versions = {path: znode.version for path, znode in tree.znodes.items()}
    for path in tree.users:
        versions[f"{path}/clients"] = 0
    for name in tree.doomed:
        versions.pop(at.topic_path(name), None)
        versions.pop(at.config_path(Resource.topic(name)), None)
    return versions


def _note(changed: dict[Resource, int], holders: Sequence[Resource], numbers: Sequence[int]) -> None:
    for resource, number in zip(holders, numbers, strict=False):
        if number > changed.get(resource, 0):
            changed[resource] = number
