"""The settings of a client: bootstrap addresses, timeouts, retries, request limits, security. Times are in seconds."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kconf.client.retries import RetryPolicy
from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from kconf.client.auth.sasl import Sasl
    from kconf.security.tls import Tls

_ADDRESS = re.compile(r"(?:[A-Za-z_]+://)?(?:\[(?P<v6>[^\]]+)\]|(?P<host>[^:/\s]+)):(?P<port>\d{1,5})/?")
_MAX_INT32 = 2**31 - 1


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> Address:
        match = _ADDRESS.fullmatch(text.strip())
        if match is None or not 0 < int(match["port"]) < 65536:
            raise ConfigurationError(f"{text!r} is not an address; use host:port")
        return cls(match["v6"] or match["host"], int(match["port"]))


def addresses(given: str | Iterable[str]) -> tuple[Address, ...]:
    """Parse `host:port`, a comma-separated list of these, or an iterable of such strings."""
    texts = given.split(",") if isinstance(given, str) else given
    return tuple(dict.fromkeys(Address.parse(each) for text in texts for each in text.split(",") if each.strip()))


class Bootstrap(NamedTuple):
    """The addresses that a client connects to first: brokers, or KRaft controllers (KIP-919)."""

    addresses: tuple[Address, ...]
    controllers: bool = False

    @classmethod
    def parse(cls, brokers: str | Iterable[str], controllers: str | Iterable[str] = ()) -> Bootstrap:
        """Parse addresses. Exactly one of the two must be given."""
        servers, quorum = addresses(brokers), addresses(controllers)
        if bool(servers) == bool(quorum):
            raise ConfigurationError("pass either bootstrap brokers or bootstrap_controllers")
        return cls(servers or quorum, bool(quorum))


class Timeouts(NamedTuple):
    """`call` limits a whole call with its retries, `request` one request, `connect` TCP and TLS."""

    call: float = 60.0
    request: float = 30.0
    connect: float = 10.0

    def call_limit(self, timeout: float | None) -> float:
        """The limit of one call, which may have its own timeout."""
        return self.call if timeout is None else timeout

    def request_limit(self, timeout: float | None) -> float:
        """The limit of one request of such a call."""
        return min(self.request, self.call_limit(timeout))

    def request_limit_ms(self, timeout: float | None) -> int:
        """The limit of one request in milliseconds, for its `timeout_ms` field."""
        return max(1, min(int(self.request_limit(timeout) * 1000), _MAX_INT32))

    def long_poll(self, wait: float, timeout: float | None) -> float:
        """How long a server may delay a response: less than the request timeout."""
        return max(0.0, min(wait, 0.8 * self.request_limit(timeout)))


class RequestLimits(NamedTuple):
    """`batch` items per request, `in_flight` requests per connection, `max_frame` bytes per response."""

    batch: int = 250
    in_flight: int = 4
    max_frame: int = 256 * 1024 * 1024


class SecuritySettings(NamedTuple):
    tls: Tls | None = None
    sasl: Sasl | None = None

    @property
    def username(self) -> str | None:
        """The user of a SASL mechanism that has one (PLAIN and SCRAM)."""
        return getattr(self.sasl, "username", None)

    @property
    def is_anonymous(self) -> bool:
        """Whether the client does not authenticate."""
        return self.sasl is None and (self.tls is None or self.tls.certificate is None)


class ConnectionCheck(Protocol):
    """Requests that are sent on each new connection after the login, before all others. Used from any thread."""

    @property
    def has_failed(self) -> bool:
        """Whether open connections must not be used anymore either."""
        ...

    def requests(self, client_id: str, versions: Mapping[int, tuple[int, int]]) -> Generator[bytes, bytes, None]:
        """Yields frames and receives the responses. Raises KafkaError if the connection must not be used.

        `versions` are those of the node, by API key.
        """
        ...


class ClientSettings(NamedTuple):
    bootstrap: Bootstrap
    client_id: str = "kconf"
    timeouts: Timeouts = Timeouts()
    retries: RetryPolicy = RetryPolicy()
    limits: RequestLimits = RequestLimits()
    security: SecuritySettings = SecuritySettings()
    check: ConnectionCheck | None = None

    def __repr__(self) -> str:
        """Shows no credentials."""
        addresses = ", ".join(map(str, self.bootstrap.addresses))
        return f"ClientSettings({addresses}, client_id={self.client_id!r})"

    @property
    def has_failed_check(self) -> bool:
        """Whether no connection must be used anymore."""
        return self.check is not None and self.check.has_failed

    def validate(self) -> None:
        if min(self.limits.batch, self.limits.in_flight, self.retries.connect_attempts) < 1:
            raise ConfigurationError("batch, in_flight and connect_attempts must be at least 1")
