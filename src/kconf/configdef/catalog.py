"""All config keys of one Kafka release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property

from kconf.configdef.key import ConfigDef, UpdateMode
from kconf.model.resource import ResourceType


@dataclass(frozen=True)
class Catalog:
    """The keys of topics, brokers, groups and client-metrics subscriptions.

    `client_metrics_defaults`: whether DescribeConfigs also shows the keys of a subscription that are not set. If not,
    the release ignores which keys were requested, and sends empty documentation.
    """

    topic: ConfigDef
    broker: ConfigDef
    group: ConfigDef
    client_metrics: ConfigDef
    client_metrics_defaults: bool = True  # since 4.1

    @property
    def has_groups(self) -> bool:
        """Whether groups have configs: since 4.0."""
        return bool(self.group)

    def of(self, kind: ResourceType) -> ConfigDef:
        """The keys of a resource type."""
        match kind:
            case ResourceType.TOPIC:
                return self.topic
            case ResourceType.BROKER:
                return self.broker
            case ResourceType.GROUP:
                return self.group
            case ResourceType.CLIENT_METRICS:
                return self.client_metrics
            case _:
                return {}

    @cached_property
    def dynamic(self) -> frozenset[str]:
        """The dynamic broker keys."""
        return frozenset(name for name, key in self.broker.items() if key.mode is not UpdateMode.READ_ONLY)

    @cached_property
    def broker_defaults(self) -> dict[str, str]:
        """The built-in defaults of broker keys that have one."""
        return {
            name: key.default for name, key in self.broker.items() if key.default is not None and not key.dynamic_only
        }


def with_keys(base: Catalog, added: Mapping[ResourceType, ConfigDef]) -> Catalog:
    """A catalog with additional keys, or with other definitions of some keys."""

    def merged(kind: ResourceType) -> ConfigDef:
        more = added.get(kind)
        return base.of(kind) if not more else dict(sorted({**base.of(kind), **more}.items()))

    return replace(
        base,
        topic=merged(ResourceType.TOPIC),
        broker=merged(ResourceType.BROKER),
        group=merged(ResourceType.GROUP),
        client_metrics=merged(ResourceType.CLIENT_METRICS),
    )


@cache
def kafka_43() -> Catalog:
    """The catalog of Kafka 4.3, the base release. Other releases: `configdef/releases/catalogs.py`."""
    from kconf.configdef.broker import BROKER
    from kconf.configdef.client_metrics import CLIENT_METRICS
    from kconf.configdef.group import GROUP
    from kconf.configdef.topic import TOPIC

    return Catalog(TOPIC, BROKER, GROUP, CLIENT_METRICS)
