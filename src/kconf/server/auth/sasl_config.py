"""Reads the authentication settings of a listener: SASL mechanisms and users, and the mapping of certificates.

They change with a restart only, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from hmac import digest
from typing import Final

from kconf.errors import ConfigurationError
from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.resource import Resource
from kconf.security.jaas import parse
from kconf.server.auth.dummy_credentials import DummyCredentials
from kconf.server.auth.mechanisms import MECHANISMS, PLAIN, SaslConfig
from kconf.server.listener_config import EndPoint
from kconf.service import Service

_SALTS: Final = Change(ChangeKind.CONFIG, Resource.brokers(), "", None, "salts of unknown users", "set", sensitive=True)


def sasl_config_of(endpoint: EndPoint, service: Service) -> SaslConfig:
    """The SASL settings of a listener. Raises ConfigurationError."""
    resolver = service.state.resolver
    effective = resolver.effective
    text = endpoint.setting(effective, "sasl.enabled.mechanisms") or "GSSAPI"
    mechanisms = tuple(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))
    unknown = [each for each in mechanisms if each not in MECHANISMS]
    if unknown or not mechanisms:
        raise ConfigurationError(
            f"listener {endpoint.name}: sasl.enabled.mechanisms has {', '.join(unknown) or 'nothing'}; "
            f"kconf has {', '.join(MECHANISMS)}"
        )
    for mechanism in mechanisms:
        name = f"{mechanism.lower()}.sasl.server.callback.handler.class"
        if endpoint.setting(effective, name):
            raise ConfigurationError(f"listener {endpoint.name}: {name} asks for a Java class, which kconf cannot call")
    delay = endpoint.setting(effective, "connection.failed.authentication.delay.ms")
    largest = endpoint.setting(effective, "sasl.server.max.receive.size")
    return SaslConfig(
        mechanisms,
        _plain_users(endpoint, effective) if PLAIN in mechanisms else {},
        lambda: service.state.snapshot,
        {each: _lifetime(endpoint, effective, each) for each in mechanisms},
        (int(delay) if delay else resolver.number("connection.failed.authentication.delay.ms")) / 1000,
        int(largest) if largest else resolver.number("sasl.server.max.receive.size"),
        _dummy_credentials(service),
    )


def _plain_users(endpoint: EndPoint, effective: Mapping[str, str]) -> dict[str, str]:
    name = "plain.sasl.jaas.config"
    text = endpoint.setting(effective, name)
    if text is None:
        raise ConfigurationError(f"listener {endpoint.name}: PLAIN needs {endpoint.prefixed(name)} with its users")
    options = parse(text).options
    return {key.removeprefix("user_"): value for key, value in options.items() if key.startswith("user_")}


def _lifetime(endpoint: EndPoint, effective: Mapping[str, str], mechanism: str) -> int:
    key = "connections.max.reauth.ms"
    text = endpoint.setting(effective, f"{mechanism.lower()}.{key}") or endpoint.setting(effective, key) or "0"
    try:
        return int(text)
    except ValueError:
        raise ConfigurationError(f"listener {endpoint.name}: {key} is a number of milliseconds") from None


def _dummy_credentials(service: Service) -> DummyCredentials:
    """Their key stays the same as long as the store exists, so that a restart does not show which users exist."""
    (sealed,) = service.store.redact(Revision(0, 0, RequestContext(), (_SALTS,))).changes
    made = DummyCredentials(digest((sealed.after or "").encode(), b"salts", sha256), service.state.snapshot)
    service.subscribe(made.on_commit)
    return made


def principal_mapping_of(endpoint: EndPoint, service: Service) -> Callable[[bytes], str | None]:
    """The principal of a client's certificate (DER); None: no rule of ssl.principal.mapping.rules fits.

    Raises ValueError if the certificate is not DER.
    """
    from kconf.security.x509_names import subject_of
    from kconf.server.auth.tls_context import PrincipalRules

    text = endpoint.setting(service.state.resolver.effective, "ssl.principal.mapping.rules")
    rules = PrincipalRules.parse(text or "DEFAULT")

    def name(der: bytes) -> str | None:
        found = rules.apply(subject_of(der))
        return None if found is None else f"User:{found}"

    return name
