"""What may be set at a broker: the tables of `broker_*.py`, merged."""

from __future__ import annotations

from kconf.keys import (
    broker_39,
    broker_cluster,
    broker_group,
    broker_log,
    broker_metrics,
    broker_network,
    broker_remote,
    broker_replication,
    broker_security,
)
from kconf.keys.key import Keys
from kconf.keys.shorthand import by_name

BROKER: Keys = by_name(
    broker_cluster.KEYS,
    broker_group.KEYS,
    broker_log.KEYS,
    broker_metrics.KEYS,
    broker_network.KEYS,
    broker_remote.KEYS,
    broker_replication.KEYS,
    broker_security.KEYS,
)

# Keys that Kafka knew up to 3.9, in addition.
BROKER_39: Keys = by_name(broker_39.KEYS)
