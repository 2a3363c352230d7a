"""Reads the authentication settings of a listener: SASL mechanisms and users, and the mapping of certificates.

They change with a restart only, as in Kafka. The same functions check a change before it is stored
(listener_security.py), so that what is accepted can be read by the next start.
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
from kconf.server.auth.oauthbearer.jwks import JwksSource
from kconf.server.auth.oauthbearer.jwt_validator import JwtValidator, UnsecuredValidator
from kconf.server.auth.oauthbearer.settings import HANDLER, OAUTHBEARER, OAuthSettings, read_oauth_settings
from kconf.server.auth.upstream_credentials import UpstreamCredentials, UpstreamDummyCredentials
from kconf.server.listener_config import EndPoint
from kconf.service import Service

if TYPE_CHECKING:
    from kconf.server.auth.tls_context import PrincipalRules

log = getLogger(__name__)

JAAS: Final = "sasl.jaas.config"
REAUTH: Final = "connections.max.reauth.ms"
RULES: Final = "ssl.principal.mapping.rules"
_DELAY: Final = "connection.failed.authentication.delay.ms"
_RECEIVE_SIZE: Final = "sasl.server.max.receive.size"
_SALTS: Final = Change(ChangeKind.CONFIG, Resource.brokers(), "", None, "salts of unknown users", "set", sensitive=True)


@dataclass(frozen=True, slots=True)
class SaslSettings:
    """What a listener's SASL is configured to be."""

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
        read_oauth_settings(endpoint, effective) if OAUTHBEARER in mechanisms else None,
    )


def read_principal_rules(endpoint: EndPoint, effective: Mapping[str, str]) -> PrincipalRules:
    """How the names in clients' certificates become principals. Raises ConfigurationError."""
    return parse_rules(endpoint.setting(effective, RULES) or "DEFAULT")


def parse_rules(text: str) -> PrincipalRules:
    from kconf.server.auth.tls_context import PrincipalRules

    return PrincipalRules.parse(text)


def read_plain_users(text: str) -> dict[str, str]:
    """User names and passwords of PLAIN's JAAS configuration. Raises ConfigurationError."""
    options = parse(text).options
    return {key.removeprefix("user_"): value for key, value in options.items() if key.startswith("user_")}


def read_number(key: str, text: str | None) -> int:
    """A whole number by the definition of its broker key; None is the default. Raises ConfigurationError."""
    try:
        value = validate(BROKER[key], BROKER[key].default or "" if text is None else text)
    except InvalidConfig as error:
        raise ConfigurationError(str(error)) from None
    assert isinstance(value, int)
    return value


def sasl_config_of(
    endpoint: EndPoint, service: Service, upstream: UpstreamCredentials | None
) -> tuple[SaslConfig, JwksSource | None]:
    """The SASL of a listener of a running server, and the keys that it reads. Raises ConfigurationError.

    `upstream` are the SCRAM credentials of a gateway's users: those of its state have no keys.
    """
    settings = read_sasl_settings(endpoint, service.settings.effective)
    oauth = settings.oauth
    keys = JwksSource(oauth.jwks) if oauth is not None and oauth.jwks is not None else None
    if oauth is not None and keys is None:
        log.warning("listener %s accepts tokens without a signature: anyone can log in as anybody", endpoint)
    config = SaslConfig(
        settings.mechanisms,
        settings.plain_users,
        _stored_credential(service) if upstream is None else upstream.text,
        settings.lifetimes,
        settings.failure_delay_ms / 1000,
        settings.max_receive_size,
        _dummy_credentials(service, upstream),
        None if oauth is None else UnsecuredValidator(oauth) if keys is None else JwtValidator(oauth, keys),
    )
    return config, keys


def _mechanisms(endpoint: EndPoint, effective: Mapping[str, str]) -> tuple[str, ...]:
    text = endpoint.setting(effective, "sasl.enabled.mechanisms") or "GSSAPI"
    mechanisms = tuple(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))
    unknown = [each for each in mechanisms if each not in MECHANISMS]
    if unknown or not mechanisms:
        raise ConfigurationError(
            f"listener {endpoint.name}: sasl.enabled.mechanisms has {', '.join(unknown) or 'nothing'}; kconf supports "
            f"{', '.join(MECHANISMS)}"
        )
    return mechanisms


def _plain_users(endpoint: EndPoint, effective: Mapping[str, str]) -> dict[str, str]:
    name = f"plain.{JAAS}"
    text = endpoint.setting(effective, name)
    if text is None:
        raise ConfigurationError(f"listener {endpoint.name}: PLAIN needs {endpoint.prefixed(name)} with its users")
    return read_plain_users(text)


def _lifetime(endpoint: EndPoint, effective: Mapping[str, str], mechanism: str) -> int:
    own = endpoint.setting(effective, f"{mechanism.lower()}.{REAUTH}")
    return read_number(REAUTH, endpoint.setting(effective, REAUTH) if own is None else own)


def _stored_credential(service: Service) -> Callable[[str, Mechanism], str | None]:
    return lambda user, mechanism: credential_text(service.state.snapshot, user, mechanism)


def _dummy_credentials(service: Service, upstream: UpstreamCredentials | None) -> DummyCredentials:
    """Their key stays the same as long as the store exists, so that a restart does not show which users exist."""
    (sealed,) = service.store.redact(Revision(0, 0, RequestContext(), (_SALTS,))).changes
    key = digest((sealed.after or "").encode(), b"salts", sha256)
    if upstream is None:
        made = DummyCredentials(key, service.state.snapshot)
    else:
        made = UpstreamDummyCredentials(key, upstream)
    service.subscribe(made.on_commit)
    return made


def principal_mapping_of(endpoint: EndPoint, service: Service) -> Callable[[bytes], str | None]:
    """The principal of a client's certificate (DER); None: no rule of ssl.principal.mapping.rules fits.

    Raises ValueError if the certificate is not DER.
    """
    from kconf.security.x509_names import subject_of

    rules = read_principal_rules(endpoint, service.settings.effective)

    def name(der: bytes) -> str | None:
        found = rules.apply(subject_of(der))
        return None if found is None else f"User:{found}"

    return name
