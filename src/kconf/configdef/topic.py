"""The keys of a topic.

The fallbacks are the broker keys that supply the value of a topic without an override, in order of precedence.
"""

from __future__ import annotations

from kconf.configdef.broker.log import FLUSH, JITTER, RETENTION, ROLL
from kconf.configdef.define import BOOLEAN, DOUBLE, INT, LIST, LONG, LONG_MAX, LOW, MEDIUM, STRING, config_def
from kconf.configdef.key import BrokerFallback, ConfigDef, ConfigKey
from kconf.configdef.validators import (
    AT_LEAST_0,
    AT_LEAST_1,
    CLEANUP_POLICY,
    CODEC,
    GZIP_LEVEL,
    LZ4_LEVEL,
    METADATA_VERSION,
    THROTTLED_REPLICAS,
    TIMESTAMP_TYPE,
    ZSTD_LEVEL,
    Validator,
    between,
)
from kconf.model.entry import ValueType


def _topic(
    name: str,
    type: ValueType,  # noqa: A002
    default: str | None,
    validator: Validator | None,
    about: str,
    *fallbacks: BrokerFallback,
    importance: str = MEDIUM,
    internal: bool = False,
    legacy: bool = False,
) -> ConfigKey:
    return ConfigKey(
        name=name,
        type=type,
        default=default,
        validator=validator,
        importance=importance,
        fallbacks=fallbacks,
        internal=internal,
        legacy=legacy,
        about=about,
    )


# fmt: off
TOPIC: ConfigDef = config_def(
    (
        _topic("cleanup.policy", LIST, "delete", CLEANUP_POLICY, "What happens to old data: deleted by retention, compacted by key, or both.", BrokerFallback("log.cleanup.policy")),
        _topic("compression.gzip.level", INT, "-1", GZIP_LEVEL, "Compression level used when the broker itself compresses with gzip.", BrokerFallback("compression.gzip.level")),
        _topic("compression.lz4.level", INT, "9", LZ4_LEVEL, "Compression level used when the broker itself compresses with lz4.", BrokerFallback("compression.lz4.level")),
        _topic("compression.type", STRING, "producer", CODEC, "Codec used for stored batches; 'producer' keeps the codec each client chose.", BrokerFallback("compression.type")),
        _topic("compression.zstd.level", INT, "3", ZSTD_LEVEL, "Compression level used when the broker itself compresses with zstd.", BrokerFallback("compression.zstd.level")),
        _topic("delete.retention.ms", LONG, "86400000", AT_LEAST_0, "How long tombstones stay visible in a compacted log before they are purged.", BrokerFallback("log.cleaner.delete.retention.ms")),
        _topic("file.delete.delay.ms", LONG, "60000", AT_LEAST_0, "Delay between removing a segment from the log and deleting its files.", BrokerFallback("log.segment.delete.delay.ms")),
        _topic("flush.messages", LONG, LONG_MAX, AT_LEAST_1, "After this many unsynced records an fsync is forced.", BrokerFallback("log.flush.interval.messages")),
        _topic("flush.ms", LONG, LONG_MAX, AT_LEAST_0, "Maximum time that written records may wait for an fsync.", *FLUSH),
        _topic("follower.replication.throttled.replicas", LIST, "", THROTTLED_REPLICAS, "Replicas whose incoming replication traffic is subject to the follower throttle."),
        _topic("index.interval.bytes", INT, "4096", AT_LEAST_0, "About how many log bytes separate two offset-index entries.", BrokerFallback("log.index.interval.bytes")),
        _topic("internal.segment.bytes", INT, None, None, "Segment size without the 1 MiB minimum (tests); takes precedence over segment.bytes.", internal=True),
        _topic("leader.replication.throttled.replicas", LIST, "", THROTTLED_REPLICAS, "Replicas whose outgoing replication traffic is subject to the leader throttle."),
        _topic("local.retention.bytes", LONG, "-2", between(-2), "How many bytes per partition a tiered topic also keeps on local disk.", BrokerFallback("log.local.retention.bytes")),
        _topic("local.retention.ms", LONG, "-2", between(-2), "How long a tiered topic also keeps its segments on local disk.", BrokerFallback("log.local.retention.ms")),
        _topic("max.compaction.lag.ms", LONG, LONG_MAX, AT_LEAST_1, "Maximum time before a record becomes eligible for compaction.", BrokerFallback("log.cleaner.max.compaction.lag.ms")),
        _topic("max.message.bytes", INT, "1048588", AT_LEAST_0, "Largest record batch, as stored, that a producer may append to the topic.", BrokerFallback("message.max.bytes")),
        _topic("message.timestamp.after.max.ms", LONG, "3600000", AT_LEAST_0, "How far ahead of the broker clock a record's own timestamp may be.", BrokerFallback("log.message.timestamp.after.max.ms")),
        _topic("message.timestamp.before.max.ms", LONG, LONG_MAX, AT_LEAST_0, "How far behind the broker clock a record's own timestamp may be.", BrokerFallback("log.message.timestamp.before.max.ms")),
        _topic("message.timestamp.type", STRING, "CreateTime", TIMESTAMP_TYPE, "Timestamp type of stored records: CreateTime (set by the producer) or LogAppendTime (set by the broker).", BrokerFallback("log.message.timestamp.type")),
        _topic("min.cleanable.dirty.ratio", DOUBLE, "0.5", between(0, 1), "Minimum share of uncompacted bytes before the cleaner selects a log.", BrokerFallback("log.cleaner.min.cleanable.ratio")),
        _topic("min.compaction.lag.ms", LONG, "0", AT_LEAST_0, "Minimum age at which a record may be compacted.", BrokerFallback("log.cleaner.min.compaction.lag.ms")),
        _topic("min.insync.replicas", INT, "1", AT_LEAST_1, "How many in-sync replicas an acks=all write needs to be accepted.", BrokerFallback("min.insync.replicas")),
        _topic("preallocate", BOOLEAN, "false", None, "Reserves the whole segment file on disk at creation time.", BrokerFallback("log.preallocate")),
        _topic("remote.log.copy.disable", BOOLEAN, "false", None, "Stops uploads to the remote tier while data already there stays readable."),
        _topic("remote.log.delete.on.disable", BOOLEAN, "false", None, "Deletes the topic's remote data when tiered storage is disabled."),
        _topic("remote.storage.enable", BOOLEAN, "false", None, "Enables tiered storage for this topic."),
        _topic("retention.bytes", LONG, "-1", None, "Maximum size of one partition; beyond it, the oldest segments are deleted.", BrokerFallback("log.retention.bytes")),
        _topic("retention.ms", LONG, "604800000", between(-1), "How long data is kept before its segment becomes deletable.", *RETENTION),
        _topic("segment.bytes", INT, "1073741824", between(1_048_576), "Size at which the active segment file is closed and the next one is opened.", BrokerFallback("log.segment.bytes")),
        _topic("segment.index.bytes", INT, "10485760", between(4), "Maximum size of the offset index file of a segment.", BrokerFallback("log.index.size.max.bytes")),
        _topic("segment.jitter.ms", LONG, "0", AT_LEAST_0, "Maximum random time that is subtracted from segment.ms, so that many segments do not roll at once.", *JITTER),
        _topic("segment.ms", LONG, "604800000", AT_LEAST_1, "Age at which a non-empty active segment is rolled even if it is not full.", *ROLL),
        _topic("unclean.leader.election.enable", BOOLEAN, "false", None, "Lets a replica outside the in-sync set become leader, at the risk of losing records.", BrokerFallback("unclean.leader.election.enable")),
    )
)

# Keys that exist only in releases before the base release.
TOPIC_REMOVED: ConfigDef = config_def(
    (
        _topic("message.downconversion.enable", BOOLEAN, "true", None, "Allows rewriting batches into older formats for old consumers.", BrokerFallback("log.message.downconversion.enable"), importance=LOW, legacy=True),
        _topic("message.format.version", STRING, "3.0-IV1", METADATA_VERSION, "Old setting for the on-disk record format; still parsed but ignored.", BrokerFallback("log.message.format.version"), legacy=True),
        _topic("message.timestamp.difference.max.ms", LONG, LONG_MAX, AT_LEAST_0, "Older limit on the difference between a record's timestamp and the broker's clock, in both directions.", BrokerFallback("log.message.timestamp.difference.max.ms"), legacy=True),
    )
)
