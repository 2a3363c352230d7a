"""Which values are hidden."""

from __future__ import annotations

import pytest

from kconf.configdef.sensitive import is_sensitive_key, looks_sensitive
from kconf.model.resource import ResourceType


@pytest.mark.parametrize("name", ["ssl.key.password", "SCRAM-SHA-256", "sasl.jaas.config", "my.api.key"])
def test_a_name_that_suggests_a_secret_is_sensitive_everywhere(name: str) -> None:
    assert looks_sensitive(name)
    assert all(is_sensitive_key(kind, name) for kind in (*ResourceType, None))


@pytest.mark.parametrize(
    ("kind", "name", "sensitive"),
    [
        (ResourceType.BROKER, "nobody.knows.this", True),
        (ResourceType.BROKER, "listener.name.sasl.nobody.knows.this", True),
        (ResourceType.BROKER, "log.retention.ms", False),
        (ResourceType.TOPIC, "nobody.knows.this", False),
        (None, "producer_byte_rate", False),
    ],
)
def test_a_broker_key_that_is_unknown_is_sensitive(kind: ResourceType | None, name: str, sensitive: bool) -> None:
    assert is_sensitive_key(kind, name) is sensitive
