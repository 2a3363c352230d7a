"""The keys of a group.

The fallback is the broker key that supplies the value if the group has none. The values of the two `range_keys`, if
any, limit the allowed values.
"""

from __future__ import annotations

from kconf.configdef.define import BOOLEAN, INT, STRING, config_def
from kconf.configdef.key import BrokerFallback, ConfigDef, ConfigKey
from kconf.configdef.validators import AT_LEAST_0, AT_LEAST_1, STARTING_POINT, Validator, between, one_of
from kconf.model.entry import ValueType


def _group(
    name: str,
    type: ValueType,  # noqa: A002
    default: str,
    validator: Validator | None,
    about: str,
    *fallbacks: str,
    range_keys: tuple[str | None, str | None] = (None, None),
) -> ConfigKey:
    return ConfigKey(
        name=name,
        type=type,
        default=default,
        validator=validator,
        fallbacks=tuple(map(BrokerFallback, fallbacks)),
        range_keys=range_keys,
        about=about,
    )


# fmt: off
GROUP: ConfigDef = config_def(
    (
        _group("consumer.assignment.interval.ms", INT, "1000", AT_LEAST_0, "Minimum time between two assignments of this consumer group.", "group.consumer.assignment.interval.ms", range_keys=("group.consumer.min.assignment.interval.ms", "group.consumer.max.assignment.interval.ms")),
        _group("consumer.heartbeat.interval.ms", INT, "5000", AT_LEAST_1, "Heartbeat period of consumer-protocol members.", "group.consumer.heartbeat.interval.ms", range_keys=("group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms")),
        _group("consumer.session.timeout.ms", INT, "45000", AT_LEAST_1, "Time without heartbeat after which a consumer-protocol member is dropped.", "group.consumer.session.timeout.ms", range_keys=("group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms")),
        _group("share.assignment.interval.ms", INT, "1000", AT_LEAST_0, "Minimum time between two assignments of this share group.", "group.share.assignment.interval.ms", range_keys=("group.share.min.assignment.interval.ms", "group.share.max.assignment.interval.ms")),
        _group("share.auto.offset.reset", STRING, "latest", STARTING_POINT, "Where a share group starts on a partition it has no state for."),
        _group("share.delivery.count.limit", INT, "5", between(2), "Maximum number of attempts to deliver a record; after that, it is archived.", "group.share.delivery.count.limit", range_keys=("group.share.min.delivery.count.limit", "group.share.max.delivery.count.limit")),
        _group("share.heartbeat.interval.ms", INT, "5000", AT_LEAST_1, "Heartbeat period of share-group members.", "group.share.heartbeat.interval.ms", range_keys=("group.share.min.heartbeat.interval.ms", "group.share.max.heartbeat.interval.ms")),
        _group("share.isolation.level", STRING, "read_uncommitted", one_of("read_committed", "read_uncommitted"), "Whether a share group sees records of open or aborted transactions."),
        _group("share.partition.max.record.locks", INT, "2000", between(100), "Records of one partition that may be in flight at once.", "group.share.partition.max.record.locks", range_keys=("group.share.min.partition.max.record.locks", "group.share.max.partition.max.record.locks")),
        _group("share.record.lock.duration.ms", INT, "30000", between(1000), "How long a share consumer holds a record before it is delivered again.", "group.share.record.lock.duration.ms", range_keys=("group.share.min.record.lock.duration.ms", "group.share.max.record.lock.duration.ms")),
        _group("share.renew.acknowledge.enable", BOOLEAN, "true", None, "Lets share consumers renew the lock on a record."),
        _group("share.session.timeout.ms", INT, "45000", AT_LEAST_1, "Time without heartbeat after which a share-group member is dropped.", "group.share.session.timeout.ms", range_keys=("group.share.min.session.timeout.ms", "group.share.max.session.timeout.ms")),
        _group("streams.assignment.interval.ms", INT, "1000", AT_LEAST_0, "Minimum time between two task assignments of this streams group.", "group.streams.assignment.interval.ms", range_keys=("group.streams.min.assignment.interval.ms", "group.streams.max.assignment.interval.ms")),
        _group("streams.heartbeat.interval.ms", INT, "5000", AT_LEAST_1, "Heartbeat period of streams-group members.", "group.streams.heartbeat.interval.ms", range_keys=("group.streams.min.heartbeat.interval.ms", "group.streams.max.heartbeat.interval.ms")),
        _group("streams.initial.rebalance.delay.ms", INT, "3000", AT_LEAST_0, "How long a new streams group waits for members before its first assignment.", "group.streams.initial.rebalance.delay.ms"),
        _group("streams.num.standby.replicas", INT, "0", AT_LEAST_0, "Standby copies kept per task.", "group.streams.num.standby.replicas", range_keys=(None, "group.streams.max.standby.replicas")),
        _group("streams.session.timeout.ms", INT, "45000", AT_LEAST_1, "Time without heartbeat after which a streams member is dropped.", "group.streams.session.timeout.ms", range_keys=("group.streams.min.session.timeout.ms", "group.streams.max.session.timeout.ms")),
    )
)
