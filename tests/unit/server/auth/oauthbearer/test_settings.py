"""`sasl.oauthbearer.*` of a listener: Kafka's names, prefixes and defaults."""

from __future__ import annotations

import pytest

from kconf.errors import ConfigurationError
from kconf.server.auth.oauthbearer.settings import UNSECURED, OAuthSettings, read_oauth_settings
from kconf.server.auth.sasl_config import read_sasl_settings
from kconf.server.listener_config import EndPoint, SecurityProtocol, SocketAddress

INSIDE = EndPoint("INSIDE", SecurityProtocol.SASL_SSL, SocketAddress("127.0.0.1", 0))
URL = "sasl.oauthbearer.jwks.endpoint.url"
HANDLER = "sasl.server.callback.handler.class"
PACKAGE = "org.apache.kafka.common.security.oauthbearer"


def test_defaults_are_those_of_kafka() -> None:
    found = read_oauth_settings(INSIDE, {URL: "https://idp.test/keys"})

    assert found.jwks is not None
    assert (found.jwks.refresh, found.jwks.backoff, found.jwks.max_backoff, found.jwks.trust) == (3600, 0.1, 10, {})
    assert found == OAuthSettings(found.jwks, None, (), 30, "sub", "scope")


@pytest.mark.parametrize(
    "key", [URL, f"listener.name.inside.{URL}", f"oauthbearer.{URL}", f"listener.name.inside.oauthbearer.{URL}"]
)
def test_a_setting_may_have_the_prefix_of_its_listener_and_mechanism(key: str) -> None:
    found = read_oauth_settings(INSIDE, {key: "file:/etc/keys.json"})

    assert found.jwks is not None
    assert found.jwks.url == "file:/etc/keys.json"


def test_every_setting_is_read() -> None:
    module = f"{PACKAGE}.OAuthBearerLoginModule"
    prefix = "listener.name.inside.oauthbearer.sasl."
    found = read_oauth_settings(
        INSIDE,
        {
            URL: "https://other.test/keys",
            f"{prefix}oauthbearer.jwks.endpoint.url": "https://idp.test/keys",
            f"{prefix}oauthbearer.jwks.endpoint.refresh.ms": "5000",
            f"{prefix}oauthbearer.jwks.endpoint.retry.backoff.ms": "50",
            f"{prefix}oauthbearer.jwks.endpoint.retry.backoff.max.ms": "500",
            f"{prefix}oauthbearer.expected.issuer": "https://idp.test",
            f"{prefix}oauthbearer.expected.audience": "kafka, other",
            f"{prefix}oauthbearer.clock.skew.seconds": "5",
            f"{prefix}oauthbearer.sub.claim.name": "client_id",
            f"{prefix}oauthbearer.scope.claim.name": "scp",
            f"{prefix}jaas.config": f'{module} required ssl.truststore.type="PEM" ssl.truststore.location="/ca" x="y";',
            f"{prefix}server.callback.handler.class": f"{PACKAGE}.OAuthBearerValidatorCallbackHandler",
        },
    )

    assert found.jwks is not None
    assert (found.jwks.url, found.jwks.refresh, found.jwks.backoff, found.jwks.max_backoff) == (
        "https://idp.test/keys",
        5,
        0.05,
        0.5,
    )
    assert found.jwks.trust == {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca"}
    assert found == OAuthSettings(found.jwks, "https://idp.test", ("kafka", "other"), 5, "client_id", "scp")


def test_unsecured_tokens_need_kafkas_class_by_its_name() -> None:
    assert read_oauth_settings(INSIDE, {f"oauthbearer.{HANDLER}": UNSECURED}).jwks is None
    with pytest.raises(ConfigurationError, match=r"needs listener\.name\.inside\.oauthbearer\.sasl"):
        read_sasl_settings(INSIDE, {"sasl.enabled.mechanisms": "OAUTHBEARER"})


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({URL: "http://idp.test/keys"}, "https or file"),
        ({URL: "https://"}, "https or file"),
        ({URL: "https://[/keys"}, "https or file"),
        ({URL: "file://idp.test/keys"}, "https or file"),
        ({URL: "/etc/keys.json"}, "https or file"),
        ({URL: "file:/x", "sasl.oauthbearer.clock.skew.seconds": "much"}, "clock.skew"),
        ({URL: "file:/x", "sasl.oauthbearer.clock.skew.seconds": "-1"}, "at least 0"),
        ({URL: "file:/x", "sasl.oauthbearer.jwks.endpoint.refresh.ms": "0"}, "^Invalid value 0 .* at least 1$"),
        ({URL: "file:/x", f"oauthbearer.{HANDLER}": "com.example.Mine"}, "Java class"),
        ({URL: "file:/x", "sasl.oauthbearer.jwt.validator.class": "com.example.Mine"}, "Java class"),
        ({URL: "file:/x", "oauthbearer.sasl.jaas.config": "secret"}, "jaas.config"),
    ],
)
def test_unusable_settings_prevent_the_start(given: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        read_sasl_settings(INSIDE, {"sasl.enabled.mechanisms": "SCRAM-SHA-256,OAUTHBEARER", **given})
