"""What Kafka 3.9 takes for keys, told as the difference from 4.3: for ensembles that real brokers share.

A value that only a later release knows is never written where a 3.9 broker reads it: it might not start again.
tests/conformance/test_zookeeper_beside.py holds it to a real 3.9.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from kconf.configdef.broker import BROKER, BROKER_39
from kconf.configdef.define import PER_BROKER, READ_ONLY, SHORT, STRING, UNLIMITED, config_def
from kconf.configdef.group import GROUP
from kconf.configdef.key import ConfigDef
from kconf.configdef.topic import TOPIC, TOPIC_39
from kconf.configdef.validators import between

_NOT_IN_39: Final = frozenset(
    [
        "add.partitions.to.txn.retry.backoff.max.ms",
        "add.partitions.to.txn.retry.backoff.ms",
        "config.providers",
        "controller.quorum.auto.join.enable",
        "controller.quorum.fetch.max.bytes",
        "controller.quorum.fetch.snapshot.max.bytes",
        "cordoned.log.dirs",
        "follower.fetch.last.tiered.offset.enable",
        "group.consumer.assignment.interval.ms",
        "group.consumer.max.assignment.interval.ms",
        "group.consumer.migration.policy",
        "group.consumer.min.assignment.interval.ms",
        "group.coordinator.background.threads",
        "group.coordinator.cached.buffer.max.bytes",
        "group.share.assignment.interval.ms",
        "group.share.assignors",
        "group.share.max.assignment.interval.ms",
        "group.share.max.delivery.count.limit",
        "group.share.max.partition.max.record.locks",
        "group.share.max.share.sessions",
        "group.share.min.assignment.interval.ms",
        "group.share.min.delivery.count.limit",
        "group.share.min.partition.max.record.locks",
        "group.streams.assignment.interval.ms",
        "group.streams.heartbeat.interval.ms",
        "group.streams.initial.rebalance.delay.ms",
        "group.streams.max.assignment.interval.ms",
        "group.streams.max.heartbeat.interval.ms",
        "group.streams.max.session.timeout.ms",
        "group.streams.max.size",
        "group.streams.max.standby.replicas",
        "group.streams.min.assignment.interval.ms",
        "group.streams.min.heartbeat.interval.ms",
        "group.streams.min.session.timeout.ms",
        "group.streams.num.standby.replicas",
        "group.streams.session.timeout.ms",
        "remote.list.offsets.request.timeout.ms",
        "remote.log.manager.follower.thread.pool.size",
        "sasl.oauthbearer.assertion.algorithm",
        "sasl.oauthbearer.assertion.claim.aud",
        "sasl.oauthbearer.assertion.claim.exp.seconds",
        "sasl.oauthbearer.assertion.claim.iss",
        "sasl.oauthbearer.assertion.claim.jti.include",
        "sasl.oauthbearer.assertion.claim.nbf.seconds",
        "sasl.oauthbearer.assertion.claim.sub",
        "sasl.oauthbearer.assertion.file",
        "sasl.oauthbearer.assertion.private.key.file",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.assertion.template.file",
        "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.jwt.retriever.class",
        "sasl.oauthbearer.jwt.validator.class",
        "sasl.oauthbearer.scope",
        "share.coordinator.append.linger.ms",
        "share.coordinator.cached.buffer.max.bytes",
        "share.coordinator.load.buffer.size",
        "share.coordinator.snapshot.update.records.per.snapshot",
        "share.coordinator.state.topic.compression.codec",
        "share.coordinator.state.topic.min.isr",
        "share.coordinator.state.topic.num.partitions",
        "share.coordinator.state.topic.replication.factor",
        "share.coordinator.state.topic.segment.bytes",
        "share.coordinator.threads",
        "share.coordinator.write.timeout.ms",
        "share.fetch.purgatory.purge.interval.requests",
        "transaction.two.phase.commit.enable",
        "internal.segment.bytes",
    ]
)
_ASSIGNORS: Final = "org.apache.kafka.coordinator.group.assignor"
_DIFFERENT_IN_39: Final[Mapping[str, Mapping[str, Any]]] = {
    "advertised.listeners": {"type": STRING, "mode": PER_BROKER},
    "controller.listener.names": {"type": STRING},
    "early.start.listeners": {"type": STRING},
    "group.consumer.assignors": {"default": f"{_ASSIGNORS}.UniformAssignor,{_ASSIGNORS}.RangeAssignor"},
    "group.coordinator.append.linger.ms": {"default": "10"},
    "group.coordinator.rebalance.protocols": {"default": "classic"},
    "group.coordinator.threads": {"default": "1"},
    "group.share.max.size": {"type": SHORT},
    "group.share.partition.max.record.locks": {"default": "200"},
    "listeners": {"type": STRING},
    "log.dir": {"type": STRING},
    "log.dirs": {"type": STRING},
    "log.message.timestamp.after.max.ms": {"default": UNLIMITED},
    "log.segment.bytes": {"validator": between(14)},
    "message.timestamp.after.max.ms": {"default": UNLIMITED},
    "metric.reporters": {"default": ""},
    "node.id": {"default": "-1", "required": False},
    "num.recovery.threads.per.data.dir": {"default": "1"},
    "process.roles": {"default": "", "required": False},
    "remote.log.manager.copier.thread.pool.size": {"default": "-1", "mode": READ_ONLY},
    "remote.log.manager.expiration.thread.pool.size": {"default": "-1", "mode": READ_ONLY},
    "remote.log.manager.thread.pool.size": {"default": "10"},
    "remote.log.reader.threads": {"mode": READ_ONLY},
    "sasl.oauthbearer.expected.audience": {"default": None},
    "segment.bytes": {"validator": between(14)},
}


def _as_of_39(keys: ConfigDef, legacy: ConfigDef) -> ConfigDef:
    kept = (key for key in keys.values() if key.name not in _NOT_IN_39)
    return config_def((replace(key, **_DIFFERENT_IN_39.get(key.name, {})) for key in kept), legacy.values())


KAFKA_39_BROKER: Final = _as_of_39(BROKER, BROKER_39)
KAFKA_39_TOPIC: Final = _as_of_39(TOPIC, TOPIC_39)
KAFKA_39_GROUP: Final[ConfigDef] = {
    name: key for name, key in GROUP.items() if all(each.name in KAFKA_39_BROKER for each in key.fallbacks)
}
