"""The SASL mechanisms PLAIN, SCRAM and OAUTHBEARER on the server side. The wire format is in sasl_authenticator.py.

Unknown users go through the same steps, with a dummy credential that no password matches. Neither the error message nor
the response time shows whether a user exists.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from secrets import token_bytes, token_urlsafe
from typing import TYPE_CHECKING, Final, Protocol

from kconf.model.scram import Mechanism
from kconf.security.scram import MIN_ITERATIONS, ScramError, ScramServer, from_text, read_client_first, to_text
from kconf.server.auth.dummy_credentials import DummyCredentials
from kconf.server.auth.login_failed import LoginFailed
from kconf.server.auth.oauthbearer import OAUTHBEARER

if TYPE_CHECKING:
    from kconf.server.auth.oauthbearer.jwt_validator import TokenValidator

PLAIN: Final = "PLAIN"
SCRAMS: Final[Mapping[str, Mechanism]] = {each.word: each for each in Mechanism if each is not Mechanism.UNKNOWN}


@dataclass(frozen=True, slots=True)
class SaslConfig:
    """The SASL settings of a listener."""

    mechanisms: tuple[str, ...]
    plain_users: Mapping[str, str] = field(repr=False)  # name → password
    scram_credential: Callable[[str, Mechanism], str | None] = field(repr=False)  # as Kafka stores it
    lifetimes: Mapping[str, int] = field(default_factory=dict)  # mechanism → connections.max.reauth.ms; 0: no limit
    failure_delay: float = 0.1  # delay of the response to a failure, in seconds
    max_receive_size: int = 524288  # maximum frame size before authentication, in bytes
    dummy_credentials: DummyCredentials = field(
        default_factory=DummyCredentials, repr=False
    )  # for users that do not exist
    tokens: TokenValidator | None = None  # for OAUTHBEARER


class ServerExchange(Protocol):
    """One authentication in progress: takes and returns SASL tokens. `user` is set when it is complete.

    `lifetime_ms` is how long the credential is valid from then on, or None if it does not expire.
    """

    user: str | None
    lifetime_ms: int | None

    def step(self, token: bytes) -> bytes: ...


def start_exchange(mechanism: str, config: SaslConfig) -> ServerExchange:
    """Start an authentication with one of the enabled mechanisms."""
    return _EXCHANGES[mechanism](config)


class PlainExchange:
    """RFC 4616: authorization id NUL user NUL password, in one token."""

    lifetime_ms: int | None = None

    def __init__(self, config: SaslConfig) -> None:
        self.user: str | None = None
        self._users = config.plain_users

    def step(self, token: bytes) -> bytes:
        parts = token.split(b"\0")
        if len(parts) != 3:
            raise LoginFailed("Authentication failed: a PLAIN token has three parts")
        failed = LoginFailed("Authentication failed: invalid user name or password")
        try:
            authzid, user, password = (part.decode() for part in parts)
        except UnicodeDecodeError:
            raise failed from None
        dummy, expected = token_urlsafe(), self._users.get(user)
        same = _equal(password, dummy if expected is None else expected)
        if not user or not password or expected is None or not same or authzid not in ("", user):
            raise failed
        self.user = user
        return b""


def _equal(one: str, other: str) -> bool:
    """Compare in a time that does not depend on the content or the length of the stored password."""
    key = token_bytes(32)
    return hmac.compare_digest(*(hmac.digest(key, each.encode(), sha256) for each in (one, other)))


class ScramExchange:
    """SCRAM in two steps, with the credential of the user or a dummy credential."""

    lifetime_ms: int | None = None

    def __init__(self, mechanism: Mechanism, config: SaslConfig) -> None:
        self.user: str | None = None
        self._mechanism, self._config = mechanism, config
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
        text = self._config.scram_credential(opened.user, self._mechanism)
        dummy = to_text(
            self._config.dummy_credentials.credential(self._mechanism, opened.user)
        )  # also for unknown users, so that the time is the same
        stored = from_text(dummy if text is None else text)
        self._known = text is not None and stored.iterations >= MIN_ITERATIONS
        self._name = opened.user
        used = stored if stored.iterations >= MIN_ITERATIONS else from_text(dummy)
        self._server = ScramServer(self._mechanism, opened, used, token_urlsafe(24))
        return self._server.first()

    def _final(self, server: ScramServer, token: bytes) -> bytes:
        answer = server.final(token)
        if not self._known:
            raise ScramError("nobody")
        self.user = self._name
        return answer


def _oauth(config: SaslConfig) -> ServerExchange:
    assert config.tokens is not None
    from kconf.server.auth.oauthbearer.exchange import OAuthBearerExchange

    return OAuthBearerExchange(config.tokens)


_EXCHANGES: Final[Mapping[str, Callable[[SaslConfig], ServerExchange]]] = {
    PLAIN: PlainExchange,
    **{name: partial(ScramExchange, mechanism) for name, mechanism in SCRAMS.items()},
    OAUTHBEARER: _oauth,
}
MECHANISMS: Final = tuple(_EXCHANGES)
"""The mechanisms that `sasl.enabled.mechanisms` may name. A new one is a class like these and a row above."""
