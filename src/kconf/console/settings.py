"""The settings of a console. Settings that would expose a cluster are refused before anything is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final

from kconf.errors import ConfigurationError
from kconf.operations.target import Target

RESERVED: Final = ("-", ".", "..")
"""Names that cannot be the first part of an address: `/-/` is the console's own."""
_LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Where the console listens. Port 0 picks a free one."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """`login`: everybody logs in with their own Kafka credential. `names`: the host names of the console."""

    listen: ListenAddress
    targets: Sequence[Target] = ()
    login: bool = False
    certificate: str | None = None
    key: str | None = None
    names: Sequence[str] = ()
    interval: float = 30.0  # seconds between two reads of a cluster
    files: dict[str, Sequence[str]] = field(default_factory=dict)  # by context: declared files, for drift

    @property
    def has_tls(self) -> bool:
        return self.certificate is not None

    @property
    def scheme(self) -> str:
        return "https" if self.has_tls else "http"

    def check(self) -> None:
        """Raise an error if these settings are not allowed."""
        if not self.targets:
            raise ConfigurationError("no context to serve; pass -C NAME, or add one with `kconf context add`")
        for each in self.targets:
            if "/" in each.name or each.name in RESERVED:
                raise ConfigurationError(f"the context name {each.name!r} cannot be part of a web address; rename it")
        if (self.certificate is None) != (self.key is None):
            raise ConfigurationError("--tls-certificate and --tls-key must be given together")
        if self.listen.is_loopback:
            return
        if not self.login:
            raise ConfigurationError(
                f"{self.listen} can be reached from other machines: without --login everybody there would act with the "
                "credentials of your contexts; pass --login, or listen on 127.0.0.1"
            )
        if not self.has_tls:
            raise ConfigurationError(
                f"{self.listen} can be reached from other machines: without TLS, passwords could be read on the way; "
                "pass --tls-certificate and --tls-key, or listen on 127.0.0.1 behind a proxy that has TLS"
            )

    @property
    def hosts(self) -> frozenset[str]:
        """The allowed host names of requests. Others are refused, against DNS rebinding."""
        own = self.listen.host
        bound = [] if own in ("0.0.0.0", "::") else [f"[{own}]" if ":" in own else own]
        local = _LOOPBACK_NAMES if self.listen.is_loopback or not bound else ()
        return frozenset(each.lower() for each in (*bound, *local, *self.names))


def parse_listen(text: str) -> ListenAddress:
    """host:port, [v6]:port or :port (loopback)."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ConfigurationError(f"an address must be HOST:PORT: {text!r}")
    return ListenAddress(host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port))
