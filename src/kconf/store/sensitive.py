"""Which values are sensitive when a store itself writes the journal: for external changes and for copies."""

from __future__ import annotations

from kconf.configdef.dynamic import is_broker_secret
from kconf.configdef.topic import TOPIC
from kconf.model.resource import Resource, ResourceType


def is_sensitive(resource: Resource, key: str) -> bool:
    """Unknown keys of topics and brokers are sensitive, as in Kafka."""
    match resource.type:
        case ResourceType.SCRAM:
            return True
        case ResourceType.BROKER:
            return is_broker_secret(key)
        case ResourceType.TOPIC:
            return key not in TOPIC
    return False
