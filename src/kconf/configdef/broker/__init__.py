"""What may be set at a broker: the tables of this package, merged."""

from __future__ import annotations

from kconf.configdef.broker import cluster, group, kafka_39, log, metrics, network, remote, replication, security
from kconf.configdef.define import config_def
from kconf.configdef.key import ConfigDef

BROKER: ConfigDef = config_def(
    cluster.KEYS,
    group.KEYS,
    log.KEYS,
    metrics.KEYS,
    network.KEYS,
    remote.KEYS,
    replication.KEYS,
    security.KEYS,
)

# Keys that Kafka knew up to 3.9, in addition.
BROKER_39: ConfigDef = config_def(kafka_39.KEYS)
