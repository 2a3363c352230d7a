"""Broker keys of replication: fetching, leadership, in-sync replicas, throttles."""

from __future__ import annotations

from kconf.keys.checks import AT_LEAST_0, AT_LEAST_1, between
from kconf.keys.key import Key
from kconf.keys.shorthand import (
    BOOLEAN,
    CLUSTER_WIDE,
    HIGH,
    INT,
    LONG,
    LOW,
    MEDIUM,
    READ_ONLY,
    STRING,
    UNLIMITED,
    broker,
)

# fmt: off
KEYS: tuple[Key, ...] = (
    broker("alter.log.dirs.replication.quota.window.num", INT, "11", AT_LEAST_1, LOW, READ_ONLY, ""),
    broker("alter.log.dirs.replication.quota.window.size.seconds", INT, "1", AT_LEAST_1, LOW, READ_ONLY, ""),
    broker("auto.leader.rebalance.enable", BOOLEAN, "true", None, HIGH, READ_ONLY, ""),
    broker("default.replication.factor", INT, "1", None, MEDIUM, READ_ONLY, ""),
    broker("delete.records.purgatory.purge.interval.requests", INT, "1", None, MEDIUM, READ_ONLY, ""),
    broker("fetch.max.bytes", INT, "57671680", between(1024), MEDIUM, READ_ONLY, ""),
    broker("fetch.purgatory.purge.interval.requests", INT, "1000", None, MEDIUM, READ_ONLY, ""),
    broker("follower.fetch.last.tiered.offset.enable", BOOLEAN, "false", None, MEDIUM, CLUSTER_WIDE, "New followers start at the last tiered offset instead of copying the whole local log."),
    broker("follower.replication.throttled.rate", LONG, UNLIMITED, AT_LEAST_0, MEDIUM, CLUSTER_WIDE, "Bytes per second a broker may receive for throttled follower replicas."),
    broker("leader.imbalance.check.interval.seconds", LONG, "300", AT_LEAST_1, HIGH, READ_ONLY, ""),
    broker("leader.replication.throttled.rate", LONG, UNLIMITED, AT_LEAST_0, MEDIUM, CLUSTER_WIDE, "Bytes per second a broker may send for throttled leader replicas."),
    broker("min.insync.replicas", INT, "1", AT_LEAST_1, HIGH, CLUSTER_WIDE, "Cluster default for the in-sync count an acks=all write needs."),
    broker("num.replica.alter.log.dirs.threads", INT, None, None, HIGH, READ_ONLY, ""),
    broker("num.replica.fetchers", INT, "1", AT_LEAST_1, HIGH, CLUSTER_WIDE, "Fetcher threads per source broker used for replication."),
    broker("producer.purgatory.purge.interval.requests", INT, "1000", None, MEDIUM, READ_ONLY, ""),
    broker("replica.alter.log.dirs.io.max.bytes.per.second", LONG, UNLIMITED, AT_LEAST_0, MEDIUM, CLUSTER_WIDE, "Bytes per second for moving replicas between a broker's own log directories."),
    broker("replica.fetch.backoff.ms", INT, "1000", AT_LEAST_0, MEDIUM, READ_ONLY, ""),
    broker("replica.fetch.max.bytes", INT, "1048576", AT_LEAST_0, MEDIUM, READ_ONLY, ""),
    broker("replica.fetch.min.bytes", INT, "1", None, HIGH, READ_ONLY, ""),
    broker("replica.fetch.response.max.bytes", INT, "10485760", AT_LEAST_0, MEDIUM, READ_ONLY, ""),
    broker("replica.fetch.wait.max.ms", INT, "500", None, HIGH, READ_ONLY, ""),
    broker("replica.high.watermark.checkpoint.interval.ms", LONG, "5000", None, HIGH, READ_ONLY, ""),
    broker("replica.lag.time.max.ms", LONG, "30000", None, HIGH, READ_ONLY, ""),
    broker("replica.selector.class", STRING, None, None, MEDIUM, READ_ONLY, ""),
    broker("replica.socket.receive.buffer.bytes", INT, "65536", None, HIGH, READ_ONLY, ""),
    broker("replica.socket.timeout.ms", INT, "30000", None, HIGH, READ_ONLY, ""),
    broker("replication.quota.window.num", INT, "11", AT_LEAST_1, LOW, READ_ONLY, ""),
    broker("replication.quota.window.size.seconds", INT, "1", AT_LEAST_1, LOW, READ_ONLY, ""),
    broker("unclean.leader.election.enable", BOOLEAN, "false", None, HIGH, CLUSTER_WIDE, "Cluster default for allowing leaders from outside the in-sync set."),
    broker("unclean.leader.election.interval.ms", LONG, "300000", AT_LEAST_1, MEDIUM, READ_ONLY, "", internal=True),
)
