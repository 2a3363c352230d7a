"""Broker keys that Kafka removed before 4.3, as defined in the last release with the key: ZooKeeper mode, old formats.

`configdef/releases/` defines which release has which key. In a release without the key, the name is a custom key.
"""

from __future__ import annotations

from kconf.configdef.define import (
    BOOLEAN,
    CLUSTER_WIDE,
    HIGH,
    INT,
    LIST,
    LONG,
    LONG_MAX,
    LOW,
    MEDIUM,
    MOST,
    PASSWORD,
    READ_ONLY,
    SHORT,
    STRING,
    broker,
)
from kconf.configdef.key import ConfigKey
from kconf.configdef.validators import AT_LEAST_0, AT_LEAST_1, METADATA_VERSION, between

# fmt: off
KEYS: tuple[ConfigKey, ...] = (
    broker("alter.config.policy.kraft.compatibility.enable", BOOLEAN, "false", None, LOW, READ_ONLY, "Whether the alter policy receives the same configs in ZooKeeper mode as in KRaft mode.", legacy=True),
    broker("auto.include.jmx.reporter", BOOLEAN, "true", None, LOW, READ_ONLY, "Adds the JMX reporter even if metric.reporters does not list it.", legacy=True),
    broker("broker.id.generation.enable", BOOLEAN, "true", None, MEDIUM, READ_ONLY, "Lets ZooKeeper assign IDs to brokers without one.", legacy=True),
    broker("control.plane.listener.name", STRING, None, None, HIGH, READ_ONLY, "Listener reserved for requests of the ZooKeeper controller to brokers.", legacy=True),
    broker("controlled.shutdown.max.retries", INT, "3", None, MEDIUM, READ_ONLY, "Attempts of a controlled shutdown before the broker stops without one.", legacy=True),
    broker("controlled.shutdown.retry.backoff.ms", LONG, "5000", None, MEDIUM, READ_ONLY, "Pause between attempts of a controlled shutdown.", legacy=True),
    broker("delegation.token.master.key", PASSWORD, None, None, MEDIUM, READ_ONLY, "Old name of delegation.token.secret.key.", legacy=True),
    broker("eligible.leader.replicas.enable", BOOLEAN, "false", None, HIGH, READ_ONLY, "Enables eligible leader replicas: replicas outside the ISR that are still safe leaders.", legacy=True),
    broker("group.coordinator.new.enable", BOOLEAN, "true", None, MEDIUM, READ_ONLY, "Enables the new group coordinator.", internal=True, legacy=True),
    broker("group.share.enable", BOOLEAN, "false", None, MEDIUM, READ_ONLY, "Enabled share groups while they were in early access.", internal=True, legacy=True),
    broker("group.share.max.groups", SHORT, "10", between(1, 100), MEDIUM, READ_ONLY, "Maximum number of share groups in the cluster.", legacy=True),
    broker("inter.broker.protocol.version", STRING, "3.9-IV0", METADATA_VERSION, MEDIUM, READ_ONLY, "Protocol version between brokers in ZooKeeper mode; raised after an upgrade.", legacy=True),
    broker("internal.metadata.max.fetch.size.in.bytes", INT, "8388608", None, LOW, READ_ONLY, "Maximum bytes per read of the metadata log; for tests.", internal=True, legacy=True),
    broker("leader.imbalance.per.broker.percentage", INT, "10", None, HIGH, READ_ONLY, "Percentage of a broker's preferred partitions led by other brokers that triggers a leader rebalance.", legacy=True),
    broker("log.message.downconversion.enable", BOOLEAN, "true", None, LOW, CLUSTER_WIDE, "Cluster default for rewriting batches for old consumers.", legacy=True),
    broker("log.message.format.version", STRING, "3.0-IV1", METADATA_VERSION, MEDIUM, READ_ONLY, "Cluster default for the old record format setting; ignored.", legacy=True),
    broker("log.message.timestamp.difference.max.ms", LONG, LONG_MAX, AT_LEAST_0, MEDIUM, CLUSTER_WIDE, "Cluster default for the older limit on record timestamps.", legacy=True),
    broker("metadata.log.segment.min.bytes", INT, "8388608", between(12), HIGH, READ_ONLY, "Smallest allowed segment size of the metadata log; for tests.", internal=True, legacy=True),
    broker("offsets.commit.required.acks", SHORT, "-1", None, HIGH, READ_ONLY, "Acks an offset commit waits for.", legacy=True),
    broker("password.encoder.cipher.algorithm", STRING, "AES/CBC/PKCS5Padding", None, LOW, READ_ONLY, "Cipher that encrypts passwords stored in ZooKeeper.", legacy=True),
    broker("password.encoder.iterations", INT, "4096", between(1024), LOW, READ_ONLY, "Iterations that derive the key for passwords stored in ZooKeeper.", legacy=True),
    broker("password.encoder.key.length", INT, "128", between(8), LOW, READ_ONLY, "Key length, in bits, for passwords stored in ZooKeeper.", legacy=True),
    broker("password.encoder.keyfactory.algorithm", STRING, None, None, LOW, READ_ONLY, "Key derivation for passwords stored in ZooKeeper; unset means the best the JVM has.", legacy=True),
    broker("password.encoder.old.secret", PASSWORD, None, None, MEDIUM, READ_ONLY, "Previous encoder secret, needed once to re-encrypt after a change.", legacy=True),
    broker("password.encoder.secret", PASSWORD, None, None, MEDIUM, READ_ONLY, "Secret from which the key for passwords stored in ZooKeeper is derived.", legacy=True),
    broker("reserved.broker.max.id", INT, "1000", AT_LEAST_0, MEDIUM, READ_ONLY, "Highest configured id; ids that ZooKeeper generates are higher.", legacy=True),
    broker("share.fetch.max.fetch.records", INT, MOST, None, HIGH, READ_ONLY, "Maximum number of records in a share fetch.", internal=True, legacy=True),
    broker("zookeeper.clientCnxnSocket", STRING, None, None, MEDIUM, READ_ONLY, "Socket class of the ZooKeeper client; TLS needs the Netty one.", legacy=True),
    broker("zookeeper.connect", STRING, None, None, HIGH, READ_ONLY, "Addresses of ZooKeeper: host:port, separated by commas, with an optional path at the end.", legacy=True),
    broker("zookeeper.connection.timeout.ms", INT, None, None, HIGH, READ_ONLY, "How long connecting to ZooKeeper may take; unset means the session timeout.", legacy=True),
    broker("zookeeper.max.in.flight.requests", INT, "10", AT_LEAST_1, HIGH, READ_ONLY, "Maximum number of requests to ZooKeeper without a response.", legacy=True),
    broker("zookeeper.metadata.migration.enable", BOOLEAN, "false", None, HIGH, READ_ONLY, "Prepares the node for the migration of metadata from ZooKeeper to KRaft.", legacy=True),
    broker("zookeeper.metadata.migration.min.batch.size", INT, "200", AT_LEAST_1, MEDIUM, READ_ONLY, "Records per batch while metadata is migrated from ZooKeeper to KRaft.", internal=True, legacy=True),
    broker("zookeeper.session.timeout.ms", INT, "18000", None, HIGH, READ_ONLY, "Time without a heartbeat after which ZooKeeper ends the session.", legacy=True),
    broker("zookeeper.set.acl", BOOLEAN, "false", None, HIGH, READ_ONLY, "Sets ACLs on the nodes that the broker creates in ZooKeeper.", legacy=True),
    broker("zookeeper.ssl.cipher.suites", LIST, None, None, LOW, READ_ONLY, "Cipher suites of connections to ZooKeeper; if unset, the JVM's defaults.", legacy=True),
    broker("zookeeper.ssl.client.enable", BOOLEAN, "false", None, MEDIUM, READ_ONLY, "Uses TLS for connections to ZooKeeper.", legacy=True),
    broker("zookeeper.ssl.crl.enable", BOOLEAN, "false", None, LOW, READ_ONLY, "Checks ZooKeeper's certificate against revocation lists.", legacy=True),
    broker("zookeeper.ssl.enabled.protocols", LIST, None, None, LOW, READ_ONLY, "TLS versions allowed for connections to ZooKeeper; if unset, only zookeeper.ssl.protocol.", legacy=True),
    broker("zookeeper.ssl.endpoint.identification.algorithm", STRING, "HTTPS", None, LOW, READ_ONLY, "Host name check on ZooKeeper's certificate; empty turns it off.", legacy=True),
    broker("zookeeper.ssl.keystore.location", STRING, None, None, MEDIUM, READ_ONLY, "Key store with the broker's certificate for ZooKeeper.", legacy=True),
    broker("zookeeper.ssl.keystore.password", PASSWORD, None, None, MEDIUM, READ_ONLY, "Password of the key store for ZooKeeper.", legacy=True),
    broker("zookeeper.ssl.keystore.type", STRING, None, None, MEDIUM, READ_ONLY, "Type of the key store for ZooKeeper; if unset, derived from the file name.", legacy=True),
    broker("zookeeper.ssl.ocsp.enable", BOOLEAN, "false", None, LOW, READ_ONLY, "Checks ZooKeeper's certificate by OCSP.", legacy=True),
    broker("zookeeper.ssl.protocol", STRING, "TLSv1.2", None, LOW, READ_ONLY, "TLS version to negotiate with ZooKeeper.", legacy=True),
    broker("zookeeper.ssl.truststore.location", STRING, None, None, MEDIUM, READ_ONLY, "Trust store for ZooKeeper's certificate.", legacy=True),
    broker("zookeeper.ssl.truststore.password", PASSWORD, None, None, MEDIUM, READ_ONLY, "Password of the trust store for ZooKeeper.", legacy=True),
    broker("zookeeper.ssl.truststore.type", STRING, None, None, MEDIUM, READ_ONLY, "Type of the trust store for ZooKeeper; if unset, derived from the file name.", legacy=True),
)
