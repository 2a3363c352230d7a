"""Keys that a gateway learns from its cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from kconf.configdef import learned
from kconf.configdef.key import ConfigKey
from kconf.configdef.learned import learn_keys, learned_key
from kconf.model.entry import ValueType
from kconf.model.resource import ResourceType

KEYS = {"vendor.key": ConfigKey(name="vendor.key", type=ValueType.STRING, default=None)}


def test_a_key_stays_known_while_keys_are_learned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread may look up a key at that moment. The value of an unknown key would be redacted in the journal."""
    monkeypatch.setattr(learned, "_learned", {})
    known: list[bool] = []

    class Watching(dict[ResourceType, Mapping[str, ConfigKey]]):
        def __iter__(self) -> Iterator[ResourceType]:
            known.append(learned_key(ResourceType.TOPIC, "vendor.key") is not None)
            return super().__iter__()

        def keys(self) -> Iterator[ResourceType]:  # type: ignore[override]
            return iter(self)

    learn_keys({ResourceType.TOPIC: KEYS})
    learn_keys(Watching({ResourceType.TOPIC: KEYS}))

    assert known
    assert all(known)
    assert learned_key(ResourceType.BROKER, "vendor.key") is None
