"""Reads the authentication settings of a listener: SASL mechanisms, users, and principal mapping rules.

Changes apply after a restart, as in Kafka. The same functions check a change before it is stored
(listener_security.py), so that the next start can load it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import digest
from logging import getLogger
from typing import TYPE_CHECKING, Final

from kconf.configdef.broker import BROKER
from kconf.configdef.validate import validate
from kconf.engine.access.scram_credentials import credential_text
from kconf.errors import ConfigurationError, InvalidConfig
from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.resource import Resource
from kconf.model.scram import Mechanism
from kconf.security.jaas import parse
from kconf.server.auth.dummy_credentials import DummyCredentials
from kconf.server.auth.mechanisms import MECHANISMS, PLAIN, SaslConfig
from kconf.server.auth.oauthbearer import HANDLER, OAUTHBEARER
from kconf.server.listener_config import EndPoint
from kconf.service import Service

if TYPE_CHECKING:
    from kconf.server.auth.oauthbearer.jwks import JwksSource
    from kconf.server.auth.oauthbearer.jwt_validator import TokenValidator
    from kconf.server.auth.oauthbearer.settings import OAuthSettings
    from kconf.server.auth.tls_context import PrincipalRules
    from kconf.server.auth.upstream_credentials import UpstreamCredentials

log = getLogger(__name__)

JAAS: Final = "sasl.jaas.config"
REAUTH: Final = "connections.max.reauth.ms"
RULES: Final = "ssl.principal.mapping.rules"
_DELAY: Final = "connection.failed.authentication.delay.ms"
_RECEIVE_SIZE: Final = "sasl.server.max.receive.size"
_SALTS: Final = Change(ChangeKind.CONFIG, Resource.brokers(), "", None, "salts of unknown users", "set", sensitive=True)


@dataclass(frozen=True, slots=True)
class SaslSettings:
    """The SASL settings of a listener, as configured."""

    mechanisms: tuple[str, ...]
    plain_users: Mapping[str, str] = field(repr=False)
    lifetimes: Mapping[str, int]
    failure_delay_ms: int
    max_receive_size: int
    oauth: OAuthSettings | None = None


def read_sasl_settings(endpoint: EndPoint, effective: Mapping[str, str]) -> SaslSettings:
    """The SASL settings of a listener. Raises ConfigurationError."""
    mechanisms = _mechanisms(endpoint, effective)
    for mechanism in mechanisms:
        name = f"{mechanism.lower()}.{HANDLER}"
        if mechanism != OAUTHBEARER and endpoint.setting(effective, name):
            raise ConfigurationError(f"listener {endpoint.name}: {name} is a Java class, which kconf cannot run")
    return SaslSettings(
        mechanisms,
        _plain_users(endpoint, effective) if PLAIN in mechanisms else {},
        {each: _lifetime(endpoint, effective, each) for each in mechanisms},
        read_number(_DELAY, endpoint.setting(effective, _DELAY)),
        read_number(_RECEIVE_SIZE, endpoint.setting(effective, _RECEIVE_SIZE)),
        _oauth_settings(endpoint, effective) if OAUTHBEARER in mechanisms else None,
    )


def read_principal_rules(endpoint: EndPoint, effective: Mapping[str, str]) -> PrincipalRules:
    """The rules that map certificate names to principals. Raises ConfigurationError."""
    return parse_rules(endpoint.setting(effective, RULES) or "DEFAULT")


def parse_rules(text: str) -> PrincipalRules:
    from kconf.server.auth.tls_context import PrincipalRules

    return PrincipalRules.parse(text)


def read_plain_users(text: str) -> dict[str, str]:
    """User names and passwords from the JAAS configuration of PLAIN. Raises ConfigurationError."""
    options = parse(text).options
    return {key.removeprefix("user_"): value for key, value in options.items() if key.startswith("user_")}


def read_number(key: str, text: str | None) -> int:
    """Parse an integer by the definition of its broker key. None is the default. Raises ConfigurationError."""
    try:
        value = validate(BROKER[key], BROKER[key].default or "" if text is None else text)
    except InvalidConfig as error:
        raise ConfigurationError(str(error)) from None
    assert isinstance(value, int)
    return value


def sasl_config_of(
    endpoint: EndPoint, service: Service, upstream: UpstreamCredentials | None
) -> tuple[SaslConfig, JwksSource | None]:
    """The SASL configuration of a running listener, and its source of public keys. Raises ConfigurationError.

    `upstream` has the SCRAM credentials of a gateway's users, because its state does not contain them.
    """
    settings = read_sasl_settings(endpoint, service.settings.effective)
    oauth = settings.oauth
    keys, tokens = (None, None) if oauth is None else _token_validator(endpoint, oauth)
    config = SaslConfig(
        settings.mechanisms,
        settings.plain_users,
        _stored_credential(service) if upstream is None else upstream.text,
        settings.lifetimes,
        settings.failure_delay_ms / 1000,
        settings.max_receive_size,
        _dummy_credentials(service, upstream),
        tokens,
    )
    return config, keys


def _oauth_settings(endpoint: EndPoint, effective: Mapping[str, str]) -> OAuthSettings:
    from kconf.server.auth.oauthbearer.settings import read_oauth_settings

    return read_oauth_settings(endpoint, effective)


def _token_validator(endpoint: EndPoint, oauth: OAuthSettings) -> tuple[JwksSource | None, TokenValidator]:
    """Create the token validator. Imports are local because most servers do not accept tokens."""
    from kconf.server.auth.oauthbearer.jwks import JwksSource
    from kconf.server.auth.oauthbearer.jwt_validator import JwtValidator, UnsecuredValidator

    if oauth.jwks is None:
        log.warning("listener %s accepts tokens without a signature: clients can log in as any user", endpoint)
        return None, UnsecuredValidator(oauth)
    keys = JwksSource(oauth.jwks)
    return keys, JwtValidator(oauth, keys)


def _mechanisms(endpoint: EndPoint, effective: Mapping[str, str]) -> tuple[str, ...]:
    text = endpoint.setting(effective, "sasl.enabled.mechanisms") or "GSSAPI"
    mechanisms = tuple(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))
    unknown = [each for each in mechanisms if each not in MECHANISMS]
    if unknown or not mechanisms:
        problem = f"contains {', '.join(unknown)}, which kconf does not support" if unknown else "is empty"
        raise ConfigurationError(
            f"listener {endpoint.name}: sasl.enabled.mechanisms (default: GSSAPI) {problem}; use one or more "
            f"of {', '.join(MECHANISMS)}"
        )
    return mechanisms


def _plain_users(endpoint: EndPoint, effective: Mapping[str, str]) -> dict[str, str]:
    name = f"plain.{JAAS}"
    text = endpoint.setting(effective, name)
    if text is None:
        raise ConfigurationError(f"listener {endpoint.name}: PLAIN needs its users in {endpoint.prefixed(name)}")
    return read_plain_users(text)


def _lifetime(endpoint: EndPoint, effective: Mapping[str, str], mechanism: str) -> int:
    own = endpoint.setting(effective, f"{mechanism.lower()}.{REAUTH}")
    return read_number(REAUTH, endpoint.setting(effective, REAUTH) if own is None else own)


def _stored_credential(service: Service) -> Callable[[str, Mechanism], str | None]:
    return lambda user, mechanism: credential_text(service.state.snapshot, user, mechanism)


def _dummy_credentials(service: Service, upstream: UpstreamCredentials | None) -> DummyCredentials:
    """Create the dummy credentials. Their key is stored, so that a restart does not show which users exist."""
    (redacted,) = service.store.redact(Revision(0, 0, RequestContext(), (_SALTS,))).changes
    key = digest((redacted.after or "").encode(), b"salts", sha256)
    if upstream is None:
        made = DummyCredentials(key, service.state.snapshot)
    else:
        from kconf.server.auth.upstream_credentials import UpstreamDummyCredentials

        made = UpstreamDummyCredentials(key, upstream)
    service.subscribe(made.on_commit)
    return made


def principal_mapping_of(endpoint: EndPoint, service: Service) -> Callable[[bytes], str | None]:
    """Maps a client certificate (DER) to a principal, or None if no rule of ssl.principal.mapping.rules matches.

    Raises ValueError if the certificate is not DER.
    """
    from kconf.security.x509_names import subject_of

    rules = read_principal_rules(endpoint, service.settings.effective)

    def name(der: bytes) -> str | None:
        found = rules.apply(subject_of(der))
        return None if found is None else f"User:{found}"

    return name
