"""The provider: its metadata (OIDC discovery), its keys, and its token endpoint."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from threading import Lock
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from kconf.console.oidc_settings import OidcSettings, is_safe_url
from kconf.console.security.oidc.http import ProviderHttp, ProviderUnavailable
from kconf.server.auth.oauthbearer.jwks import JwksUnavailable, VerificationKey, parse_keys
from kconf.server.auth.oauthbearer.jwt_validator import UnknownKey, verified_claims
from kconf.server.auth.oauthbearer.settings import OAuthSettings

WELL_KNOWN: Final = "/.well-known/openid-configuration"
_FRESH: Final = 3600.0  # seconds for which metadata and keys are cached
_AGAIN: Final = 10.0  # seconds between two fetches because of unknown keys
_PAUSE: Final = 3.0  # seconds to wait after metadata could not be read
_SHOWN: Final = 200  # characters of another issuer
_RESOURCE_PARAMETERS: Final = ("audience", "resource")  # RFC 8707: also in requests for tokens


@dataclass(frozen=True, slots=True)
class Metadata:
    """The data of the discovery document. `end_session` is None if the provider has no logout."""

    authorization: str
    token: str
    jwks: str
    end_session: str | None
    posts_secret: bool
    names_itself: bool
    """Every response to an authorization request has the issuer (RFC 9207)."""


@dataclass(frozen=True, slots=True)
class TokenResponse:
    """`lifetime` is in seconds; None if the provider does not send it."""

    access: str = field(repr=False)
    refresh: str | None = field(repr=False)
    id_token: str | None = field(repr=False)
    lifetime: float | None


class Provider:
    """Fetches what it needs when it is needed. May be used from any thread."""

    def __init__(
        self, settings: OidcSettings, http: ProviderHttp | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.settings = settings
        self._http = http or ProviderHttp(settings.issuer, settings.ca_file)
        self._now = now
        self._lock = Lock()
        self._metadata: tuple[float, Metadata] | None = None
        self._keys: tuple[float, tuple[VerificationKey, ...]] | None = None
        self._failed: tuple[float, ProviderUnavailable] | None = None
        self._missed: float | None = None  # when they were last fetched for a missing one
        self._expected = OAuthSettings(None, settings.issuer, (settings.client_id,))

    @property
    def issuer(self) -> str:
        return self.settings.issuer

    def metadata(self) -> Metadata:
        """The metadata; the cached one if it cannot be read again. Raises ProviderUnavailable."""
        with self._lock:
            known = self._metadata
            if known is not None and self._now() - known[0] < _FRESH:
                return known[1]
            failed = self._failed
            if failed is not None and self._now() - failed[0] < _PAUSE:
                raise failed[1]  # waiting logins must not each query an unreachable provider
            try:
                found = _metadata(self.issuer, self._http.get_json(f"{self.issuer.rstrip('/')}{WELL_KNOWN}"))
            except ProviderUnavailable as error:
                if known is None:
                    self._failed = self._now(), error
                    raise
                found = known[1]
            self._metadata = self._now(), found
            return found

    def verified(self, id_token: str) -> Mapping[str, Any]:
        """The claims of an ID token that the provider has signed for this client; other claims are checked elsewhere.

        Raises InvalidToken and ProviderUnavailable. For an unknown key, the keys are fetched once: providers change
        them.
        """
        keys = self._current_keys()
        try:
            return verified_claims(id_token, keys, self._expected)
        except UnknownKey:
            return verified_claims(id_token, self._current_keys(one_is_missing=True), self._expected)

    def _current_keys(self, *, one_is_missing: bool = False) -> tuple[VerificationKey, ...]:
        """The keys. Fetched again if they are old, or if one is missing and the last such fetch was not recent."""
        url = self.metadata().jwks
        with self._lock:
            known, now = self._keys, self._now()
            is_due = one_is_missing and (self._missed is None or now - self._missed >= _AGAIN)
            if known is not None and now - known[0] < _FRESH and not is_due:
                return known[1]
            self._missed = now if one_is_missing else self._missed
            try:
                found = parse_keys(self._http.get(url))
            except (ProviderUnavailable, JwksUnavailable) as error:
                if known is None:
                    raise ProviderUnavailable(f"the keys of {self.issuer} cannot be read: {error}") from None
                return known[1]
            self._keys = self._now(), found
            return found

    def tokens(self, grant: Mapping[str, str]) -> TokenResponse:
        """Exchange a code or a refresh token. Raises ProviderRefused and ProviderUnavailable."""
        settings, metadata = self.settings, self.metadata()
        more = {name: value for name, value in settings.parameters.items() if name in _RESOURCE_PARAMETERS}
        form, headers = {**more, **grant}, {}
        if settings.client_secret is None:
            form["client_id"] = settings.client_id
        elif metadata.posts_secret:
            form |= {"client_id": settings.client_id, "client_secret": settings.client_secret}
        else:  # RFC 6749 2.3.1: both are encoded; %20 also suits decoders that do not know "+"
            joined = ":".join(quote(each, safe="") for each in (settings.client_id, settings.client_secret))
            headers["Authorization"] = f"Basic {b64encode(joined.encode()).decode()}"
        return _token_response(self.issuer, self._http.post(metadata.token, form, headers))

    def logout_url(self) -> str | None:
        """The address for a logout at the provider. It contains no token: the provider asks for confirmation."""
        end = self.metadata().end_session
        if end is None:
            return None
        return f"{end}{'&' if urlsplit(end).query else '?'}{urlencode({'client_id': self.settings.client_id})}"


def _metadata(issuer: str, given: Mapping[str, Any]) -> Metadata:
    named = given.get("issuer")
    if named != issuer:
        other = f", {named!r}" if isinstance(named, str) and len(named) < _SHOWN else ""
        raise ProviderUnavailable(
            f"the metadata of {issuer} is that of another issuer{other}; --oidc-issuer must match it exactly"
        )

    is_https = issuer.startswith("https:")

    def address(name: str) -> str | None:
        url = given.get(name)
        if url is None:
            return None
        if not isinstance(url, str) or not is_safe_url(url) or (is_https and not url.startswith("https:")):
            raise ProviderUnavailable(f"the metadata of {issuer} has a {name} that is not an https URL")
        return url

    needed = [address(name) for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")]
    authorization, token, jwks = needed
    if authorization is None or token is None or jwks is None:
        raise ProviderUnavailable(f"the metadata of {issuer} lacks an endpoint of the authorization code flow")
    challenges = given.get("code_challenge_methods_supported")
    if isinstance(challenges, list) and "S256" not in challenges:
        raise ProviderUnavailable(f"{issuer} does not support PKCE with S256")
    methods = given.get("token_endpoint_auth_methods_supported")
    posts = isinstance(methods, list) and "client_secret_basic" not in methods and "client_secret_post" in methods
    return Metadata(
        authorization,
        token,
        jwks,
        address("end_session_endpoint"),
        posts,
        given.get("authorization_response_iss_parameter_supported") is True,
    )


def _token_response(issuer: str, given: Mapping[str, Any]) -> TokenResponse:
    access, kind = given.get("access_token"), given.get("token_type")
    if not isinstance(access, str) or not access or not isinstance(kind, str) or kind.lower() != "bearer":
        raise ProviderUnavailable(f"{issuer} did not return a bearer token")
    texts = [given.get(name) for name in ("refresh_token", "id_token")]
    refresh, id_token = (each if isinstance(each, str) and each else None for each in texts)
    return TokenResponse(access, refresh, id_token, _lifetime(given.get("expires_in")))


def _lifetime(expires_in: object) -> float | None:
    """Seconds. Some providers send a number as a string."""
    try:
        found = float(expires_in) if isinstance(expires_in, int | float | str) else None
    except (ValueError, OverflowError):
        return None
    return found if found is not None and isfinite(found) else None
