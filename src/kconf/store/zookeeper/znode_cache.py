"""What the znodes are, as far as the journal was followed, and what a commit does to them. Touches no ZooKeeper.

Several changes of one resource in one commit are one write of its znode and one notification: brokers are told that an
entity has changed, and read it themselves. Each write names the version of the znode that it replaces, so what someone
else wrote meanwhile is never written over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from kconf.model.journal import Change, ChangeKind
from kconf.model.resource import Overrides, Resource, ResourceType
from kconf.model.snapshot import Snapshot
from kconf.store.zookeeper import paths as at
from kconf.store.zookeeper.loader import Mark, Said, ZnodeTree, mark_path, write_mark
from kconf.store.zookeeper.passwords import Passwords
from kconf.store.zookeeper.session import ANY_VERSION, ZnodeOp
from kconf.store.zookeeper.znode_codec import write_acls, write_config, write_topic


class ZnodeCache:
    """The state, and the version of each znode that has a part of it."""

    def __init__(self, said: Said, tree: ZnodeTree, passwords: Passwords) -> None:
        self.snapshot = said.snapshot
        self.versions = said.versions
        self.marks = set(tree.marks)
        self.passwords = passwords
        self.beside = False  # whether real brokers are there, whose controller deletes topics
        self.clients = Counter(user for path in said.versions if (user := _user_of(path)) is not None)

    def writing(
        self, new: Snapshot, changes: Iterable[Change], found: Mapping[str, bytes] | None = None
    ) -> ZnodeWrites:
        """What leads from the mirror's snapshot to a new one. `found` has the topics' documents that are replaced."""
        writing = ZnodeWrites(self, new, found or {})
        touched: dict[Resource, set[ChangeKind]] = {}
        for change in changes:
            touched.setdefault(change.resource, set()).add(change.kind)
        for resource, kinds in touched.items():
            if resource.type == ResourceType.TOPIC and ChangeKind.TOPIC in kinds:
                writing.turn_topic(resource, configured=ChangeKind.CONFIG in kinds)
            else:
                writing.configure(at.config_path(resource))
        return writing

    def noting(self, new: Snapshot) -> ZnodeWrites:
        """A new snapshot that the znodes have already: someone else wrote them."""
        return ZnodeWrites(self, new, {})

    def done(self, writing: ZnodeWrites) -> None:
        """It has been written."""
        for path, version in writing.after.items():
            user = _user_of(path)
            if version is None:
                if self.versions.pop(path, None) is not None and user is not None:
                    self.clients[user] -= 1
            else:
                if user is not None and path not in self.versions:
                    self.clients[user] += 1
                self.versions[path] = version
        self.marks = (self.marks | writing.marked) - writing.unmarked
        self.snapshot = writing.new


class ZnodeWrites:
    """The operations of one commit."""

    def __init__(self, mirror: ZnodeCache, new: Snapshot, found: Mapping[str, bytes]) -> None:
        self.ops: list[ZnodeOp] = []
        self.new = new
        self.after: dict[str, int | None] = {}  # versions as they will be; None: deleted
        self.marked: set[str] = set()
        self.unmarked: set[str] = set()
        self.named: Sequence[str] = ()  # the notifications that it made, once it is done
        self._mirror = mirror
        self._found = found
        self._configured: set[str] = set()

    @property
    def size(self) -> int:
        return sum(len(op.path.encode()) + len(op.data) + 64 for op in self.ops)

    def turn_topic(self, resource: Resource, *, configured: bool) -> None:
        """A topic made, grown or deleted. Kafka is not notified: its controller watches the znodes."""
        path, name = at.topic_path(resource.name), resource.name
        topic = self.new.topics.get(name)
        config = at.config_path(resource)
        if topic is not None:
            was_there = self._version(path) is not None
            self._put(path, write_topic(topic, self.new.changed[resource], self._found.get(path, b"")))
            if configured or not was_there:
                self.configure(config, silent=not was_there)
        elif self._mirror.beside and self._version(path) is not None:
            self.ops.append(ZnodeOp("create", f"{at.DELETIONS}/{name}"))
            self.after |= {path: None, config: None}
            self._mark(config, [self.new.changed[resource]])
        else:
            self._drop(path)
            self.configure(config, silent=True, gone=True)

    def configure(self, path: str, *, silent: bool = False, gone: bool = False) -> None:
        """A znode with overrides: written, or deleted where it has none left and Kafka would delete it."""
        if path in self._configured:
            return
        self._configured.add(path)
        holders = at.owners(path)
        values = [self.new.overrides(each) for each in holders]
        stamps = [self.new.changed.get(each, 0) for each in holders]
        if any(values) or (not gone and self._stays(path)):
            self._make_parents(path)
            self._put(path, self._written(path, holders, values, stamps))
            self._unmark(path)
        else:
            self._drop(path)
            self._mark(path, stamps)
            self._drop_parents(path)
        notice = None if silent else at.notice(path)
        if notice is not None:
            self.ops.append(ZnodeOp("notice", f"{notice.directory}/{notice.prefix}", notice.data))

    def _written(
        self, path: str, holders: Sequence[Resource], values: Sequence[Overrides], stamps: Sequence[int]
    ) -> bytes:
        if path.startswith(at.LITERAL_ACLS):
            return write_acls(values[0], stamps)
        hide = self._mirror.passwords.hidden
        return write_config([hide(*each) for each in zip(holders, values, strict=True)], stamps)

    def _stays(self, path: str) -> bool:
        """Topics and brokers keep their znode, as in Kafka; others lose it with their last override."""
        root, _, name = path.rpartition("/")
        if root == at.TOPICS:
            return name in self.new.topics or self._version(path) is not None
        if root == at.BROKERS:
            return self._version(path) is not None
        return root == at.USERS and self._version(f"{path}/clients") is not None

    def _make_parents(self, path: str) -> None:
        """Of the clients of a user; everything else has its root."""
        user = _user_of(path)
        for parent in (user, f"{user}/clients") if user is not None else ():
            if self._version(parent) is None:
                self._put(parent, b"")

    def _drop_parents(self, path: str) -> None:
        """As in Kafka: with the last client of a user goes the user, unless it has quotas or credentials of its own."""
        user = _user_of(path)
        if user is None or self._clients(user):
            return
        self._drop(f"{user}/clients")
        holders = at.owners(user)
        if not any(self.new.overrides(each) for each in holders):
            self._drop(user)
            if any(each in self.new.changed for each in holders):
                self._mark(user, [self.new.changed.get(each, 0) for each in holders])

    def _clients(self, user: str) -> int:
        moved = sum(
            (version is not None) - (path in self._mirror.versions)
            for path, version in self.after.items()
            if _user_of(path) == user
        )
        return self._mirror.clients[user] + moved

    def _version(self, path: str) -> int | None:
        if path in self.after:
            return self.after[path]
        return self._mirror.versions.get(path)

    def _put(self, path: str, data: bytes) -> None:
        version = self._version(path)
        if version is None:
            self.ops.append(ZnodeOp("create", path, data))
            self.after[path] = 0
        else:
            self.ops.append(ZnodeOp("set", path, data, version))
            self.after[path] = version + 1

    def _drop(self, path: str) -> None:
        version = self._version(path)
        if version is not None:
            self.ops.append(ZnodeOp("delete", path, version=ANY_VERSION if path.endswith("/clients") else version))
            self.after[path] = None

    def _mark(self, path: str, numbers: Sequence[int]) -> None:
        self._write_mark(path, Mark(numbers))

    def seen(self, path: str, numbers: Sequence[int], modified: int) -> None:
        """A znode was written from outside, and is in the journal now."""
        self._write_mark(path, Mark(numbers, modified))

    def _write_mark(self, path: str, mark: Mark) -> None:
        known = path in self._mirror.marks or path in self.marked
        self.ops.append(ZnodeOp("set" if known else "create", mark_path(path), write_mark(mark)))
        self.marked.add(path)
        self.unmarked.discard(path)

    def _unmark(self, path: str) -> None:
        if path in self._mirror.marks and path not in self.unmarked:
            self.ops.append(ZnodeOp("delete", mark_path(path)))
            self.unmarked.add(path)


def _user_of(path: str) -> str | None:
    """The user whose client's quotas stand in a znode."""
    user, found, _ = path.partition("/clients/")
    return user if found and user.rpartition("/")[0] == at.USERS else None
