"""Sessions, stored in the server: a browser has only a random token, of which the server stores the hash.

A session without a credential belongs to a visitor who has not logged in, or to a console without logins. It also has a
CSRF token. Credentials are only in memory, and are deleted with the session.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from hmac import compare_digest
from secrets import token_bytes, token_urlsafe
from threading import Lock
from time import monotonic
from typing import Final

from kconf.console.pending import PendingChanges
from kconf.console.security.oidc.login import OidcIdentity
from kconf.console.security.oidc.pending import PendingLogins
from kconf.operations.target import UserCredential

IDLE_LIMIT: Final = 60 * 60.0  # seconds without a request
TOTAL_LIMIT: Final = 12 * 60 * 60.0
MOST_SESSIONS: Final = 10_000
"""The maximum number of sessions. Above it, the longest idle session ends, so that visitors cannot fill the memory."""
_CSRF_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Session:
    """`credentials` has one per context, `identity` is that of an OIDC provider. Form tokens are made from `csrf`."""

    csrf: bytes = field(repr=False)
    created: float
    used: float
    credentials: Mapping[str, UserCredential] = field(default_factory=dict)
    identity: OidcIdentity | None = None
    logins: PendingLogins = field(default_factory=PendingLogins, repr=False, compare=False)
    changes: PendingChanges = field(default_factory=PendingChanges, repr=False, compare=False)

    @property
    def is_visitor(self) -> bool:
        """Whether nobody has logged in."""
        return not self.credentials and self.identity is None

    def end(self) -> None:
        """Delete secrets that could be used after the session."""
        if self.identity is not None:
            self.identity.tokens.end()

    def form_token(self) -> str:
        """A token for a form, different in every page: compression must not reveal it (BREACH)."""
        pad = token_bytes(_CSRF_BYTES)
        return urlsafe_b64encode(pad + _xor(pad, self.csrf)).decode()

    def accepts(self, token: str) -> bool:
        try:
            given = urlsafe_b64decode(token.encode())
        except (NotBase64, ValueError):
            return False
        if len(given) != 2 * _CSRF_BYTES:
            return False
        return compare_digest(_xor(given[:_CSRF_BYTES], given[_CSRF_BYTES:]), self.csrf)


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


class LoginSessions:
    """All sessions, by the hash of their token. May be used from any thread."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._lock = Lock()
        self._sessions: dict[bytes, Session] = {}

    def find(self, token: str | None) -> Session | None:
        """The session of a token. Counts as use of the session."""
        if not token:
            return None
        with self._lock:
            key = _hash(token)
            found, now = self._sessions.pop(key, None), self._now()
            if found is None:
                return None
            if now - found.used > IDLE_LIMIT or now - found.created > TOTAL_LIMIT:
                found.end()
                return None
            found = self._sessions[key] = replace(found, used=now)
            return found

    def open(
        self, credentials: Mapping[str, UserCredential] | None = None, identity: OidcIdentity | None = None
    ) -> tuple[str, Session]:
        """A new session, and its token."""
        token, now = token_urlsafe(32), self._now()
        session = Session(token_bytes(_CSRF_BYTES), now, now, dict(credentials or {}), identity)
        with self._lock:
            self._sessions[_hash(token)] = session
            if len(self._sessions) > MOST_SESSIONS:
                self._sessions.pop(self._least_needed()).end()
        return token, session

    def _least_needed(self) -> bytes:
        visitors = (key for key, each in self._sessions.items() if each.is_visitor)
        return next(visitors, next(iter(self._sessions)))

    def close(self, token: str, successor: Session | None = None) -> None:
        """End a session. Credentials that its successor has taken over stay valid."""
        with self._lock:
            found = self._sessions.pop(_hash(token), None)
        if found is not None and (successor is None or successor.identity is not found.identity):
            found.end()

    def current(self) -> Sequence[Session]:
        """All active sessions."""
        now = self._now()
        with self._lock:
            ended = [
                key
                for key, each in self._sessions.items()
                if now - each.used > IDLE_LIMIT or now - each.created > TOTAL_LIMIT
            ]
            for key in ended:
                self._sessions.pop(key).end()
            return list(self._sessions.values())


def _hash(token: str) -> bytes:
    return sha256(token.encode()).digest()
