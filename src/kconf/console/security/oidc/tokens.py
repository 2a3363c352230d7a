"""The tokens of one login, until the end of the session. They are only in memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from logging import getLogger
from threading import Lock
from typing import TYPE_CHECKING, Final

from kconf.console.security.login import LoginRefused
from kconf.console.security.oidc.http import ProviderRefused
from kconf.console.security.oidc.id_token import Person, read_person
from kconf.errors import AuthenticationFailed, ConnectionFailed
from kconf.server.auth.oauthbearer.jwt_validator import InvalidToken

if TYPE_CHECKING:
    from kconf.console.security.oidc.provider import Provider, TokenResponse

log = getLogger(__name__)

DEFAULT_LIFETIME: Final = 300.0  # seconds, if the provider sends none: RFC 6749 only recommends it
_EARLY: Final = 0.2  # fraction of the lifetime before its end at which a token is renewed
_EARLIEST: Final = 60.0  # seconds
_PAUSE: Final = 5.0  # seconds after a request that failed


class PersonTokens:
    """Called for every login to a cluster: returns a valid access token. May be used from any thread."""

    def __init__(
        self, provider: Provider, person: Person, first: TokenResponse, now: Callable[[], float] = time.time
    ) -> None:
        self._provider, self._person, self._now = provider, person, now
        self._lock = Lock()
        self._access, self._expires, self._lifetime = "", 0.0, 0.0
        self._refresh: str | None = None
        self._retry = 0.0
        self.has_ended = False
        """The provider has ended the login, or the session has ended."""
        self._store(first)

    def __repr__(self) -> str:
        return f"PersonTokens({self._person.user!r})"

    @property
    def can_act(self) -> bool:
        """Whether there is a valid token, or a way to get one."""
        return not self.has_ended and (self._refresh is not None or self._now() < self._expires)

    def __call__(self) -> str:
        """Raises AuthenticationFailed if the login has ended, ConnectionFailed if the provider is unreachable."""
        with self._lock:
            now = self._now()
            early = min(_EARLIEST, _EARLY * self._lifetime)
            if self._refresh is not None and now >= self._expires - early and now >= self._retry:
                self._renew(self._refresh)
            if not self.can_act:
                raise AuthenticationFailed(f"your session with {self._provider.issuer} has ended; log in again")
            if self._now() >= self._expires:
                raise ConnectionFailed(f"{self._provider.issuer} cannot be reached to renew your login")
            return self._access

    def end(self) -> None:
        """Delete the tokens at the end of the session."""
        with self._lock:
            self._forget()

    def _renew(self, refresh: str) -> None:
        """Get a new token. If the provider is unreachable, the old one is used until it expires."""
        try:
            found = self._provider.tokens({"grant_type": "refresh_token", "refresh_token": refresh})
            self._check(found)
        except (ProviderRefused, InvalidToken) as refused:
            log.warning("the login of %s has ended: %s", self._person.principal, refused)
            self._forget()
        except LoginRefused as error:
            log.warning("the login of %s could not be renewed: %s", self._person.principal, error)
            self._retry = self._now() + _PAUSE
        else:
            self._store(found)

    def _check(self, found: TokenResponse) -> None:
        """Check that a new ID token is about the same person, who may still log in (OpenID Connect Core 12.2)."""
        if found.id_token is None:
            return
        person = read_person(self._provider.verified(found.id_token), self._provider.settings, self._now())
        if person.subject != self._person.subject:
            raise InvalidToken("the new ID token is about another person")

    def _store(self, found: TokenResponse) -> None:
        self._access = found.access
        self._refresh = found.refresh or self._refresh
        self._lifetime = DEFAULT_LIFETIME if found.lifetime is None else found.lifetime
        self._expires = self._now() + self._lifetime

    def _forget(self) -> None:
        self._access, self._refresh, self.has_ended = "", None, True
