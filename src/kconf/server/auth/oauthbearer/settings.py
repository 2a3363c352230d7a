"""Reads a listener's `sasl.oauthbearer.*` settings: which tokens are accepted, and where the provider's keys are.

The names and defaults are Kafka's. Differences: the keys are fetched by https or read from a file, never by http, and
tokens without a signature are accepted only if Kafka's class for that is named, which in Kafka is the default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Final
from urllib.parse import urlsplit

from kconf.configdef.broker import BROKER
from kconf.configdef.validate import validate
from kconf.configdef.validators import between
from kconf.errors import ConfigurationError, InvalidConfig
from kconf.security.jaas import parse
from kconf.server.auth.oauthbearer import HANDLER, OAUTHBEARER
from kconf.server.listener_config import EndPoint

JWKS_URL: Final = "sasl.oauthbearer.jwks.endpoint.url"
_VALIDATOR: Final = "sasl.oauthbearer.jwt.validator.class"
_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"
UNSECURED: Final = f"{_PACKAGE}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
_SECURED: Final = (
    f"{_PACKAGE}.OAuthBearerValidatorCallbackHandler",
    f"{_PACKAGE}.secured.OAuthBearerValidatorCallbackHandler",
)
_VALIDATORS: Final = (f"{_PACKAGE}.DefaultJwtValidator", f"{_PACKAGE}.BrokerJwtValidator")


@dataclass(frozen=True, slots=True)
class JwksSettings:
    """Where to read the provider's keys, and how often. Times are in seconds."""

    url: str
    refresh: float
    backoff: float
    max_backoff: float
    trust: Mapping[str, str] = field(default_factory=dict, repr=False)  # ssl.truststore.* for an https URL


@dataclass(frozen=True, slots=True)
class OAuthSettings:
    """Which tokens are accepted. If `jwks` is None: tokens without a signature."""

    jwks: JwksSettings | None
    issuer: str | None = None
    audiences: tuple[str, ...] = ()
    clock_skew: int = 30  # seconds
    principal_claim: str = "sub"
    scope_claim: str = "scope"


def read_oauth_settings(endpoint: EndPoint, effective: Mapping[str, str]) -> OAuthSettings:
    """The settings of a listener. Raises ConfigurationError."""

    def given(name: str) -> str | None:
        own = endpoint.setting(effective, f"{OAUTHBEARER.lower()}.{name}")
        text = endpoint.setting(effective, name) if own is None else own
        return None if text is None or not text.strip() else text.strip()

    if find_spec("jwt") is None or find_spec("cryptography") is None:
        raise ConfigurationError("OAUTHBEARER needs an extra package: pip install 'kconf[oauth]'")
    handler, validator = given(HANDLER), given(_VALIDATOR)
    if handler not in (None, UNSECURED, *_SECURED) or validator not in (None, *_VALIDATORS):
        raise ConfigurationError(
            f"listener {endpoint.name}: {HANDLER} or {_VALIDATOR} is a Java class, which kconf cannot run"
        )
    return OAuthSettings(
        None if handler == UNSECURED else _jwks(endpoint, given),
        given("sasl.oauthbearer.expected.issuer"),
        tuple(filter(None, (each.strip() for each in (given("sasl.oauthbearer.expected.audience") or "").split(",")))),
        _number(given, "sasl.oauthbearer.clock.skew.seconds"),
        given("sasl.oauthbearer.sub.claim.name") or "sub",
        given("sasl.oauthbearer.scope.claim.name") or "scope",
    )


def _jwks(endpoint: EndPoint, given: Callable[[str], str | None]) -> JwksSettings:
    url = given(JWKS_URL)
    if url is None:
        raise ConfigurationError(
            f"listener {endpoint.name}: OAUTHBEARER needs {endpoint.prefixed(f'oauthbearer.{JWKS_URL}')}, the URL of "
            "the provider's keys"
        )
    try:
        parts = urlsplit(url)
        is_valid = bool(parts.hostname) if parts.scheme == "https" else parts.scheme == "file" and bool(parts.path)
    except ValueError:
        is_valid = False
    if not is_valid or (parts.scheme == "file" and parts.netloc not in ("", "localhost")):
        raise ConfigurationError(f"listener {endpoint.name}: {JWKS_URL} must be an https or file URL")
    jaas = given("sasl.jaas.config")
    options = {} if jaas is None else parse(jaas).options
    return JwksSettings(
        url,
        _number(given, "sasl.oauthbearer.jwks.endpoint.refresh.ms", least=1) / 1000,
        _number(given, "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", least=1) / 1000,
        _number(given, "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", least=1) / 1000,
        {key: value for key, value in options.items() if key.startswith("ssl.truststore.")},
    )


def _number(given: Callable[[str], str | None], name: str, *, least: int = 0) -> int:
    text, key = given(name), replace(BROKER[name], validator=between(least))  # Kafka's definition has no bounds
    try:
        value = validate(key, key.default or "" if text is None else text)
    except InvalidConfig as error:
        raise ConfigurationError(str(error)) from None
    assert isinstance(value, int)
    return value
