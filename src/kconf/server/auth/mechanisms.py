"""Who may log in at a listener, and the steps of a login. gate.py carries them over the wire.

Unknown users are led through the same steps as others, with a credential that nothing fits, and a refusal never says
whether the user exists: neither by its words nor by its time.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from secrets import token_bytes, token_urlsafe
from typing import Final, Protocol

from kconf.engine.access.scram_credentials import credential_text
from kconf.errors import KconfError
from kconf.model.scram import Mechanism
from kconf.model.snapshot import Snapshot
from kconf.security.scram import MIN_ITERATIONS, ScramError, ScramServer, from_text, read_client_first, to_text
from kconf.server.auth.dummy_credentials import DummyCredentials

PLAIN: Final = "PLAIN"
SCRAMS: Final[Mapping[str, Mechanism]] = {each.word: each for each in Mechanism if each is not Mechanism.UNKNOWN}
MECHANISMS: Final = (PLAIN, *SCRAMS)


class LoginFailed(KconfError):
    """The client is not who it says, or did not say it well. The text may be shown to the client."""


@dataclass(frozen=True, slots=True)
class SaslConfig:
    """Who may log in at a listener, and how."""

    mechanisms: tuple[str, ...]
    plain_users: Mapping[str, str] = field(repr=False)  # name → password
    snapshot: Callable[[], Snapshot] = field(repr=False)
    lifetimes: Mapping[str, int] = field(default_factory=dict)  # mechanism → connections.max.reauth.ms; 0: for good
    delay: float = 0.1  # seconds between a failed login and its answer
    largest: int = 524288  # bytes of a frame before anyone is known
    decoys: DummyCredentials = field(default_factory=DummyCredentials, repr=False)  # for users that do not exist


class SaslExchange(Protocol):
    """One login under way: tokens go in, tokens come out; `user` is set at the end."""

    user: str | None

    def step(self, token: bytes) -> bytes: ...


def begin(mechanism: str, realm: SaslConfig) -> SaslExchange:
    """Start a login by one of the realm's mechanisms."""
    if mechanism == PLAIN:
        return PlainExchange(realm)
    return ScramExchange(SCRAMS[mechanism], realm)


class PlainExchange:
    """RFC 4616: authorization id NUL user NUL password, in one token."""

    def __init__(self, realm: SaslConfig) -> None:
        self.user: str | None = None
        self._users = realm.plain_users

    def step(self, token: bytes) -> bytes:
        parts = token.split(b"\0")
        if len(parts) != 3:
            raise LoginFailed("Authentication failed: a PLAIN token has three parts")
        failed = LoginFailed("Authentication failed: invalid user name or password")
        try:
            authzid, user, password = (part.decode() for part in parts)
        except UnicodeDecodeError:
            raise failed from None
        decoy, expected = token_urlsafe(), self._users.get(user)
        same = _equal(password, decoy if expected is None else expected)
        if not user or not password or expected is None or not same or authzid not in ("", user):
            raise failed
        self.user = user
        return b""


def _equal(one: str, other: str) -> bool:
    """In a time that does not depend on where they differ, nor on the length of the one that is kept."""
    key = token_bytes(32)
    return hmac.compare_digest(*(hmac.digest(key, each.encode(), sha256) for each in (one, other)))


class ScramExchange:
    """Two steps, on one credential: the user's, or one that nothing fits."""

    def __init__(self, mechanism: Mechanism, realm: SaslConfig) -> None:
        self.user: str | None = None
        self._mechanism, self._realm = mechanism, realm
        self._server: ScramServer | None = None
        self._name = ""
        self._known = False

    def step(self, token: bytes) -> bytes:
        try:
            return self._first(token) if self._server is None else self._final(self._server, token)
        except ScramError:
            raise LoginFailed(f"Authentication failed: invalid credentials for {self._mechanism.word}") from None

    def _first(self, token: bytes) -> bytes:
        opened = read_client_first(token)
        text = credential_text(self._realm.snapshot(), opened.user, self._mechanism)
        decoy = to_text(self._realm.decoys.credential(self._mechanism, opened.user))  # made for all: it takes time
        kept = from_text(decoy if text is None else text)
        self._known = text is not None and kept.iterations >= MIN_ITERATIONS
        self._name = opened.user
        used = kept if kept.iterations >= MIN_ITERATIONS else from_text(decoy)
        self._server = ScramServer(self._mechanism, opened, used, token_urlsafe(24))
        return self._server.first()

    def _final(self, server: ScramServer, token: bytes) -> bytes:
        answer = server.final(token)
        if not self._known:
            raise ScramError("nobody")
        self.user = self._name
        return answer
