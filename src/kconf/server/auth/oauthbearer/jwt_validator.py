"""Validates bearer tokens by Kafka's rules (BrokerJwtValidator), with PyJWT.

The algorithm must be one of RS, PS, ES or EdDSA and must fit the key. A token cannot select HMAC, and `none` is
accepted by `UnsecuredValidator` only. Headers that contain keys (jwk, jku, x5c) are ignored.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from kconf.server.auth.oauthbearer.jwks import JwksSource, VerificationKey
from kconf.server.auth.oauthbearer.settings import OAuthSettings

MAX_TOKEN: Final = 1 << 16  # characters
_MAX_HEADER: Final = 1 << 13
_MAX_TRIES: Final = 8  # keys, for a token without a key id

_ALGORITHMS: Final[Mapping[str, tuple[str, tuple[str | None, ...]]]] = {
    **{f"{family}{bits}": ("RSA", (None,)) for family in ("RS", "PS") for bits in (256, 384, 512)},
    "ES256": ("EC", ("P-256",)),
    "ES384": ("EC", ("P-384",)),
    "ES512": ("EC", ("P-521",)),
    "EdDSA": ("OKP", ("Ed25519", "Ed448")),
}
"""Key type and curves, by accepted algorithm."""


class InvalidToken(Exception):
    """The token is not valid. The message is for the log and contains no part of the token."""


class UnknownKey(InvalidToken):
    """No key has the id and algorithm of the token. The provider may have a new key."""


class BearerToken(NamedTuple):
    """A valid token. `expires` is in seconds since 1970."""

    principal: str
    expires: float
    scopes: frozenset[str]


class TokenValidator(Protocol):
    def validate(self, token: str) -> BearerToken:
        """The content of a valid token. Raises InvalidToken."""
        ...


class JwtValidator:
    """Accepts tokens that the provider has signed for this cluster and that have not expired."""

    def __init__(self, settings: OAuthSettings, keys: JwksSource, now: Callable[[], float] = time.time) -> None:
        self._settings, self._keys, self._now = settings, keys, now

    def validate(self, token: str) -> BearerToken:
        try:
            claims = verified_claims(token, self._keys.keys, self._settings)
        except UnknownKey:
            self._keys.request_refresh()
            raise
        return _read(claims, self._settings, self._now(), requires_issued_at=True)


def verified_claims(token: str, keys: Sequence[VerificationKey], settings: OAuthSettings) -> Mapping[str, Any]:
    """The claims of a token, with its signature, issuer and audience verified. Times are not checked.

    Raises InvalidToken, or UnknownKey if no key has its id and algorithm.
    """
    header = _header(token)
    algorithm, key_id = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in _ALGORITHMS:
        raise InvalidToken("its signature algorithm is not accepted")
    fitting = [each for each in keys if _fits(each, algorithm, key_id)]
    if not fitting:
        raise UnknownKey("the provider has no key with its id and algorithm")
    for each in fitting[:_MAX_TRIES]:
        try:
            return _decode(token, settings, each.key, algorithm)
        except _WrongSignature:
            continue
    raise InvalidToken("it is not signed with the provider's key")


class UnsecuredValidator:
    """Accepts tokens without a signature, with which a client can claim any user name. For tests."""

    def __init__(self, settings: OAuthSettings, now: Callable[[], float] = time.time) -> None:
        self._settings, self._now = settings, now

    def validate(self, token: str) -> BearerToken:
        if _header(token).get("alg") != "none" or not token.endswith("."):
            raise InvalidToken("it is signed, but this listener accepts only tokens without a signature")
        claims = _decode(token, self._settings, None, "none")
        return _read(claims, self._settings, self._now(), requires_issued_at=False)


class _WrongSignature(Exception):
    pass


def _header(token: str) -> Mapping[str, Any]:
    from jwt import PyJWTError, get_unverified_header

    if len(token) > MAX_TOKEN or token.find(".") > _MAX_HEADER or token.count(".") != 2:
        raise InvalidToken("it is not a JSON Web Token, or too long")
    try:
        header: dict[str, Any] = get_unverified_header(token)
    except (PyJWTError, ValueError, TypeError, RecursionError):
        raise InvalidToken("it is not a JSON Web Token") from None
    if "crit" in header:
        raise InvalidToken("its header has a crit field (critical extensions), which is not supported")
    return header


def _fits(key: VerificationKey, algorithm: str, key_id: object) -> bool:
    kind, curves = _ALGORITHMS[algorithm]
    has_id = key_id is None or key.key_id == key_id
    return has_id and key.type == kind and key.curve in curves and key.algorithm in (None, algorithm)


def _decode(token: str, settings: OAuthSettings, key: Any, algorithm: str) -> Mapping[str, Any]:
    """The claims, with signature, issuer and audience verified; `_read` checks the other claims."""
    import jwt

    is_signed = algorithm != "none"
    # As in Kafka, a signed token with an audience is refused if no audience is configured.
    checks_audience = is_signed or bool(settings.audiences)
    try:
        return jwt.decode(
            token,
            key,
            algorithms=[algorithm] if is_signed else None,
            audience=settings.audiences or None,
            issuer=settings.issuer,
            options={
                "verify_signature": is_signed,
                "verify_exp": False,
                "verify_nbf": False,
                "verify_iat": False,
                "verify_sub": False,
                "verify_jti": False,
                "verify_aud": checks_audience,
                "verify_iss": settings.issuer is not None,
            },
        )
    except (jwt.InvalidSignatureError, jwt.InvalidKeyError):
        raise _WrongSignature from None
    except jwt.InvalidIssuerError:
        raise InvalidToken("it is from another issuer") from None
    except jwt.InvalidAudienceError:
        raise InvalidToken("it is for another audience") from None
    except jwt.MissingRequiredClaimError as error:
        raise InvalidToken(f"it has no {error.claim} claim") from None
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
        raise InvalidToken("it cannot be read") from None


def _read(claims: Mapping[str, Any], settings: OAuthSettings, now: float, *, requires_issued_at: bool) -> BearerToken:
    skew = settings.clock_skew
    expires, issued, begins = (_time(claims, name) for name in ("exp", "iat", "nbf"))
    if expires is None or (requires_issued_at and issued is None):
        raise InvalidToken("its exp or iat claim is missing")
    if expires < max(issued or 0, begins or 0):
        raise InvalidToken("it expires before it is issued or valid")
    if expires + skew <= now:
        raise InvalidToken("it has expired")
    if begins is not None and begins - skew > now:
        raise InvalidToken("it is not valid yet")
    principal = claims.get(settings.principal_claim)
    if not isinstance(principal, str) or not principal.strip():
        raise InvalidToken(f"its {settings.principal_claim} claim is not a name")
    return BearerToken(principal.strip(), expires, _scopes(claims.get(settings.scope_claim)))


def _time(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        raise InvalidToken(f"its {name} claim is not a time")
    return float(value)


def _scopes(given: object) -> frozenset[str]:
    """The scopes of a claim. As in Kafka, a string is one scope, and a list has no empty or repeated scopes."""
    found: Iterable[object] = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    names = [each.strip() for each in found if isinstance(each, str)]
    if "" in names or len(set(names)) != len(names):
        raise InvalidToken("it has an empty or repeated scope")
    return frozenset(names)
