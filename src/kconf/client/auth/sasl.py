"""Logging in: PLAIN, SCRAM, OAUTHBEARER. Each makes a talk of tokens (see line.py) and shows no secret in its repr."""

from __future__ import annotations

from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable, Mapping
from os import urandom
from typing import TYPE_CHECKING, NamedTuple

from kconf.errors import AuthenticationFailed, ConfigurationError

if TYPE_CHECKING:
    from kconf.client.transport.in_flight import Tokens

_NONCE_BYTES = 24


class Sasl(ABC):
    """A way to log in. One that `blocks` may ask others for a token; asyncio starts it in a thread."""

    mechanism: str
    blocks = False

    @abstractmethod
    def talk(self, host: str) -> Tokens:
        """What is said to a broker on this host, and heard from it."""


class Plain(Sasl):
    """The password itself: only for lines that TLS protects."""

    mechanism = "PLAIN"

    def __init__(self, username: str, password: str) -> None:
        if not username or not password:
            raise ConfigurationError("PLAIN needs a username and a password")
        self.username, self._password = username, password

    def __repr__(self) -> str:
        return f"Plain({self.username!r})"

    def talk(self, host: str) -> Tokens:
        yield b"\0".join((b"", self.username.encode(), self._password.encode()))


class Scram(Sasl):
    """A proof of the password, both ways. `mechanism` is SCRAM-SHA-256 or SCRAM-SHA-512."""

    def __init__(
        self, username: str, password: str, mechanism: str = "SCRAM-SHA-512", *, token_auth: bool = False
    ) -> None:
        if mechanism not in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            raise ConfigurationError(f"there is no SCRAM mechanism {mechanism}")
        if not username or not password:
            raise ConfigurationError(f"{mechanism} needs a username and a password")
        self.mechanism = mechanism
        self.username, self._password, self._token_auth = username, password, token_auth

    def __repr__(self) -> str:
        return f"Scram({self.username!r}, mechanism={self.mechanism!r})"

    def talk(self, host: str) -> Tokens:
        from kconf.model.scram import Mechanism
        from kconf.security.scram import ScramClient, ScramError

        kind = Mechanism[self.mechanism.replace("-", "_")]
        nonce = b64encode(urandom(_NONCE_BYTES)).decode()
        # A delegation token logs in like a user (KIP-48).
        extensions = "tokenauth=true" if self._token_auth else ""
        client = ScramClient(kind, self.username, self._password, nonce, extensions=extensions)
        try:
            challenge = yield client.first()
            proof = yield client.final(challenge)
            client.verify(proof)
        except ScramError as error:
            raise AuthenticationFailed(f"{self.mechanism}: {error}") from None


class Token(NamedTuple):
    """A bearer token, and SASL extensions (KIP-342) to send with it."""

    value: str
    extensions: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return "Token([hidden])"


class OAuthBearer(Sasl):
    """A token from a callable, which is asked on every new connection and may keep what it has. See also oauth.py."""

    mechanism = "OAUTHBEARER"
    blocks = True

    def __init__(self, token: Callable[[], str | Token], *, extensions: Mapping[str, str] | None = None) -> None:
        self._token, self._extensions = token, dict(extensions or {})

    def __repr__(self) -> str:
        return "OAuthBearer()"

    def talk(self, host: str) -> Tokens:
        return self._talk(self.fetch(host))

    def fetch(self, host: str) -> Token:
        """The token for a broker on this host."""
        given = self._token()
        return Token(given, self._extensions) if isinstance(given, str) else given

    def _talk(self, token: Token) -> Tokens:
        pairs = {"auth": f"Bearer {token.value}", **token.extensions}
        refusal = yield ("n,,\x01" + "".join(f"{key}={value}\x01" for key, value in pairs.items()) + "\x01").encode()
        if refusal:  # RFC 7628: the server gives its reason, and fails the login once we have said that we heard
            yield b"\x01"
            raise AuthenticationFailed(f"OAUTHBEARER: the token was refused: {refusal.decode(errors='replace')}")
