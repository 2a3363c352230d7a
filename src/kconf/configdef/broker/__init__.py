"""All broker keys: the tables of this package, merged."""

from __future__ import annotations

from kconf.configdef.broker import cluster, group, log, metrics, network, remote, removed, replication, security
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

# Keys that exist only in releases before the base release.
BROKER_REMOVED: ConfigDef = config_def(removed.KEYS)
