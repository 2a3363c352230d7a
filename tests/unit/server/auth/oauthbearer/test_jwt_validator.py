"""Which bearer tokens are accepted, by Kafka's rules."""

from __future__ import annotations

import hmac
import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from kconf.client.auth.oauth import unsecured
from kconf.server.auth.oauthbearer.jwks import JwksSource, JwksUnavailable, parse_keys
from kconf.server.auth.oauthbearer.jwt_validator import BearerToken, InvalidToken, JwtValidator, UnsecuredValidator
from kconf.server.auth.oauthbearer.settings import JwksSettings, OAuthSettings
from tests.support.token_server import AUDIENCE, ISSUER, SigningKey, key_set

JWKS = JwksSettings("file:///none", 3600.0, 0.1, 10.0)
SETTINGS = OAuthSettings(JWKS, ISSUER, (AUDIENCE,))
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
NOW = int(time.time())


class Key(SigningKey):
    """Signs tokens that are valid at NOW, the validators' time."""

    def token(self, headers: Mapping[str, Any] | None = None, **claims: Any) -> str:
        return super().token(headers, **{"iat": NOW - 90, "exp": NOW + 300, **claims})


SIGNER = Key()


class Keys(JwksSource):
    """Preloaded keys; counts the requested refreshes."""

    def __init__(self, *keys: SigningKey) -> None:
        super().__init__(JWKS)
        self.keys = parse_keys(key_set(*keys).encode())
        self.requested = 0

    def request_refresh(self) -> None:
        self.requested += 1


def validator(*keys: SigningKey, settings: OAuthSettings = SETTINGS) -> JwtValidator:
    return JwtValidator(settings, Keys(*(keys or (SIGNER,))), lambda: NOW)


def part(value: object) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def changed(**settings: Any) -> OAuthSettings:
    return OAuthSettings(**{"jwks": JWKS, "issuer": ISSUER, "audiences": (AUDIENCE,), **settings})


@pytest.mark.parametrize("named", [True, False], ids=["with a key id", "without"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_signed_token_is_accepted(algorithm: str, named: bool) -> None:
    key = Key("k", algorithm, named)

    found = validator(Key("other", "ES256"), key).validate(key.token(exp=NOW + 77, scope=["a", "b"]))

    assert found == BearerToken("alice", NOW + 77, frozenset({"a", "b"}))


def _signed_with_the_public_key() -> str:
    """An attack on libraries that trust the token's algorithm: HMAC with the provider's public key as the secret."""
    public = SIGNER.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "iat": NOW, "exp": NOW + 99}
    text = f"{part({'alg': 'HS256', 'kid': 'one'})}.{part(claims)}"
    return f"{text}.{urlsafe_b64encode(hmac.digest(public, text.encode(), 'sha256')).decode().rstrip('=')}"


WRONG: dict[str, tuple[Callable[[], str], str]] = {
    "not signed": (lambda: unsecured("alice"), "algorithm"),
    "its signature cut off": (lambda: SIGNER.token().rpartition(".")[0] + ".", "not signed with"),
    "signed with the public key": (_signed_with_the_public_key, "algorithm"),
    "signed by another": (lambda: Key().token(), "not signed with"),
    "of an unknown key": (lambda: Key("two").token(), "no key with its id"),
    "of another algorithm": (lambda: Key("one", "PS256", key=SIGNER.key).token(), "no key with its id"),
    "of another type of key": (lambda: Key("one", "ES256").token(), "no key with its id"),
    "with its own key": (lambda: Key().token({"jwk": Key().shown}), "not signed with"),
    "with critical headers": (lambda: SIGNER.token({"crit": ["exp"]}), "critical|JSON Web Token"),
    "expired": (lambda: SIGNER.token(exp=NOW - 31, iat=NOW - 90), "expired"),
    "ended before it was issued": (lambda: SIGNER.token(exp=NOW - 91), "expires before it is issued"),
    "ended before it is valid": (lambda: SIGNER.token(exp=NOW + 5, nbf=NOW + 20), "expires before it is issued"),
    "not valid yet": (lambda: SIGNER.token(nbf=NOW + 60), "not valid yet"),
    "without an end": (lambda: SIGNER.token(exp=None), "exp or iat claim is missing"),
    "without a beginning": (lambda: SIGNER.token(iat=None), "exp or iat claim is missing"),
    "with a text as its end": (lambda: SIGNER.token(exp="never"), "not a time"),
    "of another issuer": (lambda: SIGNER.token(iss="https://other.test"), "issuer"),
    "of no issuer": (lambda: SIGNER.token(iss=None), "no iss claim"),
    "for another audience": (lambda: SIGNER.token(aud="other"), "audience"),
    "for no audience": (lambda: SIGNER.token(aud=None), "no aud claim"),
    "without a name": (lambda: SIGNER.token(sub=None), "not a name"),
    "with an empty name": (lambda: SIGNER.token(sub=" "), "not a name"),
    "with a number as its name": (lambda: SIGNER.token(sub=5), "not a name"),
    "with a scope twice": (lambda: SIGNER.token(scope=["a", "a "]), "empty or repeated scope"),
    "not a token": (lambda: "hello", "not a JSON Web Token"),
    "of three words": (lambda: "a.b.c", "not a JSON Web Token"),
    "with a deep header": (lambda: f"{urlsafe_b64encode(b'[' * 5000).decode()}.e30.x", "not a JSON"),
    "too long": (lambda: SIGNER.token(more="x" * 70_000), "too long"),
}


@pytest.mark.parametrize("why", WRONG)
def test_any_other_token_is_refused(why: str) -> None:
    make, reason = WRONG[why]
    token = make()

    with pytest.raises(InvalidToken, match=reason) as refused:
        validator().validate(token)
    assert token not in str(refused.value)


def test_a_token_within_the_clock_skew_is_accepted() -> None:
    assert validator().validate(SIGNER.token(exp=NOW - 5, iat=NOW - 90)).expires == NOW - 5
    assert validator().validate(SIGNER.token(nbf=NOW + 20)).principal == "alice"
    with pytest.raises(InvalidToken, match="expired"):
        validator(settings=changed(clock_skew=0)).validate(SIGNER.token(exp=NOW - 5, iat=NOW - 90))


def test_one_of_several_audiences_is_enough() -> None:
    settings = changed(audiences=("this", AUDIENCE))

    assert validator(settings=settings).validate(SIGNER.token(aud=["other", AUDIENCE])).principal == "alice"


def test_without_an_expected_audience_a_token_must_have_no_audience() -> None:
    """Like Kafka's validator."""
    settings = changed(audiences=(), issuer=None)

    assert validator(settings=settings).validate(SIGNER.token(aud=None, iss="any")).principal == "alice"
    with pytest.raises(InvalidToken, match="audience"):
        validator(settings=settings).validate(SIGNER.token())


def test_names_of_claims_can_be_set() -> None:
    settings = changed(principal_claim="client_id", scope_claim="scp")

    found = validator(settings=settings).validate(SIGNER.token(client_id="app", scp="one two"))

    assert (found.principal, found.scopes) == ("app", frozenset({"one two"}))
    with pytest.raises(InvalidToken, match="client_id"):
        validator(settings=settings).validate(SIGNER.token())


def test_only_an_unknown_key_triggers_a_fetch_of_keys() -> None:
    keys = Keys(SIGNER)
    judge = JwtValidator(SETTINGS, keys, lambda: NOW)

    for token, requested in ((SIGNER.token(), 0), (SIGNER.token(exp=1), 0), (Key("new").token(), 1)):
        with suppress(InvalidToken):
            judge.validate(token)
        assert keys.requested == requested


def test_unsecured_tokens_are_accepted_only_where_they_are_expected() -> None:
    judge = UnsecuredValidator(OAuthSettings(None), lambda: NOW)
    expired = f"{part({'alg': 'none'})}.{part({'sub': 'alice', 'exp': NOW - 60})}."

    assert judge.validate(unsecured("alice")).principal == "alice"
    with pytest.raises(InvalidToken, match="expired"):
        judge.validate(expired)
    with pytest.raises(InvalidToken, match="signed"):
        judge.validate(SIGNER.token())
    with pytest.raises(InvalidToken, match="no iss claim"):
        UnsecuredValidator(OAuthSettings(None, ISSUER)).validate(unsecured("alice"))


def test_keys_that_cannot_verify_are_skipped() -> None:
    weak = Key("weak", key=rsa.generate_private_key(65537, 1024))
    shown = [
        {"kty": "oct", "k": "c2VjcmV0", "kid": "hmac", "alg": "HS256"},
        {**SIGNER.shown, "use": "enc", "kid": "encryption"},
        {**SIGNER.shown, "key_ops": ["sign"], "kid": "signing"},
        {"kty": "RSA", "kid": "broken", "n": "!", "e": "AQAB"},
        {"kty": "new", "kid": "unknown"},
        weak.shown,
        {**SIGNER.shown, "kid": 5},
    ]

    found = parse_keys(json.dumps({"keys": [*shown, SIGNER.shown]}).encode())

    assert [each.key_id for each in found] == ["one"]
    with pytest.raises(JwksUnavailable, match="no key"):
        parse_keys(json.dumps({"keys": shown}).encode())


def test_only_the_public_part_of_a_private_key_in_the_set_is_used() -> None:
    from jwt.algorithms import RSAAlgorithm

    private = {**RSAAlgorithm.to_jwk(SIGNER.key, as_dict=True), "key_ops": ["sign", "verify"]}
    (found,) = parse_keys(json.dumps({"keys": [private]}).encode())

    assert not hasattr(found.key, "private_numbers")


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"keys":{}}', b'{"keys":[1]}', b"\xff", b"[" * 100_000])
def test_an_invalid_key_set_is_refused(data: bytes) -> None:
    with pytest.raises(JwksUnavailable):
        parse_keys(data)
