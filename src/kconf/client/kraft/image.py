"""The state of a cluster, built from the records of its metadata log. Returns what each record changed.

The image contains only configuration: topics, configs, quotas, SCRAM credentials, ACLs. A sensitive value is replaced
by `log:<offset>`, with the offset of the record that set it. A digest with a key of this process shows whether it is
set to the same value again. So changes contain no secrets that could be logged or stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from secrets import token_bytes
from typing import Any, Final, NamedTuple
from uuid import UUID

from kconf.client.kraft.access_records import acl_binding, acl_of, acl_value, scram_credential
from kconf.configdef.lookup import known_key
from kconf.engine.declarative.diff import quota_value
from kconf.model.acl import AclBinding
from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.quota import QuotaEntity
from kconf.model.resource import NO_OVERRIDES, Overrides, Resource, ResourceType, Topic
from kconf.model.snapshot import topic_to_json
from kconf.protocol.records import metadata as records
from kconf.protocol.records.batches import RecordBatch
from kconf.protocol.records.metadata import decode_record

ORIGIN: Final = "log"
IN_LOG: Final = "log:"
"""Replaces a sensitive value, followed by the offset of the record that set it."""
_NOBODY: Final = RequestContext("")
_DIGEST_KEY: Final = token_bytes(32)
_CONFIG_TYPES: Final = {
    int(each): each
    for each in (ResourceType.TOPIC, ResourceType.BROKER, ResourceType.CLIENT_METRICS, ResourceType.GROUP)
}


class _Position(NamedTuple):
    offset: int
    timestamp: int


class _TopicState:
    """A topic whose partitions may still be arriving."""

    __slots__ = ("id", "name", "replicas")

    def __init__(self, name: str, id: bytes) -> None:  # noqa: A002
        self.name, self.id = name, id
        self.replicas: list[tuple[int, ...]] = []

    def topic(self) -> Topic:
        return Topic(self.name, UUID(bytes=self.id), tuple(self.replicas))


class MetadataImage:
    """`apply` applies committed batches in order. `skipped` counts unknown records.

    `unreadable` is the first unknown record that may have changed the state, which may be wrong from then on.
    """

    def __init__(self) -> None:
        self.topics: dict[str, Topic] = {}
        self.configs: dict[Resource, dict[str, str]] = {}
        self.acls: dict[bytes, AclBinding] = {}
        self.ghosts: dict[Resource, dict[str, str]] = {}
        self.skipped: Counter[str] = Counter()
        self.unreadable: records.UnknownRecord | None = None
        self._by_id: dict[bytes, _TopicState] = {}
        self._digests: dict[tuple[Resource, str], bytes | None] = {}  # digests of sensitive values; None if unknown
        self._transaction: list[tuple[Any, _Position]] | None = None
        self._changes: list[tuple[_Position, Change]] = []
        self._changed_topics: dict[bytes, _Position] = {}
        self._reports = True
        self._reports_rewrites = False

    @property
    def in_transaction(self) -> bool:
        """Whether records wait for the end of a metadata transaction."""
        return self._transaction is not None

    @property
    def sensitive(self) -> Iterable[tuple[Resource, str]]:
        """The keys with sensitive values."""
        return self._digests

    @classmethod
    def restore(
        cls,
        topics: Iterable[Topic],
        configs: dict[Resource, dict[str, str]],
        acls: Mapping[bytes, Sequence[Any]],
        sensitive: Mapping[tuple[Resource, str], bytes | None],
    ) -> MetadataImage:
        """Create an image from its parts. `sensitive` has the digests of sensitive values, if known."""
        image = cls()
        for topic in topics:
            state = image._by_id[topic.id.bytes] = _TopicState(topic.name, topic.id.bytes)
            state.replicas = list(topic.replicas)
            image.topics[topic.name] = topic
        image.configs = configs
        image.acls = {key: acl_binding(*values) for key, values in acls.items()}
        image._digests = dict(sensitive)
        return image

    def overrides(self, resource: Resource) -> Overrides:
        return self.configs.get(resource, NO_OVERRIDES)

    def is_sensitive(self, resource: Resource, key: str) -> bool:
        """Whether a key is set to a sensitive value."""
        return (resource, key) in self._digests

    def digest(self, resource: Resource, key: str) -> bytes | None:
        """The digest of a sensitive value, to compare with another image of this process, or None if unknown."""
        return self._digests.get((resource, key))

    def apply(self, batch: RecordBatch, *, report: bool = True, rewrites: bool = False) -> list[Revision]:
        """Apply a batch. Returns one revision per record that changes something, with the offset as its number.

        Without `report`, no revisions are created, which takes half the time. With `rewrites`, records that do not
        change a value are included; those of brokers always are.
        """
        if batch.is_control:
            return []
        self._reports, self._reports_rewrites = report, rewrites
        for record in batch.records():
            if record.value is not None:
                self._record(decode_record(record.value), _Position(record.offset, record.timestamp))
        return [] if self.in_transaction else self._take()

    @classmethod
    def load(cls, batches: Iterable[RecordBatch], offset: int) -> MetadataImage:
        """Load the image of a snapshot. `offset` is the last one that it covers.

        A snapshot may contain configs of topics that do not exist (a bug in Kafka). They are in `ghosts`.
        """
        image, at = cls(), _Position(offset, 0)
        image._reports = False
        for batch in batches:
            for record in () if batch.is_control else batch.records():
                if record.value is not None:
                    image._record(decode_record(record.value), at)
        image._take()
        for resource in [each for each in image.configs if each.type is ResourceType.TOPIC]:
            if resource.name not in image.topics:
                image.ghosts[resource] = image.configs.pop(resource)
        return image

    def _record(self, record: Any, at: _Position) -> None:
        kind = type(record)
        if self._transaction is not None and kind not in _ENDS:
            self._transaction.append((record, at))
            return
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, record, at)
        elif kind is records.UnknownRecord:
            self.skipped[f"{record.key} v{record.version}"] += 1
            if self.unreadable is None and record.key not in _IRRELEVANT:
                self.unreadable = record

    def _begin(self, _record: records.BeginTransactionRecord, _at: _Position) -> None:
        self._transaction = []

    def _end(self, _record: records.EndTransactionRecord, _at: _Position) -> None:
        waiting, self._transaction = self._transaction or [], None
        for record, at in waiting:
            self._record(record, at)

    def _abort(self, _record: records.AbortTransactionRecord, _at: _Position) -> None:
        self._transaction = None

    # Topics. Partitions arrive one by one; the change of a topic is created at the end of its batch.

    def _topic(self, record: records.TopicRecord, at: _Position) -> None:
        resource = Resource(ResourceType.TOPIC, record.name)
        self.configs.pop(resource, None)  # left by a deleted topic
        self._by_id[record.topic_id] = _TopicState(record.name, record.topic_id)
        self._changed_topics[record.topic_id] = at

    def _partition(self, record: records.PartitionRecord, at: _Position) -> None:
        self._set_replicas(record.topic_id, record.partition_id, record.replicas, at)

    def _partition_change(self, record: records.PartitionChangeRecord, at: _Position) -> None:
        if record.replicas is not None:
            self._set_replicas(record.topic_id, record.partition_id, record.replicas, at)

    def _set_replicas(self, topic_id: bytes, partition: int, replicas: Iterable[int], at: _Position) -> None:
        state = self._by_id.get(topic_id)
        if state is None or partition < 0:
            self.skipped["partition of an unknown topic"] += 1
            return
        if partition > len(state.replicas) + _MOST_MISSING:
            self.skipped["partition with an impossible number"] += 1
            return
        while len(state.replicas) <= partition:
            state.replicas.append(())
        state.replicas[partition] = tuple(replicas)
        self._changed_topics.setdefault(topic_id, at)

    def _remove_topic(self, record: records.RemoveTopicRecord, at: _Position) -> None:
        """Remove a topic and its configs, for which there are no separate records."""
        self._close_topics({record.topic_id})
        state = self._by_id.pop(record.topic_id, None)
        if state is None:
            self.skipped["removal of an unknown topic"] += 1
            return
        live = self.topics.get(state.name)
        if live is None or live.id.bytes != state.id:
            self.skipped["removal of a topic whose name belongs to another topic"] += 1
            return
        resource = Resource(ResourceType.TOPIC, state.name)
        for key, value in sorted(self.configs.pop(resource, {}).items()):
            sensitive = (resource, key) in self._digests
            self._add(at, ChangeKind.CONFIG, resource, key, value, None, "delete", sensitive)
            self._digests.pop((resource, key), None)
        self.topics.pop(state.name)
        self._add(at, ChangeKind.TOPIC, resource, "", topic_to_json(state.topic()), None, "delete")

    def _close_topics(self, only: set[bytes] | None = None) -> None:
        """Create the changes of topics that were created, extended or reassigned, at the position of their first
        record.
        """
        for topic_id in [each for each in self._changed_topics if only is None or each in only]:
            at, state = self._changed_topics.pop(topic_id), self._by_id[topic_id]
            old, new = self.topics.get(state.name), state.topic()
            if old is not None and old.id != new.id:
                old = None
            self.topics[state.name] = new
            if not self._reports:
                continue
            op = "create" if old is None else "grow" if new.partitions > old.partitions else "reassign"
            before = None if old is None else topic_to_json(old)
            if (after := topic_to_json(new)) != before:
                self._add(at, ChangeKind.TOPIC, new.resource, "", before, after, op)

    # What has keys and values

    def _config(self, record: records.ConfigRecord, at: _Position) -> None:
        kind = _CONFIG_TYPES.get(record.resource_type)
        if kind is None:
            self.skipped[f"config of type {record.resource_type}"] += 1
            return
        key = known_key(kind, record.name)
        resource = Resource(kind, record.resource_name)
        is_sensitive = key is None or key.sensitive
        self._set(at, resource, record.name, record.value, is_sensitive=is_sensitive)

    def _quota(self, record: records.ClientQuotaRecord, at: _Position) -> None:
        entity = QuotaEntity.of({each.entity_type: each.entity_name for each in record.entity})
        value = None if record.remove else quota_value(record.key, record.value)
        self._set(at, entity.resource, record.key, value)

    def _scram(self, record: Any, at: _Position) -> None:
        found = scram_credential(record)
        if found is None:
            self.skipped[f"SCRAM mechanism {record.mechanism}"] += 1
            return
        self._set(at, found.resource, found.key, found.value, is_sensitive=True, shown=found.shown)

    def _acl(self, record: records.AccessControlEntryRecord, at: _Position) -> None:
        try:
            binding = self.acls[record.id] = acl_of(record)
        except ValueError:
            self.skipped["ACL with unknown numbers"] += 1
            return
        self._set(at, *acl_value(binding, is_set=True)[:3])

    def _remove_acl(self, record: records.RemoveAccessControlEntryRecord, at: _Position) -> None:
        binding = self.acls.pop(record.id, None)
        if binding is None:
            self.skipped["removal of an unknown ACL"] += 1
            return
        self._set(at, *acl_value(binding, is_set=False)[:3])

    def _set(
        self,
        at: _Position,
        resource: Resource,
        key: str,
        value: str | None,
        *,
        is_sensitive: bool = False,
        shown: str = "",
    ) -> None:
        before = self.configs.get(resource, NO_OVERRIDES).get(key)
        op, after = "set", value
        if is_sensitive:
            op, after = self._hide(at, resource, key, value, before, shown)
        elif before == after and after is not None:
            op = "rewrite"
        if after is None:
            op = "delete"
            values = self.configs.get(resource)
            if before is None or values is None:
                return  # it was not set
            del values[key]
            if not values:
                del self.configs[resource]
        else:
            self.configs.setdefault(resource, {})[key] = after
        if self._reports and (op != "rewrite" or self._reports_rewrites or resource.type is ResourceType.BROKER):
            self._add(at, ChangeKind.CONFIG, resource, key, before, after, op, is_sensitive)

    def _hide(
        self, at: _Position, resource: Resource, key: str, value: str | None, before: str | None, shown: str
    ) -> tuple[str, str | None]:
        """The operation and the placeholder of a sensitive value."""
        name = (resource, key)
        if value is None:
            self._digests.pop(name, None)
            return "delete", None
        digest = blake2b(value.encode("utf-8", "surrogatepass"), key=_DIGEST_KEY, digest_size=16).digest()
        if before is not None and self._digests.get(name) == digest:
            return "rewrite", before
        self._digests[name] = digest
        return "set", f"{shown}{IN_LOG}{at.offset}"

    def _add(
        self,
        at: _Position,
        kind: ChangeKind,
        resource: Resource,
        key: str,
        before: str | None,
        after: str | None,
        op: str,
        sensitive: bool = False,
    ) -> None:
        if self._reports:
            self._changes.append((at, Change(kind, resource, key, before, after, op, sensitive)))

    def _take(self) -> list[Revision]:
        self._close_topics()
        if not self._changes:
            return []
        found, self._changes = self._changes, []
        by_offset: dict[int, tuple[_Position, list[Change]]] = {}
        for at, change in sorted(found, key=lambda each: each[0].offset):
            by_offset.setdefault(at.offset, (at, []))[1].append(change)
        return [
            Revision(offset, at.timestamp, _NOBODY, tuple(changes), ORIGIN)
            for offset, (at, changes) in by_offset.items()
        ]


_MOST_MISSING: Final = 1 << 20
_ENDS: Final = (records.EndTransactionRecord, records.AbortTransactionRecord)
_Handler = Callable[[MetadataImage, Any, _Position], None]
_HANDLERS: Final[dict[type, _Handler]] = {
    records.TopicRecord: MetadataImage._topic,
    records.PartitionRecord: MetadataImage._partition,
    records.PartitionChangeRecord: MetadataImage._partition_change,
    records.RemoveTopicRecord: MetadataImage._remove_topic,
    records.ConfigRecord: MetadataImage._config,
    records.ClientQuotaRecord: MetadataImage._quota,
    records.UserScramCredentialRecord: MetadataImage._scram,
    records.RemoveUserScramCredentialRecord: MetadataImage._scram,
    records.AccessControlEntryRecord: MetadataImage._acl,
    records.RemoveAccessControlEntryRecord: MetadataImage._remove_acl,
    records.BeginTransactionRecord: MetadataImage._begin,
    records.EndTransactionRecord: MetadataImage._end,
    records.AbortTransactionRecord: MetadataImage._abort,
}
_IRRELEVANT: Final = frozenset(key for key, row in records.RECORD_TYPES.items() if row.table not in _HANDLERS)
"""The keys of records that do not change the image, in any version. Records with other keys may do so."""
