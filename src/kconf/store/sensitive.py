"""Decides which values are sensitive when a store writes the journal itself, for external changes and copies."""

from __future__ import annotations

from kconf.configdef.dynamic import is_broker_secret
from kconf.configdef.topic import TOPIC
from kconf.model.resource import Resource, ResourceType


def is_sensitive(resource: Resource, key: str) -> bool:
    """Whether a key is sensitive. Unknown keys of topics and brokers are, as in Kafka."""
    match resource.type:
        case ResourceType.SCRAM:
            return True
        case ResourceType.BROKER:
            return is_broker_secret(key)
        case ResourceType.TOPIC:
            return key not in TOPIC
    return False
