"""Broker keys of the remote tier."""

from __future__ import annotations

from kconf.configdef.define import (
    BOOLEAN,
    CLUSTER_WIDE,
    DOUBLE,
    INT,
    LONG,
    LONG_MAX,
    LOW,
    MEDIUM,
    READ_ONLY,
    STRING,
    broker,
)
from kconf.configdef.key import ConfigKey
from kconf.configdef.validators import AT_LEAST_0, AT_LEAST_1, NON_EMPTY_STRING, between

# fmt: off
KEYS: tuple[ConfigKey, ...] = (
    broker("remote.fetch.max.wait.ms", INT, "500", AT_LEAST_1, MEDIUM, CLUSTER_WIDE, "How long a fetch may wait for data from the remote tier."),
    broker("remote.list.offsets.request.timeout.ms", LONG, "30000", AT_LEAST_1, MEDIUM, CLUSTER_WIDE, "How long an offset lookup may wait for the remote tier."),
    broker("remote.log.index.file.cache.total.size.bytes", LONG, "1073741824", AT_LEAST_1, LOW, CLUSTER_WIDE, "Maximum disk space for cached index files of remote segments."),
    broker("remote.log.index.file.cache.ttl.ms", LONG, "900000", between(-1), LOW, READ_ONLY, "How long an unused remote index stays in the local cache.", internal=True),
    broker("remote.log.manager.copier.thread.pool.size", INT, "10", AT_LEAST_1, MEDIUM, CLUSTER_WIDE, "Threads that upload segments to the remote tier."),
    broker("remote.log.manager.copy.max.bytes.per.second", LONG, LONG_MAX, AT_LEAST_1, MEDIUM, CLUSTER_WIDE, "Maximum upload rate of the broker to the remote tier."),
    broker("remote.log.manager.copy.quota.window.num", INT, "11", AT_LEAST_1, MEDIUM, READ_ONLY, "Samples kept for measuring the upload rate to the remote tier."),
    broker("remote.log.manager.copy.quota.window.size.seconds", INT, "1", AT_LEAST_1, MEDIUM, READ_ONLY, "Length of one sample of the upload rate, in seconds."),
    broker("remote.log.manager.expiration.thread.pool.size", INT, "10", AT_LEAST_1, MEDIUM, CLUSTER_WIDE, "Threads that delete expired segments from the remote tier."),
    broker("remote.log.manager.fetch.max.bytes.per.second", LONG, LONG_MAX, AT_LEAST_1, MEDIUM, CLUSTER_WIDE, "Maximum read rate of the broker from the remote tier."),
    broker("remote.log.manager.fetch.quota.window.num", INT, "11", AT_LEAST_1, MEDIUM, READ_ONLY, "Samples kept for measuring the read rate from the remote tier."),
    broker("remote.log.manager.fetch.quota.window.size.seconds", INT, "1", AT_LEAST_1, MEDIUM, READ_ONLY, "Length of one sample of the remote read rate, in seconds."),
    broker("remote.log.manager.follower.thread.pool.size", INT, "2", AT_LEAST_1, MEDIUM, CLUSTER_WIDE, "Threads for remote-log work on follower partitions."),
    broker("remote.log.manager.task.interval.ms", LONG, "30000", AT_LEAST_1, LOW, READ_ONLY, "How often the upload, expiration and follower tasks of tiered partitions run."),
    broker("remote.log.manager.task.retry.backoff.max.ms", LONG, "30000", AT_LEAST_1, LOW, READ_ONLY, "Maximum of the increasing pause after failed remote-log tasks.", internal=True),
    broker("remote.log.manager.task.retry.backoff.ms", LONG, "500", AT_LEAST_1, LOW, READ_ONLY, "First pause after a failed remote-log task.", internal=True),
    broker("remote.log.manager.task.retry.jitter", DOUBLE, "0.2", between(0, 0.5), LOW, READ_ONLY, "Random variation of the pauses after failed remote-log tasks.", internal=True),
    broker("remote.log.manager.thread.pool.size", INT, "2", AT_LEAST_1, MEDIUM, READ_ONLY, "Deprecated; use remote.log.manager.follower.thread.pool.size."),
    broker("remote.log.metadata.custom.metadata.max.bytes", INT, "128", AT_LEAST_0, LOW, READ_ONLY, "Maximum bytes of its own metadata that a remote storage plug-in may attach to a segment."),
    broker("remote.log.metadata.manager.class.name", STRING, "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager", NON_EMPTY_STRING, MEDIUM, READ_ONLY, "Plug-in that stores the metadata of remote segments."),
    broker("remote.log.metadata.manager.class.path", STRING, None, None, MEDIUM, READ_ONLY, "Extra class path from which the remote metadata plug-in is loaded."),
    broker("remote.log.metadata.manager.impl.prefix", STRING, "rlmm.config.", NON_EMPTY_STRING, MEDIUM, READ_ONLY, "Prefix of the properties that are passed on to the remote metadata plug-in."),
    broker("remote.log.metadata.manager.listener.name", STRING, None, NON_EMPTY_STRING, MEDIUM, READ_ONLY, "Listener through which the remote metadata plug-in reaches this cluster."),
    broker("remote.log.reader.max.pending.tasks", INT, "100", AT_LEAST_1, MEDIUM, READ_ONLY, "Remote reads that may be queued before further ones are rejected."),
    broker("remote.log.reader.threads", INT, "10", AT_LEAST_1, MEDIUM, CLUSTER_WIDE, "Threads that read from the remote tier on behalf of fetches."),
    broker("remote.log.storage.manager.class.name", STRING, None, NON_EMPTY_STRING, MEDIUM, READ_ONLY, "Plug-in that stores and reads segments in the remote tier."),
    broker("remote.log.storage.manager.class.path", STRING, None, None, MEDIUM, READ_ONLY, "Extra class path from which the remote storage plug-in is loaded."),
    broker("remote.log.storage.manager.impl.prefix", STRING, "rsm.config.", NON_EMPTY_STRING, MEDIUM, READ_ONLY, "Prefix of the properties that are passed on to the remote storage plug-in."),
    broker("remote.log.storage.system.enable", BOOLEAN, "false", None, MEDIUM, READ_ONLY, "Starts the tiered-storage services, without which no topic can be tiered."),
)
