"""A real broker and a kconf with the same server.properties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kconf.util.java_properties import read_properties
from lab.broker import KafkaBroker
from tests.conformance.differential.accepted import ACCEPTED, ACCEPTED_39
from tests.conformance.differential.duel import Duel, Score
from tests.conformance.differential.side import Side
from tests.support.process import KconfProcess

SETTINGS: Mapping[str, str] = {
    # aliases with and without the key itself, and other spellings
    "log.retention.hours": "24",
    "log.retention.minutes": "90",
    "log.roll.ms": "3600000",
    "log.roll.hours": "2",
    "log.roll.jitter.hours": "1",
    "log.flush.scheduler.interval.ms": "5000",
    "log.local.retention.ms": "4000000",
    "log.cleaner.delete.retention.ms": "007",
    "log.cleaner.min.cleanable.ratio": "0.50",
    "log.cleanup.policy": "compact , delete ",
    "log.message.timestamp.type": "LogAppendTime",
    "background.threads": "+8",
    "compression.lz4.level": "12 ",
    "compression.type": "lz4",
    "message.max.bytes": "2000000 ",
    "min.insync.replicas": "2",
    "num.io.threads": "4",
    "unclean.leader.election.enable": "TRUE",
    "group.consumer.session.timeout.ms": "50000",
    "group.share.record.lock.duration.ms": "20000",
    # keys that Kafka does not know, or only for topics
    "my.custom.key": "secret",
    "retention.ms": "5",
    "zookeeper.connect": "nowhere",
    "metrics.jmx.include": ".*",
    # listeners and passwords
    "listener.name.plaintext.max.connections": "100000",
    "listener.name.plaintext.ssl.keystore.password": "x",
    "listener.name.plaintext.plain.sasl.jaas.config": "a.Login required;",
    "listener.name.nowhere.ssl.truststore.type": "PEM",
    "ssl.keystore.password": "y",
    "ssl.truststore.password": "z",
    # settings that affect other responses
    "auto.create.topics.enable": "false",
    "broker.rack": "r1",
    "delete.topic.enable": "false",
    "max.request.partition.size.limit": "3",
    "num.partitions": "3",
}
"""A server.properties in which much is set, so that sources, synonyms and other defaults show."""


@contextmanager
def duel(
    properties: Mapping[str, str] | None = None,
    *,
    score: Score | None = None,
    version: str = "4.3.1",
    elr_version: int = 0,
) -> Iterator[Duel]:
    """Start both, empty; `properties` override the shared server.properties."""
    with KafkaBroker(version, properties=properties, elr_version=elr_version) as broker:
        shared = read_properties(broker.properties_path.read_text())
        with KconfProcess(
            properties=shared, node_id=broker.node_id, elr_version=0 if elr_version == 0 else None
        ) as process:
            sides = Side("kafka", broker.host, broker.port), Side("kconf", process.host, process.port)
            accepted = ACCEPTED if version.startswith("4.") else ACCEPTED_39
            pair = Duel(*sides, score or Score(), accepted, elr_version)
            try:
                yield pair
            finally:
                pair.close()
