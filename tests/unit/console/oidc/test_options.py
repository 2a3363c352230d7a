"""The OIDC options of `kconf console` and `kconf serve --console`, and invalid values."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

from kconf.cli.common.options.oidc import add_oidc, oidc_settings
from kconf.client.contexts.config_providers import takes_tokens, token_properties
from kconf.client.contexts.context import Context
from kconf.console.oidc_settings import OidcSettings
from kconf.console.settings import ConsoleSettings, parse_listen
from kconf.errors import ConfigurationError
from kconf.operations.target import Target
from tests.unit.console.oidc.world import TOKENS, settings

ISSUER = ("--oidc-issuer", "https://idp.test", "--oidc-client-id", "console")


def parsed(*words: str) -> OidcSettings | None:
    parser = argparse.ArgumentParser()
    add_oidc(parser)
    return oidc_settings(parser.parse_args(words))


def test_without_an_issuer_there_is_no_login_at_a_provider() -> None:
    assert parsed() is None


def test_options_are_parsed_and_have_defaults(tmp_path: Path) -> None:
    assert parsed(*ISSUER) == OidcSettings("https://idp.test", "console", None, ("openid", "profile"), "sub")
    secret = tmp_path / "secret"
    secret.write_text("s3cret\n")
    more = ("--oidc-scope", "openid offline_access", "--oidc-scope", "kafka", "--oidc-user-claim", "email")
    claims = ("--oidc-require", "groups=a", "--oidc-require", "groups=b", "--oidc-require", "https://x.test/t=u=v")
    found = parsed(*ISSUER, *more, *claims, "--oidc-client-secret-file", str(secret), "--oidc-parameter", "audience=k")
    assert found is not None
    assert found.client_secret == "s3cret"
    assert (found.scopes, found.user_claim) == (("openid", "offline_access", "kafka"), "email")
    assert found.required == {"groups": ("a", "b"), "https://x.test/t": ("u=v",)}
    assert found.parameters == {"audience": "k"}
    assert "s3cret" not in repr(found)


def test_the_secret_may_be_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCONF_OIDC_CLIENT_SECRET", "s3cret")
    found = parsed(*ISSUER)
    assert found is not None
    assert found.client_secret == "s3cret"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--oidc-client-id", "x"), "--oidc-client-id needs --oidc-issuer"),
        (("--oidc-require", "a=b"), "--oidc-require needs --oidc-issuer"),
        (("--oidc-issuer", "https://idp.test"), "needs --oidc-client-id"),
        ((*ISSUER, "--oidc-require", "groups"), "takes NAME=VALUE, not 'groups'"),
        ((*ISSUER, "--oidc-client-secret-file", "/nothing/here"), "No such file"),
        ((*ISSUER, "--oidc-client-secret-file", "/dev/null"), "/dev/null is empty"),
    ],
)
def test_invalid_options_are_reported_in_one_sentence(words: tuple[str, ...], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        parsed(*words)


@pytest.mark.parametrize(
    ("given", "more", "why"),
    [
        ({}, {}, None),
        ({"issuer": "http://localhost:8080/realms/x"}, {}, None),
        ({"issuer": "http://idp.test"}, {}, "takes an https URL"),
        ({"issuer": "https://idp.test?x=1"}, {}, "without a query"),
        ({"issuer": "https://user:pw@idp.test"}, {}, "takes an https URL"),
        ({"issuer": "idp.test"}, {}, "takes an https URL"),
        ({"issuer": "https://idp.test:port"}, {}, "takes an https URL"),
        ({"scopes": ("profile",)}, {}, "must contain openid"),
        ({"parameters": {"redirect_uri": "https://evil.test"}}, {}, "the console sets it"),
        ({"ca_file": "/nothing/here"}, {}, "/nothing/here does not exist"),
        ({"client_id": ""}, {}, "must not be empty"),
        ({}, {"public_url": "http://kconf.example.com"}, "--public-url takes an https URL"),
        ({}, {"public_url": "https://kconf.example.com/path"}, "without a path"),
        ({}, {"names": ["kconf.example.com"]}, "--public-url https://kconf.example.com"),
        ({}, {"names": ["kconf.example.com"], "public_url": "https://kconf.example.com"}, None),
        ({}, {"names": ["kconf.example.com"], "certificate": "c", "key": "k"}, None),
    ],
    ids=str,
)
def test_insecure_settings_are_refused_at_the_start(
    given: dict[str, Any], more: dict[str, Any], why: str | None
) -> None:
    console = ConsoleSettings(parse_listen("127.0.0.1:0"), [Target(Context("home"))], oidc=settings(**given), **more)
    if why is None:
        console.check()
    else:
        with pytest.raises(ConfigurationError, match=why):
            console.check()


def test_a_provider_needs_tls_on_an_address_that_others_can_reach() -> None:
    console = ConsoleSettings(parse_listen("10.0.0.5:8080"), [Target(Context("home"))], oidc=settings())
    with pytest.raises(ConfigurationError, match="without TLS"):
        console.check()


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        (TOKENS, True),
        ({**TOKENS, "security.protocol": "SASL_PLAINTEXT"}, True),
        ({**TOKENS, "security.protocol": "SSL"}, False),
        ({**TOKENS, "sasl.mechanism": "PLAIN"}, False),
        ({**TOKENS, "sasl.login.callback.handler.class": "software.amazon.msk.auth.iam.IAMOAuthBearer"}, False),
        ({}, False),
    ],
    ids=str,
)
def test_a_token_is_sent_only_to_contexts_that_use_oauthbearer(properties: dict[str, str], expected: bool) -> None:
    context = Context("home", properties=properties)
    assert takes_tokens(context) is expected
    if not expected:
        with pytest.raises(ConfigurationError, match="home does not accept tokens"):
            token_properties(context)


def test_with_a_token_the_credential_of_the_context_is_neither_used_nor_looked_up(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text('sasl.jaas.config=module required clientId="me" clientSecret="${env:NOT_SET}";\nclient.id=x\n')
    own = {"sasl.oauthbearer.token.endpoint.url": "https://idp.test/token"}
    assert token_properties(Context("home", "h:1", str(file), {**TOKENS, **own})) == {**TOKENS, "client.id": "x"}
