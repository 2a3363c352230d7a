"""Checks the claims of an ID token (OpenID Connect Core 3.1.3.7), and reads the person from them. `Provider.verified`
has already checked signature, issuer and client.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import new as new_hash
from hmac import compare_digest
from typing import Any, Final

from kconf.console.oidc_settings import OidcSettings
from kconf.server.auth.oauthbearer.jwt_validator import InvalidToken

LEEWAY: Final = 60.0  # seconds by which clocks may differ
MAX_AGE: Final = 600.0  # maximum seconds since the token was issued: it comes directly from the provider
_MAX_NAME: Final = 255  # characters, as of `sub`
_HASHES: Final = {"256": "sha256", "384": "sha384", "512": "sha512"}


class NotAllowed(InvalidToken):
    """The token is valid, but a claim that the console requires has another value."""


@dataclass(frozen=True, slots=True)
class Person:
    """A logged-in person. `subject` is the provider's own ID of the user, which never changes."""

    subject: str
    user: str

    @property
    def principal(self) -> str:
        return f"User:{self.user}"


def read_person(claims: Mapping[str, Any], settings: OidcSettings, now: float) -> Person:
    """The person of verified claims. Raises InvalidToken, or NotAllowed for people who may not log in."""
    _check_party(claims, settings.client_id)
    _check_times(claims, now)
    subject = _name(claims, "sub")
    user = _name(claims, settings.user_claim)
    for claim, allowed in settings.required.items():
        if not _values(claims, claim) & set(allowed):
            raise NotAllowed(f"your account does not have the value of the claim {claim} that this console requires")
    return Person(subject, user)


def check_nonce(claims: Mapping[str, Any], nonce: str) -> None:
    """Check that the token belongs to this login, and not to an earlier one."""
    given = claims.get("nonce")
    if not isinstance(given, str) or not compare_digest(given.encode(), nonce.encode()):
        raise InvalidToken("its nonce does not belong to this login")


def check_access_hash(claims: Mapping[str, Any], algorithm: str, access_token: str) -> None:
    """Check that the access token belongs to the ID token, if that has `at_hash`."""
    expected, name = claims.get("at_hash"), _HASHES.get(algorithm[-3:])
    if expected is None or name is None:  # EdDSA has no hash of its own
        return
    digest = new_hash(name, access_token.encode()).digest()
    found = urlsafe_b64encode(digest[: len(digest) // 2]).rstrip(b"=")
    if not isinstance(expected, str) or not compare_digest(expected.encode(), found):
        raise InvalidToken("its at_hash does not match the access token")


def _check_party(claims: Mapping[str, Any], client_id: str) -> None:
    audiences, party = claims.get("aud"), claims.get("azp")
    if isinstance(audiences, list) and len(audiences) > 1 and party is None:
        raise InvalidToken("it is for several audiences and has no azp claim")
    if party is not None and party != client_id:
        raise InvalidToken("its azp claim names another client")


def _check_times(claims: Mapping[str, Any], now: float) -> None:
    expires, issued = _time(claims, "exp"), _time(claims, "iat")
    if expires is None or issued is None:
        raise InvalidToken("its exp or iat claim is missing")
    if expires + LEEWAY <= now:
        raise InvalidToken("it has expired")
    if issued - LEEWAY > now:
        raise InvalidToken("it was issued in the future: the clocks differ")
    if issued + MAX_AGE + LEEWAY < now:
        raise InvalidToken("it was issued too long ago")
    begins = _time(claims, "nbf")
    if begins is not None and begins - LEEWAY > now:
        raise InvalidToken("it is not valid yet")


def _time(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        raise InvalidToken(f"its {name} claim is not a time")
    return float(value)


def _name(claims: Mapping[str, Any], claim: str) -> str:
    value = claims.get(claim)
    if not isinstance(value, str) or not value.strip() or len(value) > _MAX_NAME:
        raise InvalidToken(f"it has no {claim} claim with a name")
    return value.strip()


def _values(claims: Mapping[str, Any], path: str) -> set[str]:
    """The values of a claim as strings. `realm_access.roles` is also the claim `roles` inside `realm_access`."""
    found: Any = claims.get(path)
    if found is None:
        found = claims
        for part in path.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    listed = found if isinstance(found, list) else [found]
    texts = {each for each in listed if isinstance(each, str)}
    return texts | {str(each).lower() for each in listed if isinstance(each, bool)}
