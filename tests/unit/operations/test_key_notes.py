"""Keys that kconf does not know in the release of a cluster: noted, never refused."""

from __future__ import annotations

import pytest

from kconf.configdef.releases.detect import ClusterRelease
from kconf.model.resource import ResourceType
from kconf.operations.key_notes import unknown_key_notes

TOPIC, BROKER = ResourceType.TOPIC, ResourceType.BROKER


def exactly(release: str) -> ClusterRelease:
    return ClusterRelease(release, release)


@pytest.mark.parametrize(
    ("release", "kind", "key", "note"),
    [
        (exactly("4.3"), TOPIC, "retention.ms", None),
        (exactly("4.3"), BROKER, "listener.name.sasl.ssl.keystore.location", None),
        (exactly("4.3"), ResourceType.QUOTA, "anything", None),
        (exactly("4.3"), ResourceType.BROKER_LOGGER, "anything", None),
        (exactly("4.3"), TOPIC, "no.such.key", "kconf does not know this key"),
        (exactly("4.3"), BROKER, "my.custom.key", "kconf does not know this key"),
        (exactly("4.3"), TOPIC, "remote.copy.lag.ms", "Kafka 4.3 does not have this key (since 4.4)"),
        (exactly("4.4"), TOPIC, "remote.copy.lag.ms", None),
        (exactly("4.0"), TOPIC, "message.format.version", "Kafka 4.0 does not have this key (up to 3.9)"),
        (exactly("3.9"), TOPIC, "message.format.version", None),
        (
            ClusterRelease("4.3", "4.3 or newer"),
            TOPIC,
            "message.format.version",
            "kconf knows this key from other releases (up to 3.9)",
        ),
    ],
)
def test_a_key_is_looked_up_in_the_release_of_the_cluster(
    release: ClusterRelease, kind: ResourceType, key: str, note: str | None
) -> None:
    assert unknown_key_notes(release, [(kind, key), (kind, key)]) == (
        [] if note is None else [f"{key}: {note}; the broker decides whether to accept it"]
    )
