"""Encodes broker passwords for their znodes, and decodes them.

With `password.encoder.secret` they are encoded as in Kafka, so that a broker with the same secret can read them.
Without it, no broker can read them. kconf's own cipher then protects them from readers of a single znode, but not from
those who can read the whole ensemble, since it also contains the store key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kconf.configdef.broker import BROKER
from kconf.configdef.dynamic import base_name, is_broker_secret
from kconf.model.resource import Overrides, Resource, ResourceType
from kconf.security.password_encoder import PasswordEncoder, UndecodablePassword
from kconf.security.value_cipher import Secrets, ValueCipher

_PREFIX: Final = "kconf:"


class BrokerPasswords:
    """Encodes and decodes sensitive broker values. Other values are not changed."""

    def __init__(self, store_key: bytes, secrets: Secrets) -> None:
        self._cipher = ValueCipher(store_key, secrets)
        self._encoder = PasswordEncoder(secrets) if secrets.current else None
        self._encoded: dict[tuple[Resource, str], tuple[str, str]] = {}  # an unchanged value keeps its encoded text

    def encode(self, resource: Resource, values: Overrides) -> Overrides:
        if resource.type != ResourceType.BROKER:
            return values
        return {
            key: self._encode(resource, key, value) if is_broker_secret(key) else value for key, value in values.items()
        }

    def _encode(self, resource: Resource, key: str, value: str) -> str:
        known, text = self._encoded.get((resource, key), (None, ""))
        if known != value:
            if self._encoder is not None:
                text = self._encoder.encode(value)
            else:
                text = _PREFIX + ":".join(self._cipher.encrypt(f"{resource.name}\0{key}", value))
            self._encoded[resource, key] = (value, text)
        return text

    def decode(self, resource: Resource, texts: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        """The overrides, and the keys whose values cannot be decoded."""
        values, undecodable = {}, []
        for key, text in texts.items():
            value = self._decode(resource, key, text) if is_broker_secret(key) else text
            if value is None:
                undecodable.append(key)
            else:
                values[key] = value
        return values, undecodable

    def _decode(self, resource: Resource, key: str, text: str) -> str | None:
        if text.startswith(_PREFIX):
            value = self._cipher.decrypt(f"{resource.name}\0{key}", text.removeprefix(_PREFIX).split(":", 1))
        elif key not in BROKER and base_name(key) not in BROKER:
            value = text  # an unknown key: encoded by kconf, but not by Kafka
            if self._encoder is not None and "encryptedPassword:" in text:
                value = self._decode_kafka(text)
        else:
            value = self._decode_kafka(text)
        if value is not None:
            self._encoded[resource, key] = (value, text)
        return value

    def _decode_kafka(self, text: str) -> str | None:
        try:
            return None if self._encoder is None else self._encoder.decode(text).value
        except UndecodablePassword:
            return None
