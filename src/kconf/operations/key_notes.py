"""Notes about keys that kconf does not know in the release of the cluster.

Such a key is never refused here, because a newer cluster may have keys that kconf does not know. The broker decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from kconf.model.resource import ResourceType

if TYPE_CHECKING:
    from kconf.configdef.releases.detect import ClusterRelease

_WITH_KEYS: Final = (ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP, ResourceType.CLIENT_METRICS)


def unknown_key_notes(release: ClusterRelease, keys: Iterable[tuple[ResourceType, str]]) -> list[str]:
    """One note per key that the catalog of the release does not have."""
    from kconf.configdef.releases.keys import key_in_release

    return [
        _note(release, kind, name)
        for kind, name in dict.fromkeys(keys)
        if kind in _WITH_KEYS and key_in_release(kind, name, release.catalog) is None
    ]


def _note(release: ClusterRelease, kind: ResourceType, name: str) -> str:
    from kconf.configdef.dynamic import base_name
    from kconf.configdef.releases.history import history_of

    known = history_of(kind, base_name(name) if kind is ResourceType.BROKER else name)
    if known is None:
        return f"{name}: kconf does not know this key; the broker decides whether to accept it"
    if not release.is_exact:
        return (
            f"{name}: kconf knows this key from other releases ({known.span}); the broker decides whether to accept it"
        )
    return (
        f"{name}: Kafka {release.text} does not have this key ({known.span}); the broker decides whether to accept it"
    )
