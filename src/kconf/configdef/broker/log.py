"""Broker keys of the log: retention, rolling, flushing, compaction, compression and the directories.

Most are the default of a topic key with a similar name; see the fallbacks in `topic.py`.
"""

from __future__ import annotations

from typing import Final

from kconf.configdef.define import (
    BOOLEAN,
    CLUSTER_WIDE,
    DOUBLE,
    HIGH,
    HOURS,
    INT,
    LIST,
    LONG,
    LONG_MAX,
    LOW,
    MEDIUM,
    MINUTES,
    PER_BROKER,
    READ_ONLY,
    STRING,
    broker,
)
from kconf.configdef.key import BrokerFallback, ConfigKey
from kconf.configdef.validators import (
    ANY_LIST,
    AT_LEAST_0,
    AT_LEAST_1,
    CLEANUP_POLICY,
    CODEC,
    FILLED_LIST,
    GZIP_LEVEL,
    LZ4_LEVEL,
    TIMESTAMP_TYPE,
    ZSTD_LEVEL,
    between,
)

FLUSH: Final = (BrokerFallback("log.flush.interval.ms"), BrokerFallback("log.flush.scheduler.interval.ms"))
JITTER: Final = (BrokerFallback("log.roll.jitter.ms"), BrokerFallback("log.roll.jitter.hours", HOURS))
RETENTION: Final = (
    BrokerFallback("log.retention.ms"),
    BrokerFallback("log.retention.minutes", MINUTES),
    BrokerFallback("log.retention.hours", HOURS),
)
ROLL: Final = (BrokerFallback("log.roll.ms"), BrokerFallback("log.roll.hours", HOURS))

# fmt: off
KEYS: tuple[ConfigKey, ...] = (
    broker("compression.gzip.level", INT, "-1", GZIP_LEVEL, MEDIUM, CLUSTER_WIDE, "Cluster default for the broker's gzip compression level."),
    broker("compression.lz4.level", INT, "9", LZ4_LEVEL, MEDIUM, CLUSTER_WIDE, "Cluster default for the broker's lz4 compression level."),
    broker("compression.type", STRING, "producer", CODEC, HIGH, CLUSTER_WIDE, "Cluster default for the codec of stored batches."),
    broker("compression.zstd.level", INT, "3", ZSTD_LEVEL, MEDIUM, CLUSTER_WIDE, "Cluster default for the broker's zstd compression level."),
    broker("cordoned.log.dirs", LIST, "", ANY_LIST, MEDIUM, PER_BROKER, "Log directories that get no new replicas; * means all."),
    broker("log.cleaner.backoff.ms", LONG, "15000", AT_LEAST_0, MEDIUM, CLUSTER_WIDE, "Pause of an idle cleaner thread before it looks for work again."),
    broker("log.cleaner.dedupe.buffer.size", LONG, "134217728", None, MEDIUM, CLUSTER_WIDE, "Memory all cleaner threads share for their key-to-offset maps."),
    broker("log.cleaner.delete.retention.ms", LONG, "86400000", AT_LEAST_0, MEDIUM, CLUSTER_WIDE, "Cluster default for how long tombstones remain in compacted logs."),
    broker("log.cleaner.enable", BOOLEAN, "true", None, MEDIUM, READ_ONLY, "Runs the log cleaner; without it, compacted topics only grow."),
    broker("log.cleaner.io.buffer.load.factor", DOUBLE, "0.9", None, MEDIUM, CLUSTER_WIDE, "Maximum load factor of a cleaner's key map."),
    broker("log.cleaner.io.buffer.size", INT, "524288", AT_LEAST_0, MEDIUM, CLUSTER_WIDE, "Memory all cleaner threads share for read and write buffers."),
    broker("log.cleaner.io.max.bytes.per.second", DOUBLE, "1.7976931348623157E308", None, MEDIUM, CLUSTER_WIDE, "Maximum total read and write rate of the cleaner."),
    broker("log.cleaner.max.compaction.lag.ms", LONG, LONG_MAX, AT_LEAST_1, MEDIUM, CLUSTER_WIDE, "Cluster default for the maximum time before a record becomes eligible for compaction."),
    broker("log.cleaner.min.cleanable.ratio", DOUBLE, "0.5", between(0, 1), MEDIUM, CLUSTER_WIDE, "Cluster default for the minimum share of uncompacted bytes before a log is cleaned."),
    broker("log.cleaner.min.compaction.lag.ms", LONG, "0", AT_LEAST_0, MEDIUM, CLUSTER_WIDE, "Cluster default for the minimum age at which records may be compacted."),
    broker("log.cleaner.threads", INT, "1", AT_LEAST_0, MEDIUM, CLUSTER_WIDE, "Number of threads that compact logs."),
    broker("log.cleanup.policy", LIST, "delete", CLEANUP_POLICY, MEDIUM, CLUSTER_WIDE, "Cluster default for what happens to old data: delete, compact or both."),
    broker("log.dir", LIST, "/tmp/kafka-logs", FILLED_LIST, HIGH, READ_ONLY, "The data directory, used if log.dirs is not set."),
    broker("log.dir.failure.timeout.ms", LONG, "30000", AT_LEAST_1, LOW, READ_ONLY, "How long a broker tries to report a failed log directory to the controller before it stops."),
    broker("log.dirs", LIST, None, FILLED_LIST, HIGH, READ_ONLY, "Directories that hold the partitions; unset means log.dir."),
    broker("log.flush.interval.messages", LONG, LONG_MAX, AT_LEAST_1, HIGH, CLUSTER_WIDE, "Cluster default for the number of records between forced fsyncs."),
    broker("log.flush.interval.ms", LONG, None, None, HIGH, CLUSTER_WIDE, "Cluster default for the maximum wait before a forced fsync.", fallbacks=FLUSH),
    broker("log.flush.offset.checkpoint.interval.ms", INT, "60000", AT_LEAST_0, HIGH, READ_ONLY, "How often the recovery points of all logs are written to disk."),
    broker("log.flush.scheduler.interval.ms", LONG, LONG_MAX, None, HIGH, READ_ONLY, "How often the flusher looks for logs that are due for an fsync."),
    broker("log.flush.start.offset.checkpoint.interval.ms", INT, "60000", AT_LEAST_0, HIGH, READ_ONLY, "How often the start offsets of all logs are written to disk."),
    broker("log.index.interval.bytes", INT, "4096", AT_LEAST_0, MEDIUM, CLUSTER_WIDE, "Cluster default for about how many log bytes separate two index entries."),
    broker("log.index.size.max.bytes", INT, "10485760", between(4), MEDIUM, CLUSTER_WIDE, "Cluster default for the maximum size of offset index files."),
    broker("log.initial.task.delay.ms", LONG, "30000", AT_LEAST_0, LOW, READ_ONLY, "Wait after start before the periodic log tasks run for the first time.", internal=True),
    broker("log.local.retention.bytes", LONG, "-2", between(-2), MEDIUM, CLUSTER_WIDE, "Cluster default for local size retention of tiered topics."),
    broker("log.local.retention.ms", LONG, "-2", between(-2), MEDIUM, CLUSTER_WIDE, "Cluster default for local time retention of tiered topics."),
    broker("log.message.timestamp.after.max.ms", LONG, "3600000", AT_LEAST_0, MEDIUM, CLUSTER_WIDE, "Cluster default for how far in the future record timestamps may be."),
    broker("log.message.timestamp.before.max.ms", LONG, LONG_MAX, AT_LEAST_0, MEDIUM, CLUSTER_WIDE, "Cluster default for how old record timestamps may be."),
    broker("log.message.timestamp.type", STRING, "CreateTime", TIMESTAMP_TYPE, MEDIUM, CLUSTER_WIDE, "Cluster default for the timestamp type of stored records: CreateTime or LogAppendTime."),
    broker("log.preallocate", BOOLEAN, "false", None, MEDIUM, CLUSTER_WIDE, "Cluster default for creating segment files at their full size."),
    broker("log.retention.bytes", LONG, "-1", None, HIGH, CLUSTER_WIDE, "Cluster default for the maximum size of a partition."),
    broker("log.retention.check.interval.ms", LONG, "300000", AT_LEAST_1, MEDIUM, READ_ONLY, "How often the broker checks for segments to delete by retention."),
    broker("log.retention.hours", INT, "168", None, HIGH, READ_ONLY, "How long data is kept, in hours; the settings in minutes and ms take precedence.", fallbacks=RETENTION),
    broker("log.retention.minutes", INT, None, None, HIGH, READ_ONLY, "How long data is kept, in minutes; log.retention.ms takes precedence.", fallbacks=RETENTION),
    broker("log.retention.ms", LONG, None, None, HIGH, CLUSTER_WIDE, "Cluster default, in ms, for how long data is kept.", fallbacks=RETENTION),
    broker("log.roll.hours", INT, "168", AT_LEAST_1, HIGH, READ_ONLY, "Age at which segments roll, in hours; log.roll.ms takes precedence.", fallbacks=ROLL),
    broker("log.roll.jitter.hours", INT, "0", AT_LEAST_0, HIGH, READ_ONLY, "Random spread of segment rolls, in hours; log.roll.jitter.ms takes precedence.", fallbacks=JITTER),
    broker("log.roll.jitter.ms", LONG, None, None, HIGH, CLUSTER_WIDE, "Cluster default, in ms, for the random spread of segment rolls.", fallbacks=JITTER),
    broker("log.roll.ms", LONG, None, None, HIGH, CLUSTER_WIDE, "Cluster default, in ms, for the age at which segments roll.", fallbacks=ROLL),
    broker("log.segment.bytes", INT, "1073741824", between(1_048_576), HIGH, CLUSTER_WIDE, "Cluster default for a topic's segment.bytes."),
    broker("log.segment.delete.delay.ms", LONG, "60000", AT_LEAST_0, HIGH, CLUSTER_WIDE, "Cluster default for the delay before the files of removed segments are deleted."),
    broker("message.max.bytes", INT, "1048588", AT_LEAST_0, HIGH, CLUSTER_WIDE, "Cluster default for the largest batch a topic accepts."),
    broker("num.recovery.threads.per.data.dir", INT, "2", AT_LEAST_1, HIGH, CLUSTER_WIDE, "Threads per data directory for loading logs at start and flushing at stop."),
    broker("producer.id.expiration.check.interval.ms", INT, "600000", AT_LEAST_1, LOW, READ_ONLY, "How often the broker checks for expired producer IDs.", internal=True),
    broker("producer.id.expiration.ms", INT, "86400000", AT_LEAST_1, LOW, CLUSTER_WIDE, "Idle time after which an idempotent producer's state is removed."),
)
