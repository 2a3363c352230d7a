"""Logging in: what a SASL listener asks of a connection before anything else.

The gate reads frames until someone is known. Only ApiVersions and SaslHandshake are answered before that; after a
handshake of version 0 the tokens travel bare, behind a length. A failed login is told in one sentence that never says
whether the user exists, after a pause, and ends the connection. Unknown users are led through the same steps, with a
credential that nothing fits, so that time does not tell them apart either.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from secrets import token_bytes, token_urlsafe
from typing import Protocol

from kconf.engine.credentials import credential_of
from kconf.engine.scram import MIN_ITERATIONS, ScramError, ScramServer, credential, read_client_first
from kconf.errors import KconfError
from kconf.model.scram import Credential, Mechanism
from kconf.model.snapshot import Snapshot

PLAIN = "PLAIN"
SCRAMS: Mapping[str, Mechanism] = {each.word: each for each in Mechanism if each is not Mechanism.UNKNOWN}
MECHANISMS = (PLAIN, *SCRAMS)


class LoginFailed(KconfError):
    """The client is not who it says, or did not say it well. The text may be shown to the client."""


@dataclass(frozen=True, slots=True)
class Realm:
    """Who may log in at a listener, and how."""

    mechanisms: tuple[str, ...]
    plain_users: Mapping[str, str] = field(repr=False)  # name → password
    snapshot: Callable[[], Snapshot]
    max_reauth_ms: int = 0


class Exchange(Protocol):
    """One login under way: tokens go in, tokens come out; `user` is set at the end."""

    user: str | None

    def step(self, token: bytes) -> bytes: ...


def begin(mechanism: str, realm: Realm) -> Exchange:
    """Start a login by one of the realm's mechanisms."""
    if mechanism == PLAIN:
        return PlainExchange(realm)
    return ScramExchange(SCRAMS[mechanism], realm)


class PlainExchange:
    """RFC 4616: authorization id NUL user NUL password, in one token."""

    def __init__(self, realm: Realm) -> None:
        self.user: str | None = None
        self._users = realm.plain_users

    def step(self, token: bytes) -> bytes:
        parts = token.split(b"\0")
        failed = LoginFailed("Authentication failed: wrong user name or password")
        if len(parts) != 3:
            raise LoginFailed("Authentication failed: a PLAIN token has three parts")
        try:
            authzid, user, password = (part.decode() for part in parts)
        except UnicodeDecodeError:
            raise failed from None
        expected = self._users.get(user)
        same = hmac.compare_digest(password.encode(), (expected if expected is not None else token_urlsafe()).encode())
        if not user or not password or expected is None or not same or authzid not in ("", user):
            raise failed
        self.user = user
        return b""


_UNKNOWN_SALT = token_bytes(32)


class ScramExchange:
    """Two steps, on one credential: the user's, or one that nothing fits."""

    def __init__(self, mechanism: Mechanism, realm: Realm) -> None:
        self.user: str | None = None
        self._mechanism, self._realm = mechanism, realm
        self._server: ScramServer | None = None
        self._name = ""
        self._known = False

    def step(self, token: bytes) -> bytes:
        try:
            return self._first(token) if self._server is None else self._final(self._server, token)
        except ScramError:
            raise LoginFailed(f"Authentication failed during {self._mechanism.word} exchange") from None

    def _first(self, token: bytes) -> bytes:
        opened = read_client_first(token)
        kept = credential_of(self._realm.snapshot(), opened.user, self._mechanism)
        self._known = kept is not None and kept.iterations >= MIN_ITERATIONS
        self._name = opened.user
        self._server = ScramServer(
            self._mechanism, opened, kept if kept and self._known else self._nobody(opened.user), token_urlsafe(24)
        )
        return self._server.first()

    def _nobody(self, user: str) -> Credential:
        """A credential for a user that does not exist: the same salt each time it is asked for, as a real one has."""
        salt = hmac.digest(_UNKNOWN_SALT, user.encode(), sha256)[:20]
        return credential(self._mechanism, token_bytes(32), salt, MIN_ITERATIONS)

    def _final(self, server: ScramServer, token: bytes) -> bytes:
        answer = server.final(token)
        if not self._known:
            raise ScramError("nobody")
        self.user = self._name
        return answer
