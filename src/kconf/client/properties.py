"""Java's client properties, as settings. What Kafka's own tools read from `--command-config` works as it is.

A key that is not about the connection is ignored, as Java ignores what it does not know. No value of a secret key is
ever part of an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING

from kconf.client.base import client_settings
from kconf.client.settings import ClientSettings
from kconf.errors import ConfigurationError
from kconf.util.java_properties import read_properties

if TYPE_CHECKING:
    from kconf.client.auth.sasl import Sasl
    from kconf.security.tls import Tls

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


def settings_from(
    properties: str | PathLike[str] | Mapping[str, str],
    bootstrap: str | Iterable[str] = (),
    controllers: str | Iterable[str] = (),
) -> ClientSettings:
    """Settings from a file or a mapping. Addresses given here win over those of the properties."""
    given = dict(properties) if isinstance(properties, Mapping) else read_file(properties)
    if not bootstrap and not controllers:
        bootstrap = given.get("bootstrap.servers", "")
        controllers = "" if bootstrap else given.get("bootstrap.controllers", "")
    protocol = given.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in _PROTOCOLS:
        raise ConfigurationError(f"security.protocol is {protocol!r}; it may be {', '.join(_PROTOCOLS)}")
    more: dict[str, object] = {
        "client_id": given.get("client.id", "").strip() or "kconf",
        "tls": _tls(given) if protocol.endswith("SSL") else None,
        "sasl": _sasl(given) if protocol.startswith("SASL") else None,
    }
    for name, key in (
        ("request_timeout", "request.timeout.ms"),
        ("timeout", "default.api.timeout.ms"),
        ("connect_timeout", "socket.connection.setup.timeout.ms"),
        ("backoff", "retry.backoff.ms"),
        ("backoff_max", "retry.backoff.max.ms"),
    ):
        if key in given:
            more[name] = _seconds(key, given[key])
    return client_settings(bootstrap, controllers, **more)


def read_file(path: str | PathLike[str]) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return read_properties(file.read())
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from None


def _seconds(key: str, text: str) -> float:
    try:
        return max(int(text.strip()), 0) / 1000
    except ValueError:
        raise ConfigurationError(f"{key} must be a number of milliseconds") from None


def _tls(given: Mapping[str, str]) -> Tls:
    from kconf.security.keystores import key_material, trusted
    from kconf.security.tls import Tls

    chain, key, password = key_material(given)
    names = given.get("ssl.endpoint.identification.algorithm", "https").strip()
    versions = tuple(each.strip() for each in given.get("ssl.enabled.protocols", "").split(",") if each.strip())
    return Tls(trusted(given), chain, key, password, check_hostname=bool(names), versions=versions)


def _sasl(given: Mapping[str, str]) -> Sasl:
    from kconf.client.auth.jaas_login import login

    return login(given)
