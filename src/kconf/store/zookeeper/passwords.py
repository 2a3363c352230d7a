"""Broker passwords on their way into a znode and back.

With `password.encoder.secret` they are written as Kafka writes them, so that a broker with the same secret reads them.
Without it no broker could read them anyway: then kconf's own lock keeps them from whoever sees one znode, though not
from who may read the whole ensemble, as the key to it is there too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kconf.configdef.broker import BROKER
from kconf.configdef.dynamic import base_name, is_broker_secret
from kconf.model.resource import Overrides, Resource, ResourceType
from kconf.security.password_encoder import PasswordEncoder, UndecodablePassword
from kconf.security.value_cipher import Secrets, ValueCipher

_OURS: Final = "kconf:"


class Passwords:
    """Hides and shows the secret values of brokers; everything else passes."""

    def __init__(self, seal: bytes, secrets: Secrets) -> None:
        self._vault = ValueCipher(seal, secrets)
        self._encoder = PasswordEncoder(secrets) if secrets.current else None
        self._written: dict[tuple[Resource, str], tuple[str, str]] = {}  # to write an unchanged value as it stands

    def hidden(self, resource: Resource, values: Overrides) -> Overrides:
        """The overrides as they may be written."""
        if resource.type != ResourceType.BROKER:
            return values
        return {
            key: self._hide(resource, key, value) if is_broker_secret(key) else value for key, value in values.items()
        }

    def _hide(self, resource: Resource, key: str, value: str) -> str:
        known, text = self._written.get((resource, key), (None, ""))
        if known != value:
            if self._encoder is not None:
                text = self._encoder.encode(value)
            else:
                text = _OURS + ":".join(self._vault.lock(f"{resource.name}\0{key}", value))
            self._written[resource, key] = (value, text)
        return text

    def shown(self, resource: Resource, texts: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        """The overrides that texts stand for, and the keys whose values no secret opens."""
        values, lost = {}, []
        for key, text in texts.items():
            value = self._show(resource, key, text) if is_broker_secret(key) else text
            if value is None:
                lost.append(key)
            else:
                values[key] = value
        return values, lost

    def _show(self, resource: Resource, key: str, text: str) -> str | None:
        if text.startswith(_OURS):
            value = self._vault.open(f"{resource.name}\0{key}", text.removeprefix(_OURS).split(":", 1))
        elif key not in BROKER and base_name(key) not in BROKER:
            value = text  # nobody knows the key, so whoever set it did not encode it, unless it was kconf
            if self._encoder is not None and "encryptedPassword:" in text:
                value = self._decoded(text)
        else:
            value = self._decoded(text)
        if value is not None:
            self._written[resource, key] = (value, text)
        return value

    def _decoded(self, text: str) -> str | None:
        try:
            return None if self._encoder is None else self._encoder.decode(text).value
        except UndecodablePassword:
            return None
