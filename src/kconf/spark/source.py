"""A live cluster as a Spark data source: `spark.read.format("kconf").option("bootstrap.servers", …).load()`.

Rows are lines of a snapshot (`schemas.SNAPSHOT_LINE`) of kconf or any Kafka, read through the AdminClient as Arrow
batches. For one cluster, topics are split into as many partitions as there are cores, each broker's keys are one
partition, and everything else is another; of several clusters each is one partition, so that one job reads many. What a
cluster refuses is a row of kind `missing` (`name`: what, `value`: why). Among several clusters, one that does not
respond is such a row without an ID.

    bootstrap.servers   any broker of the cluster, if no authentication is needed
    properties          a Java client properties file, read on the driver and on the workers
    context             a context name, or several as a glob or separated by commas; the contexts file is read in the
                        same places ($KCONF_CONFIG, or `config`)
    partitions          number of partitions for topics (default: the cores of this machine)
    topics              a glob of topic names (default: all, including internal topics)

Options contain no credentials, because Spark shows options in plans and in its web UI. The source only reads, so a
retried task does no harm.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import time
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kconf.errors import ConfigurationError, KafkaError, KconfError
from kconf.lake.schemas import SNAPSHOT_LINE, ddl
from kconf.model.entry import Source
from kconf.model.lines.snapshot import acl_line, config_line, scram_line, topic_line
from kconf.model.resource import Resource, ResourceType

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from kconf.client.admin_sync import SyncAdminClient
    from kconf.model.cluster import TopicListing
    from kconf.model.entry import Entry, View

Row = dict[str, Any]

OPTIONS: Final = ("bootstrap.servers", "properties", "context", "config", "partitions", "topics")
AT_ONCE: Final = 1000  # resources between two batches of rows
_INHERITED: Final = (Source.DEFAULT, Source.STATIC, Source.DEFAULT_BROKER, Source.BROKER)
_OURS: Final = {  # what a listing of resources finds beside topics and brokers
    "groups": ResourceType.GROUP,
    "client-metrics": ResourceType.CLIENT_METRICS,
}


@dataclass(frozen=True)
class SourceOptions:
    """How to reach the cluster, without credentials: those are read from a file wherever a connection is opened."""

    bootstrap: str | None = None
    properties: str | None = None
    context: str | None = None
    config: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> SourceOptions:
        for name in options:
            if name not in OPTIONS:
                raise ConfigurationError(
                    f"the kconf source has no option {name}; use {', '.join(OPTIONS)}. Credentials come from the "
                    "context or the properties file, never from an option"
                )
        door = cls(*(options.get(each) or None for each in OPTIONS[:4]))
        if door.context is None:
            if door.bootstrap is None and door.properties is None:
                raise ConfigurationError("the kconf source requires bootstrap.servers, properties or context")
            return door
        if door.bootstrap is not None or door.properties is not None:
            raise ConfigurationError("context cannot be combined with bootstrap.servers or properties")
        from kconf.client.contexts.load import config_path

        return cls(context=door.context, config=os.path.abspath(door.config or config_path()))

    def each(self) -> list[SourceOptions]:
        """One connection setting per cluster: a context pattern may match several."""
        if self.context is None:
            return [self]
        from kconf.client.contexts.load import load_contexts

        contexts = load_contexts(self.config)
        words = [each.strip() for each in self.context.split(",") if each.strip()]
        names = dict.fromkeys(found.name for word in words for found in contexts.matching(word))
        return [replace(self, context=name) for name in names]

    def open(self) -> SyncAdminClient:
        from kconf.client.admin_sync import SyncAdminClient

        if self.context is None:
            return SyncAdminClient.from_properties(self.properties or {}, self.bootstrap or ())
        from kconf.client.contexts.config_providers import bootstrap, client_properties
        from kconf.client.contexts.load import load_contexts

        context = load_contexts(self.config).named(self.context)  # a worker may have another home directory
        return SyncAdminClient.from_properties(client_properties(context), bootstrap(context))


@dataclass
class ClusterPartition(InputPartition):
    """A unit of work: topics with their partitions, one broker, or everything else; without a head, a whole cluster."""

    door: SourceOptions
    head: Row | None = None
    topics: Sequence[Row] = ()
    broker: int | None = None
    rows: Sequence[Row] = field(default_factory=tuple)  # already read


class KconfSource(DataSource):
    """The Spark format `kconf`."""

    @classmethod
    def name(cls) -> str:
        return "kconf"

    def schema(self) -> str:
        return ddl(SNAPSHOT_LINE)

    def reader(self, schema: StructType) -> KconfReader:
        options = dict(self.options)
        return KconfReader(SourceOptions.of(options), _number(options.get("partitions")), options.get("topics"))


class KconfReader(DataSourceReader):
    """Plans on the driver, reads on the workers. It is serialized to them and contains no secrets."""

    def __init__(self, door: SourceOptions, parts: int, topics: str | None) -> None:
        self._door, self._parts, self._wanted = door, parts, topics

    def partitions(self) -> Sequence[InputPartition]:
        """The work units: for one cluster, parts planned by the driver; for several, one per cluster."""
        doors = self._door.each()
        return [ClusterPartition(door) for door in doors] if len(doors) > 1 else self._parts_of(doors[0])

    def _parts_of(self, door: SourceOptions) -> list[ClusterPartition]:
        """All rows of a snapshot have the same time."""
        now = int(time() * 1000)
        with door.open() as admin:
            cluster = admin.describe_cluster()
            topics, missing = self._topics(admin)
        head = {"cluster": cluster.cluster_id or "", "started": now, "taken": now}
        share = max(1, -(-len(topics) // self._parts))
        first = ClusterPartition(door, head, rows=[{"kind": "snapshot"}, *missing])
        shares = [ClusterPartition(door, head, topics[start : start + share]) for start in range(0, len(topics), share)]
        return [first, *(ClusterPartition(door, head, broker=each) for each in sorted(cluster.nodes)), *shares]

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
            batches = [batch for part in self._parts_of(partition.door) for batch in self._read(part)]
        # an unreachable cluster does not fail the snapshot of the others
        except (KafkaError, ConfigurationError) as error:
            batches = [_batch({}, [_missing(f"the cluster of the context {partition.door.context}", error)])]
        yield from batches

    def _read(self, part: ClusterPartition) -> Iterator[pa.RecordBatch]:
        with part.door.open() as admin:
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
            yield from (config_line(resource, each) for each in _told(resource, described[resource]))


def _told(resource: Resource, view: View) -> Iterable[Entry]:
    if resource.type is ResourceType.BROKER:
        return view.entries
    return [each for each in view.entries if each.source not in _INHERITED]


def _rest(admin: SyncAdminClient) -> Iterator[Row]:
    """Groups, client metrics, quotas, users and ACLs, as far as the cluster allows."""
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


def reason(error: Exception) -> str | None:
    """The message of a KconfError raised in one of Spark's Python processes; None: another error."""
    found = re.findall(r"^kconf\.\S*?(?:errors|lake|session)\.\w+: (.+)$", str(error), re.MULTILINE)
    return found[-1].strip() if found else None


def _number(text: str | None) -> int:
    if text is None:
        return os.cpu_count() or 2
    with suppress(ValueError):
        if 0 < int(text) < 10_000:
            return int(text)
    raise ConfigurationError(f"partitions must be a number from 1 to 9999: {text!r}")
