"""All keys of one release together: what the engine is told may be set."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kconf.keys.key import Keys


@dataclass(frozen=True)
class Catalogue:
    """The keys of topics, brokers, groups and client-metrics subscriptions."""

    topic: Keys
    broker: Keys
    group: Keys
    client_metrics: Keys

    @cached_property
    def broker_defaults(self) -> dict[str, str]:
        """The built-in level of the ladder; a key without a default is not in it."""
        return {
            name: key.default for name, key in self.broker.items() if key.default is not None and not key.dynamic_only
        }


def kafka_43() -> Catalogue:
    """The catalogue of Kafka 4.3."""
    from kconf.keys.broker import BROKER
    from kconf.keys.client_metrics import CLIENT_METRICS
    from kconf.keys.group import GROUP
    from kconf.keys.topic import TOPIC

    return Catalogue(TOPIC, BROKER, GROUP, CLIENT_METRICS)
