"""Converts Java client properties to settings. Files for `--command-config` of Kafka's tools work unchanged.

Keys that do not affect the connection are ignored, as Java ignores unknown keys. Errors never contain secret values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING

from kconf.client.retries import RetryPolicy
from kconf.client.settings import Bootstrap, ClientSettings, SecuritySettings, Timeouts
from kconf.errors import ConfigurationError
from kconf.util.java_properties import read_properties

if TYPE_CHECKING:
    from kconf.client.auth.sasl import Sasl
    from kconf.security.tls import Tls

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


def settings_from_properties(
    properties: str | PathLike[str] | Mapping[str, str],
    bootstrap: str | Iterable[str] = (),
    controllers: str | Iterable[str] = (),
    sasl: Sasl | None = None,
) -> ClientSettings:
    """Read settings from a file or a mapping. Addresses and a login given here override those in the properties."""
    given = dict(properties) if isinstance(properties, Mapping) else read_file(properties)
    if not bootstrap and not controllers:
        bootstrap = given.get("bootstrap.servers", "")
        controllers = "" if bootstrap else given.get("bootstrap.controllers", "")
    return ClientSettings(
        Bootstrap.parse(bootstrap, controllers),
        given.get("client.id", "").strip() or "kconf",
        _timeouts(given),
        _retries(given),
        security=_security(given, sasl),
    )


def _timeouts(given: Mapping[str, str]) -> Timeouts:
    default = Timeouts()
    return Timeouts(
        call=_seconds(given, "default.api.timeout.ms", default.call),
        request=_seconds(given, "request.timeout.ms", default.request),
        connect=_seconds(given, "socket.connection.setup.timeout.ms", default.connect),
    )


def _retries(given: Mapping[str, str]) -> RetryPolicy:
    default = RetryPolicy()
    return default._replace(
        backoff=_seconds(given, "retry.backoff.ms", default.backoff),
        backoff_max=_seconds(given, "retry.backoff.max.ms", default.backoff_max),
    )


def _security(given: Mapping[str, str], sasl: Sasl | None) -> SecuritySettings:
    protocol = given.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in _PROTOCOLS:
        raise ConfigurationError(f"security.protocol is {protocol!r}; it must be one of {', '.join(_PROTOCOLS)}")
    tls = _tls(given) if protocol.endswith("SSL") else None
    return SecuritySettings(tls, sasl or _sasl(given) if protocol.startswith("SASL") else None)


def read_file(path: str | PathLike[str]) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return read_properties(file.read())
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror}") from None


def _seconds(given: Mapping[str, str], key: str, default: float) -> float:
    try:
        return max(int(given[key].strip()), 0) / 1000 if key in given else default
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
    from kconf.client.auth.jaas_login import sasl_from_properties

    return sasl_from_properties(given)
