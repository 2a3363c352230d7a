"""Builds the znode operations of a commit. Does no I/O.

Several changes of one resource in a commit become one write of its znode and one notification, which makes brokers read
the entity again. Each write has the expected version of its znode, so that the commit fails after an external write
instead of overwriting it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kconf.model.journal import Change, ChangeKind
from kconf.model.resource import Overrides, Resource, ResourceType
from kconf.model.snapshot import Snapshot
from kconf.store.zookeeper import paths
from kconf.store.zookeeper.marks import RevisionMark, mark_path
from kconf.store.zookeeper.notifications import notification_for
from kconf.store.zookeeper.znode_cache import ZnodeCache, user_of_client
from kconf.store.zookeeper.znode_codec import resource_of_key, write_acls, write_config, write_topic
from kconf.store.zookeeper.znode_ops import ANY_VERSION, ZnodeOp, ZnodeWrites


def build_commit(
    cache: ZnodeCache, snapshot: Snapshot, changes: Iterable[Change], documents: Mapping[str, bytes] | None = None
) -> ZnodeWrites:
    """The writes from the cached state to `snapshot`. `documents` has the current contents of topics' znodes."""
    builder = CommitBuilder(cache, snapshot, documents or {})
    touched: dict[Resource, set[ChangeKind]] = {}
    for change in changes:
        touched.setdefault(change.resource, set()).add(change.kind)
    for resource, kinds in touched.items():
        if resource.type == ResourceType.TOPIC and ChangeKind.TOPIC in kinds:
            builder.put_topic(resource, configured=ChangeKind.CONFIG in kinds)
        else:
            builder.put_config(paths.config_path(resource))
    return builder.writes


class CommitBuilder:
    """Collects the writes of one commit that leads to `snapshot`."""

    def __init__(self, cache: ZnodeCache, snapshot: Snapshot, documents: Mapping[str, bytes]) -> None:
        self.writes = ZnodeWrites(snapshot)
        self._cache = cache
        self._snapshot = snapshot
        self._documents = documents
        self._configured: set[str] = set()

    def put_topic(self, resource: Resource, *, configured: bool) -> None:
        """Write a topic that was created, extended or deleted.

        Needs no notification: Kafka's controller watches the znodes.
        """
        path, name = paths.topic_path(resource.name), resource.name
        topic = self._snapshot.topics.get(name)
        config = paths.config_path(resource)
        if topic is not None:
            existed = self._version(path) is not None
            revision = self._snapshot.changed[resource]
            self._put(path, write_topic(topic, revision, self._documents.get(path, b"")))
            if configured or not existed:
                self.put_config(config, notify=existed)
        elif self._cache.has_brokers and self._version(path) is not None:
            self.writes.ops.append(ZnodeOp("create", f"{paths.DELETE_TOPICS}/{name}"))
            self.writes.versions |= {path: None, config: None}
            self._mark(config, RevisionMark([self._snapshot.changed[resource]]))
        else:
            self._delete(path)
            self.put_config(config, notify=False, deleted=True)

    def put_config(self, path: str, *, notify: bool = True, deleted: bool = False) -> None:
        """Write a znode with overrides, or delete it if it has none left and Kafka would delete it."""
        if path in self._configured:
            return
        self._configured.add(path)
        resources = paths.resources_of(path)
        values = [self._snapshot.overrides(each) for each in resources]
        stamps = self._last_changes(resources)
        if any(values) or (not deleted and self._is_retained(path)):
            self._create_parents(path)
            self._put(path, self._document(path, resources, values, stamps))
            self._unmark(path)
        else:
            self._delete(path)
            self._mark(path, RevisionMark(stamps))
            self._delete_parents(path)
        notification = notification_for(path) if notify else None
        if notification is not None:
            prefix = f"{notification.directory}/{notification.prefix}"
            self.writes.ops.append(ZnodeOp("create_sequential", prefix, notification.data))

    def mark_external(self, path: str, mzxid: int, retained: Mapping[str, str]) -> None:
        """Mark an external change of a znode as journaled."""
        self._mark(path, self.external_mark(path, mzxid, retained))

    def external_mark(self, path: str, mzxid: int, retained: Mapping[str, str]) -> RevisionMark:
        resources = paths.resources_of(path)
        encoded: dict[str, str] = {}
        for each in resources:
            of_it = {key: value for key, value in retained.items() if resource_of_key(resources, key) == each}
            encoded |= self._cache.passwords.encode(each, of_it)
        return RevisionMark(self._last_changes(resources), mzxid, encoded)

    def _last_changes(self, resources: Sequence[Resource]) -> list[int]:
        return [self._snapshot.changed.get(each, 0) for each in resources]

    def _document(
        self, path: str, resources: Sequence[Resource], values: Sequence[Overrides], stamps: Sequence[int]
    ) -> bytes:
        if path.startswith(paths.LITERAL_ACLS):
            return write_acls(values[0], stamps)
        encode = self._cache.passwords.encode
        return write_config([encode(*each) for each in zip(resources, values, strict=True)], stamps)

    def _is_retained(self, path: str) -> bool:
        """Whether a znode without overrides is kept. As in Kafka, those of topics and brokers are."""
        root, _, name = path.rpartition("/")
        if root == paths.TOPICS:
            return name in self._snapshot.topics or self._version(path) is not None
        if root == paths.BROKERS:
            return self._version(path) is not None
        return root == paths.USERS and self._version(f"{path}/clients") is not None

    def _create_parents(self, path: str) -> None:
        """Create missing parent znodes. Only those of a user's client ids can be missing."""
        user = user_of_client(path)
        for parent in (user, f"{user}/clients") if user is not None else ():
            if self._version(parent) is None:
                self._put(parent, b"")

    def _delete_parents(self, path: str) -> None:
        """Delete the znode of a user with its last client id, unless it has overrides, as in Kafka."""
        user = user_of_client(path)
        if user is None or self._client_count(user):
            return
        self._delete(f"{user}/clients")
        resources = paths.resources_of(user)
        if not any(self._snapshot.overrides(each) for each in resources):
            self._delete(user)
            if any(each in self._snapshot.changed for each in resources):
                self._mark(user, RevisionMark(self._last_changes(resources)))

    def _client_count(self, user: str) -> int:
        difference = sum(
            (version is not None) - (path in self._cache.versions)
            for path, version in self.writes.versions.items()
            if user_of_client(path) == user
        )
        return self._cache.client_counts[user] + difference

    def _version(self, path: str) -> int | None:
        if path in self.writes.versions:
            return self.writes.versions[path]
        return self._cache.versions.get(path)

    def _put(self, path: str, data: bytes) -> None:
        version = self._version(path)
        if version is None:
            self.writes.ops.append(ZnodeOp("create", path, data))
            self.writes.versions[path] = 0
        else:
            self.writes.ops.append(ZnodeOp("set", path, data, version))
            self.writes.versions[path] = version + 1

    def _delete(self, path: str) -> None:
        version = self._version(path)
        if version is not None:
            expected = ANY_VERSION if path.endswith("/clients") else version
            self.writes.ops.append(ZnodeOp("delete", path, version=expected))
            self.writes.versions[path] = None

    def _mark(self, path: str, mark: RevisionMark) -> None:
        exists = path in self._cache.marks or path in self.writes.marked
        self.writes.ops.append(ZnodeOp("set" if exists else "create", mark_path(path), mark.write()))
        self.writes.marked.add(path)
        self.writes.unmarked.discard(path)

    def _unmark(self, path: str) -> None:
        if path in self._cache.marks and path not in self.writes.unmarked:
            self.writes.ops.append(ZnodeOp("delete", mark_path(path)))
            self.writes.unmarked.add(path)
