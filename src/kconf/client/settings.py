"""What a client was told at its start: where to begin, how patient to be, how to log in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from kconf.client.auth.sasl import Sasl
    from kconf.security.tls import Tls

_ADDRESS = re.compile(r"(?:[A-Za-z_]+://)?(?:\[(?P<v6>[^\]]+)\]|(?P<host>[^:/\s]+)):(?P<port>\d{1,5})/?")


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> Address:
        match = _ADDRESS.fullmatch(text.strip())
        if match is None or not 0 < int(match["port"]) < 65536:
            raise ConfigurationError(f"{text!r} is not an address; write host:port")
        return cls(match["v6"] or match["host"], int(match["port"]))


class ClientSettings(NamedTuple):
    """Times are in seconds. Where `controllers` is true, `bootstrap` names KRaft controllers in place of brokers."""

    bootstrap: tuple[Address, ...]
    controllers: bool = False
    client_id: str = "kconf"
    timeout: float = 60.0
    request_timeout: float = 30.0
    connect_timeout: float = 10.0
    connect_attempts: int = 3
    backoff: float = 0.1
    backoff_max: float = 1.0
    batch: int = 250
    in_flight: int = 4
    max_frame: int = 256 * 1024 * 1024
    tls: Tls | None = None
    sasl: Sasl | None = None

    def __repr__(self) -> str:
        """Without what logs in."""
        return f"Settings({', '.join(map(str, self.bootstrap))}, client_id={self.client_id!r})"


def addresses(given: str | Iterable[str]) -> tuple[Address, ...]:
    """`host:port`, several with commas between, or a list of such."""
    texts = given.split(",") if isinstance(given, str) else given
    return tuple(dict.fromkeys(Address.parse(each) for text in texts for each in text.split(",") if each.strip()))
