"""SASL mechanisms of a client: PLAIN, SCRAM, OAUTHBEARER. Their repr contains no secrets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable, Generator, Mapping
from os import urandom
from typing import NamedTuple

from kconf.errors import AuthenticationFailed, ConfigurationError

_NONCE_BYTES = 24

ClientExchange = Generator[bytes, bytes, None]
"""Yields the client's messages, receives the broker's, and returns when the login succeeded."""


class Sasl(ABC):
    """A mechanism with its credentials.

    If `blocks` is set, it may fetch a token, so AdminClient starts it in a thread.
    """

    mechanism: str
    blocks = False

    @abstractmethod
    def exchange(self, host: str) -> ClientExchange:
        """The messages of one login to a broker on this host."""


class Plain(Sasl):
    """PLAIN: sends the password itself. Use it only with TLS."""

    mechanism = "PLAIN"

    def __init__(self, username: str, password: str) -> None:
        if not username or not password:
            raise ConfigurationError("PLAIN needs a username and a password")
        self.username, self._password = username, password

    def __repr__(self) -> str:
        return f"Plain({self.username!r})"

    def exchange(self, host: str) -> ClientExchange:
        yield b"\0".join((b"", self.username.encode(), self._password.encode()))


class Scram(Sasl):
    """SCRAM: both sides prove that they know the password. `mechanism` is SCRAM-SHA-256 or SCRAM-SHA-512."""

    def __init__(
        self, username: str, password: str, mechanism: str = "SCRAM-SHA-512", *, token_auth: bool = False
    ) -> None:
        if mechanism not in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            raise ConfigurationError(f"{mechanism} is not a SCRAM mechanism")
        if not username or not password:
            raise ConfigurationError(f"{mechanism} needs a username and a password")
        self.mechanism = mechanism
        self.username, self._password, self._token_auth = username, password, token_auth

    def __repr__(self) -> str:
        return f"Scram({self.username!r}, mechanism={self.mechanism!r})"

    def exchange(self, host: str) -> ClientExchange:
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
    """A token from a callable, which is called for every new connection and may cache the token. See oauth.py."""

    mechanism = "OAUTHBEARER"
    blocks = True

    def __init__(self, token: Callable[[], str | Token], *, extensions: Mapping[str, str] | None = None) -> None:
        self._token, self._extensions = token, dict(extensions or {})

    def __repr__(self) -> str:
        return "OAuthBearer()"

    def exchange(self, host: str) -> ClientExchange:
        return self._exchange(self.fetch(host))

    def fetch(self, host: str) -> Token:
        """The token for a broker on this host."""
        given = self._token()
        return Token(given, self._extensions) if isinstance(given, str) else given

    def _exchange(self, token: Token) -> ClientExchange:
        pairs = {"auth": f"Bearer {token.value}", **token.extensions}
        refusal = yield ("n,,\x01" + "".join(f"{key}={value}\x01" for key, value in pairs.items()) + "\x01").encode()
        if refusal:  # RFC 7628: the server fails the login after the client has acknowledged the error
            yield b"\x01"
            raise AuthenticationFailed(f"OAUTHBEARER: the server refused the token: {refusal.decode(errors='replace')}")
