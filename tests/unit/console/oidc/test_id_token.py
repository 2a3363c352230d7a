"""Which ID tokens are accepted: every check is tested alone."""

from __future__ import annotations

import hmac
import json
import time
from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Any, NamedTuple

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from kconf.console.security.login import LoginRefused
from kconf.console.security.oidc.login import OidcLogin
from kconf.console.security.oidc.pending import PendingLogins
from kconf.console.security.oidc.provider import Provider
from tests.support.token_server import SigningKey
from tests.unit.console.oidc.world import ACCESS, CLIENT, SIGNER, FakeHttp, id_token, settings
from tests.unit.server.auth.oauthbearer.test_jwt_validator import ALGORITHMS


class FromNow(NamedTuple):
    """A claim in seconds from the time of the test: parameters are made long before their test runs."""

    seconds: int


def resolved(claims: dict[str, Any]) -> dict[str, Any]:
    now = int(time.time())
    return {name: now + each.seconds if isinstance(each, FromNow) else each for name, each in claims.items()}


def half(text: str) -> str:
    return urlsafe_b64encode(sha256(text.encode()).digest()[:16]).decode().rstrip("=")


def encoded(part: dict[str, Any]) -> str:
    return urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


def log_in(http: FakeHttp, **more: Any) -> str:
    """The user of a login with this response of the provider."""
    given = settings(**more)
    login = OidcLogin(given, Provider(given, http))
    logins = PendingLogins()
    logins.begin("/", "http://127.0.0.1/-/oidc/callback")
    pending = next(iter(logins._logins.values()))
    http.nonce = pending.nonce
    return login.finish(pending, {"code": "c0de"}, "127.0.0.1").user


def refusal(http: FakeHttp, **more: Any) -> str:
    with pytest.raises(LoginRefused) as caught:
        log_in(http, **more)
    return str(caught.value)


def test_a_valid_token_names_the_user_by_the_claim_of_the_settings() -> None:
    assert log_in(FakeHttp()) == "id-1"
    assert log_in(FakeHttp(), user_claim="preferred_username") == "ana"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_with_a_public_key_is_accepted(algorithm: str) -> None:
    http = FakeHttp()
    http.keys = [SigningKey("one", algorithm, key=SIGNER.key if algorithm[:2] in ("RS", "PS") else None)]
    assert log_in(http) == "id-1"


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"iss": "https://evil.test"}, "from another issuer"),
        ({"iss": None}, "no iss claim"),
        ({"aud": "other"}, "for another audience"),
        ({"aud": ["other", "more"]}, "for another audience"),
        ({"aud": None}, "no aud claim"),
        ({"aud": [CLIENT, "other"]}, "no azp claim"),
        ({"aud": [CLIENT, "other"], "azp": "other"}, "azp claim names another client"),
        ({"azp": "other"}, "azp claim names another client"),
        ({"exp": FromNow(-100)}, "has expired"),
        ({"exp": None}, "exp or iat claim is missing"),
        ({"exp": "tomorrow"}, "exp claim is not a time"),
        ({"iat": None}, "exp or iat claim is missing"),
        ({"iat": FromNow(3600)}, "issued in the future"),
        ({"iat": FromNow(-3600)}, "issued too long ago"),
        ({"iat": True}, "iat claim is not a time"),
        ({"nbf": FromNow(3600)}, "not valid yet"),
        ({"nonce": "stale"}, "nonce does not belong to this login"),
        ({"nonce": None}, "nonce does not belong to this login"),
        ({"nonce": 7}, "nonce does not belong to this login"),
        ({"at_hash": half("another token")}, "at_hash"),
        ({"at_hash": 7}, "at_hash"),
        ({"sub": None}, "no sub claim with a name"),
        ({"sub": ""}, "no sub claim with a name"),
        ({"sub": 7}, "no sub claim with a name"),
        ({"sub": "x" * 256}, "no sub claim with a name"),
    ],
    ids=str,
)
def test_a_wrong_claim_is_refused(claims: dict[str, Any], why: str) -> None:
    http = FakeHttp()
    http.claims = resolved(claims)
    assert why in refusal(http)


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": [CLIENT]},
        {"aud": [CLIENT, "other"], "azp": CLIENT},
        {"exp": FromNow(-30)},
        {"iat": FromNow(30)},
        {"nbf": FromNow(30)},
        {"at_hash": half(ACCESS)},
    ],
    ids=str,
)
def test_claims_that_the_standard_or_the_leeway_allows_are_accepted(claims: dict[str, Any]) -> None:
    http = FakeHttp()
    http.claims = resolved(claims)
    assert log_in(http) == "id-1"


def test_a_token_without_a_signature_or_of_another_key_is_refused() -> None:
    http = FakeHttp()
    claims = resolved({"iss": "https://idp.test", "aud": CLIENT, "sub": "id-1", "iat": FromNow(0), "exp": FromNow(300)})
    http.answer = {"id_token": f"{encoded({'alg': 'none'})}.{encoded(claims)}."}
    assert "algorithm is not accepted" in refusal(http)
    http.answer = {"id_token": id_token(SigningKey())}  # the same key id
    assert "not signed with the provider's key" in refusal(http)
    http.answer = {"id_token": id_token(SigningKey("unknown"))}
    assert "no key with its id" in refusal(http)
    for text in ("", "a.b", "x" * 100_000, "e30.e30.e30"):
        http.answer = {"id_token": text}
        assert "was refused" in refusal(http)


@pytest.mark.parametrize(
    "form", [(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo), (Encoding.DER, PublicFormat.PKCS1)]
)
def test_a_token_signed_with_the_public_key_as_hmac_secret_is_refused(form: tuple[Encoding, PublicFormat]) -> None:
    http = FakeHttp()
    claims = resolved({"iss": "https://idp.test", "aud": CLIENT, "sub": "id-1", "iat": FromNow(0), "exp": FromNow(300)})
    for header in ({"alg": "HS256"}, {"alg": "HS256", "kid": SIGNER.key_id}):
        signed = f"{encoded(header)}.{encoded(claims)}"
        secret = SIGNER.key.public_key().public_bytes(*form)
        mac = urlsafe_b64encode(hmac.digest(secret, signed.encode(), "sha256")).decode().rstrip("=")
        http.answer = {"id_token": f"{signed}.{mac}"}
        assert "algorithm is not accepted" in refusal(http)


def test_a_response_without_an_id_token_is_refused() -> None:
    http = FakeHttp()
    http.answer = {"id_token": None}
    assert "there is none" in refusal(http)


@pytest.mark.parametrize(
    ("claims", "required", "is_allowed"),
    [
        ({"groups": ["a", "staff"]}, {"groups": ("staff",)}, True),
        ({"groups": "staff"}, {"groups": ("staff", "other")}, True),
        ({"realm_access": {"roles": ["staff"]}}, {"realm_access.roles": ("staff",)}, True),
        ({"https://x.test/roles": ["staff"]}, {"https://x.test/roles": ("staff",)}, True),
        ({"email_verified": True}, {"email_verified": ("true",)}, True),
        ({"groups": ["staff"], "tenant": "t"}, {"groups": ("staff",), "tenant": ("t",)}, True),
        ({"groups": ["staff"]}, {"groups": ("staff",), "tenant": ("t",)}, False),
        ({"groups": ["staffing"]}, {"groups": ("staff",)}, False),
        ({"groups": "staff other"}, {"groups": ("staff",)}, False),
        ({"realm_access": "staff"}, {"realm_access.roles": ("staff",)}, False),
        ({}, {"groups": ("staff",)}, False),
    ],
    ids=str,
)
def test_a_required_claim_decides_who_may_log_in(
    claims: dict[str, Any], required: dict[str, tuple[str, ...]], is_allowed: bool
) -> None:
    http = FakeHttp()
    http.claims = claims
    if is_allowed:
        assert log_in(http, required=required) == "id-1"
    else:
        assert "your account does not have the value of the claim" in refusal(http, required=required)
