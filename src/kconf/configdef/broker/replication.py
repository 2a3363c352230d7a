"""Broker keys of replication: fetching, leadership, in-sync replicas, throttles."""

from __future__ import annotations

from kconf.configdef.define import (
    BOOLEAN,
    CLUSTER_WIDE,
    HIGH,
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
from kconf.configdef.validators import AT_LEAST_0, AT_LEAST_1, between

# fmt: off
KEYS: tuple[ConfigKey, ...] = (
    broker("alter.log.dirs.replication.quota.window.num", INT, "11", AT_LEAST_1, LOW, READ_ONLY, "Samples kept for measuring the rate of moves between log directories."),
    broker("alter.log.dirs.replication.quota.window.size.seconds", INT, "1", AT_LEAST_1, LOW, READ_ONLY, "Length of one sample of moves between log directories, in seconds."),
    broker("auto.leader.rebalance.enable", BOOLEAN, "true", None, HIGH, READ_ONLY, "Periodically moves leadership back to preferred replicas."),
    broker("default.replication.factor", INT, "1", None, MEDIUM, READ_ONLY, "Default replication factor of a new topic."),
    broker("delete.records.purgatory.purge.interval.requests", INT, "1", None, MEDIUM, READ_ONLY, "Completed DeleteRecords requests that may accumulate in the purgatory before it is purged."),
    broker("fetch.max.bytes", INT, "57671680", between(1024), MEDIUM, READ_ONLY, "Upper limit on the bytes of a fetch response, regardless of the request."),
    broker("fetch.purgatory.purge.interval.requests", INT, "1000", None, MEDIUM, READ_ONLY, "Completed fetches that may accumulate in the purgatory before it is purged."),
    broker("follower.fetch.last.tiered.offset.enable", BOOLEAN, "false", None, MEDIUM, CLUSTER_WIDE, "New followers start at the last tiered offset instead of copying the whole local log."),
    broker("follower.replication.throttled.rate", LONG, LONG_MAX, AT_LEAST_0, MEDIUM, CLUSTER_WIDE, "Bytes per second a broker may receive for throttled follower replicas.", dynamic_only=True),
    broker("leader.imbalance.check.interval.seconds", LONG, "300", AT_LEAST_1, HIGH, READ_ONLY, "How often the controller looks for partitions not led by their preferred replica."),
    broker("leader.replication.throttled.rate", LONG, LONG_MAX, AT_LEAST_0, MEDIUM, CLUSTER_WIDE, "Bytes per second a broker may send for throttled leader replicas.", dynamic_only=True),
    broker("min.insync.replicas", INT, "1", AT_LEAST_1, HIGH, CLUSTER_WIDE, "Cluster default for the number of in-sync replicas that an acks=all write needs."),
    broker("num.replica.alter.log.dirs.threads", INT, None, None, HIGH, READ_ONLY, "Threads that move replicas between log directories; unset means one per directory."),
    broker("num.replica.fetchers", INT, "1", AT_LEAST_1, HIGH, CLUSTER_WIDE, "Fetcher threads per source broker used for replication."),
    broker("producer.purgatory.purge.interval.requests", INT, "1000", None, MEDIUM, READ_ONLY, "Completed produce requests that may accumulate in the purgatory before it is purged."),
    broker("replica.alter.log.dirs.io.max.bytes.per.second", LONG, LONG_MAX, AT_LEAST_0, MEDIUM, CLUSTER_WIDE, "Bytes per second for moving replicas between a broker's own log directories.", dynamic_only=True),
    broker("replica.fetch.backoff.ms", INT, "1000", AT_LEAST_0, MEDIUM, READ_ONLY, "Pause of a replica fetcher after an error on a partition."),
    broker("replica.fetch.max.bytes", INT, "1048576", AT_LEAST_0, MEDIUM, READ_ONLY, "Bytes a follower asks for per partition; a larger first batch is still sent completely."),
    broker("replica.fetch.min.bytes", INT, "1", None, HIGH, READ_ONLY, "Minimum bytes a leader should have before it responds to a follower's fetch."),
    broker("replica.fetch.response.max.bytes", INT, "10485760", AT_LEAST_0, MEDIUM, READ_ONLY, "Bytes a follower requests per fetch response, over all partitions."),
    broker("replica.fetch.wait.max.ms", INT, "500", None, HIGH, READ_ONLY, "How long a follower's fetch may wait for data at the leader."),
    broker("replica.high.watermark.checkpoint.interval.ms", LONG, "5000", None, HIGH, READ_ONLY, "How often the high watermarks are written to disk."),
    broker("replica.lag.time.max.ms", LONG, "30000", None, HIGH, READ_ONLY, "How long a follower may be behind before it is removed from the in-sync replicas."),
    broker("replica.selector.class", STRING, None, None, MEDIUM, READ_ONLY, "Plug-in that picks the replica a consumer reads from; unset means the leader."),
    broker("replica.socket.receive.buffer.bytes", INT, "65536", None, HIGH, READ_ONLY, "Receive buffer of the sockets that replicate from leaders."),
    broker("replica.socket.timeout.ms", INT, "30000", None, HIGH, READ_ONLY, "Timeout of replication requests to a leader."),
    broker("replication.quota.window.num", INT, "11", AT_LEAST_1, LOW, READ_ONLY, "Samples kept for measuring throttled replication."),
    broker("replication.quota.window.size.seconds", INT, "1", AT_LEAST_1, LOW, READ_ONLY, "Length of one sample of throttled replication, in seconds."),
    broker("unclean.leader.election.enable", BOOLEAN, "false", None, HIGH, CLUSTER_WIDE, "Cluster default for allowing leaders from outside the in-sync set."),
    broker("unclean.leader.election.interval.ms", LONG, "300000", AT_LEAST_1, MEDIUM, READ_ONLY, "How often the controller tries unclean elections for partitions without a leader.", internal=True),
)
