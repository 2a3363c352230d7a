"""The state of a live cluster, as lines of a snapshot (`schemas.SNAPSHOT_LINE`) of kconf or any Kafka.

It is read through the AdminClient as Arrow batches. For one cluster, topics are split into as many partitions as there
are cores, each broker's keys are one partition, and everything else is another. With several clusters, each cluster is
one partition, so that one job reads all of them. What a cluster refuses becomes a row of kind `missing` (`name`: what,
`value`: why). With several clusters, a cluster that does not respond becomes such a row without a cluster ID.

    partitions   number of partitions for topics (default: the cores of this machine)
    topics       a glob of topic names (default: all, including internal topics)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import time
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceReader, InputPartition

from kconf.errors import ConfigurationError, KafkaError, KconfError
from kconf.lake.schemas import SNAPSHOT_LINE
from kconf.model.entry import Source
from kconf.model.lines.snapshot import acl_line, config_line, scram_line, topic_line
from kconf.model.resource import Resource, ResourceType

if TYPE_CHECKING:
    import pyarrow as pa

    from kconf.client.admin_sync import SyncAdminClient
    from kconf.model.cluster import TopicListing
    from kconf.model.entry import Entry, View
    from kconf.spark.source.options import SourceOptions

Row = dict[str, Any]

AT_ONCE: Final = 1000  # resources between two batches of rows
_INHERITED: Final = (Source.DEFAULT, Source.STATIC, Source.DEFAULT_BROKER, Source.BROKER)
_OURS: Final = {  # resource types that a cluster lists, besides topics and brokers
    "groups": ResourceType.GROUP,
    "client-metrics": ResourceType.CLIENT_METRICS,
}


@dataclass
class ClusterPartition(InputPartition):
    """A unit of work: topics with their partitions, one broker, or everything else; without a head, a whole cluster."""

    source: SourceOptions
    head: Row | None = None
    topics: Sequence[Row] = ()
    broker: int | None = None
    rows: Sequence[Row] = field(default_factory=tuple)  # already read


class SnapshotReader(DataSourceReader):
    """Plans on the driver, reads on the workers. It is serialized to them and contains no secrets."""

    def __init__(self, source: SourceOptions, parts: int, topics: str | None) -> None:
        self._source, self._parts, self._wanted = source, parts, topics

    def partitions(self) -> Sequence[InputPartition]:
        """The work units: for one cluster, parts planned by the driver; for several, one per cluster."""
        clusters = self._source.each()
        return [ClusterPartition(each) for each in clusters] if len(clusters) > 1 else self._parts_of(clusters[0])

    def _parts_of(self, source: SourceOptions) -> list[ClusterPartition]:
        """All rows of a snapshot have the same time."""
        now = int(time() * 1000)
        with source.open() as admin:
            cluster = admin.describe_cluster()
            topics, missing = self._topics(admin)
        head = {"cluster": cluster.cluster_id or "", "started": now, "taken": now}
        share = max(1, -(-len(topics) // self._parts))
        first = ClusterPartition(source, head, rows=[{"kind": "snapshot"}, *missing])
        starts = range(0, len(topics), share)
        shares = [ClusterPartition(source, head, topics[start : start + share]) for start in starts]
        return [first, *(ClusterPartition(source, head, broker=each) for each in sorted(cluster.nodes)), *shares]

    def _topics(self, admin: SyncAdminClient) -> tuple[list[Row], list[Row]]:
        from fnmatch import fnmatchcase

        try:
            listed = admin.list_topics(internal=True)
        except KafkaError as error:
            return [], [_refused("topics", error)]
        wanted = self._wanted
        names = sorted(name for name in listed if wanted is None or fnmatchcase(name, wanted))
        return [_topic(listed[name]) for name in names], []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, ClusterPartition)
        if partition.head is not None:
            yield from self._read(partition)
            return
        try:
            batches = [batch for part in self._parts_of(partition.source) for batch in self._read(part)]
        # an unreachable cluster does not fail the snapshot of the others
        except (KafkaError, ConfigurationError) as error:
            batches = [_batch({}, [_missing(f"the cluster of the context {partition.source.context}", error)])]
        yield from batches

    def _read(self, part: ClusterPartition) -> Iterator[pa.RecordBatch]:
        with part.source.open() as admin:
            for rows in _rows(admin, part):
                yield _batch(part.head or {}, rows)


def _rows(admin: SyncAdminClient, part: ClusterPartition) -> Iterator[list[Row]]:
    if part.broker is not None:
        yield list(_configs(admin, [Resource.broker(part.broker)]))
    elif part.topics:
        for start in range(0, len(part.topics), AT_ONCE):
            some = part.topics[start : start + AT_ONCE]
            yield [*some, *_configs(admin, [Resource.topic(each["name"]) for each in some])]
    else:
        yield [*part.rows, *_configs(admin, [Resource.brokers()]), *_rest(admin)]


def _configs(admin: SyncAdminClient, resources: Sequence[Resource]) -> Iterator[Row]:
    """All keys of brokers; for other resources, only what is set on them."""
    try:
        described = admin.describe_configs(resources)
    except KafkaError as error:
        yield _refused(f"the configs of {resources[0].type.word}s", error)
        return
    failures = described.failures
    for resource in resources:
        if resource in failures:
            yield _missing(str(resource), failures[resource].error())
        else:
            yield from (config_line(resource, each) for each in _stored_entries(resource, described[resource]))


def _stored_entries(resource: Resource, view: View) -> Iterable[Entry]:
    if resource.type is ResourceType.BROKER:
        return view.entries
    return [each for each in view.entries if each.source not in _INHERITED]


def _rest(admin: SyncAdminClient) -> Iterator[Row]:
    """Groups, client metrics, quotas, users and ACLs; a `missing` row for what the cluster refuses."""
    for what, kind in _OURS.items():
        try:
            found = admin.list_config_resources([kind])
        except KafkaError as error:
            yield _refused(what, error)
            continue
        if found:
            yield from _configs(admin, found)
    try:
        for entity, values in admin.describe_client_quotas().items():
            for key, value in values.items():
                yield {"kind": "quota", "entity": list(entity.parts), "key": key, "value": repr(value)}
    except KafkaError as error:
        yield _refused("quotas", error)
    try:
        users = admin.describe_user_scram_credentials()
        for user in users:
            yield from (scram_line(user, info) for info in users[user])
    except KafkaError as error:
        yield _refused("users", error)
    try:
        yield from map(acl_line, admin.describe_acls())
    except KafkaError as error:
        yield _refused("acls", error)


def _topic(listed: TopicListing) -> Row:
    return topic_line(listed.name, listed.topic_id, listed.partitions, listed.replication, listed.internal)


def _missing(what: str, error: KconfError) -> Row:
    return {"kind": "missing", "name": what, "value": str(error)}


def _refused(what: str, error: KafkaError) -> Row:
    if _is_outage(error):
        raise error
    return _missing(what, error)


def _is_outage(error: KafkaError) -> bool:
    """Distinguishes a cluster that does not respond from one that refuses a request."""
    from kconf.errors import AuthenticationFailed, BrokerNotAvailable, ConnectionFailed, RequestTimedOut

    return isinstance(error, ConnectionFailed | RequestTimedOut | AuthenticationFailed | BrokerNotAvailable)


def _batch(head: Row, rows: Sequence[Row]) -> pa.RecordBatch:
    import pyarrow as pa

    kinds = {
        "string": pa.string(),
        "bigint": pa.int64(),
        "int": pa.int32(),
        "boolean": pa.bool_(),
        "map<string,string>": pa.map_(pa.string(), pa.string()),
    }
    whole = [{**head, **row} for row in rows]
    columns = [pa.array([row.get(name) for row in whole], kinds[kind]) for name, kind, _ in SNAPSHOT_LINE]
    return pa.RecordBatch.from_arrays(columns, names=[name for name, _, _ in SNAPSHOT_LINE])


def partition_count(text: str | None) -> int:
    if text is None:
        return os.cpu_count() or 2
    with suppress(ValueError):
        if 0 < int(text) < 10_000:
            return int(text)
    raise ConfigurationError(f"partitions must be a number from 1 to 9999, not {text!r}")
