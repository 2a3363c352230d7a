"""The settings of a console. Settings that would expose a cluster are refused before anything is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from kconf.console.oidc_settings import OidcSettings, is_loopback, is_safe_url
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
        return is_loopback(self.host)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """`login`: people log in with their own Kafka credential. `oidc`: they log in with this provider.

    `names` are host names by which people reach it, `public_url` is the address that they use.
    """

    listen: ListenAddress
    targets: Sequence[Target] = ()
    login: bool = False
    certificate: str | None = None
    key: str | None = None
    names: Sequence[str] = ()
    interval: float = 30.0  # seconds between two reads of a cluster
    oidc: OidcSettings | None = None
    public_url: str | None = None
    files: dict[str, Sequence[str]] = field(default_factory=dict)  # by context: declared files, for drift

    @property
    def has_logins(self) -> bool:
        return self.login or self.oidc is not None

    @property
    def has_tls(self) -> bool:
        return self.certificate is not None

    @property
    def is_https(self) -> bool:
        """Whether browsers use HTTPS, here or through a proxy. If so, cookies are sent only over HTTPS."""
        return self.has_tls or (self.public_url or "").startswith("https:")

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
        self._check_oidc()
        if self.listen.is_loopback:
            return
        if not self.has_logins:
            raise ConfigurationError(
                f"{self.listen} can be reached from other machines: without --login, everyone who can connect would "
                "act with the credentials of your contexts; pass --login, or listen on 127.0.0.1"
            )
        if not self.has_tls:
            raise ConfigurationError(
                f"{self.listen} can be reached from other machines: without TLS, passwords can be read on the network; "
                "pass --tls-certificate and --tls-key, or listen on 127.0.0.1 behind a proxy that has TLS"
            )

    def _check_oidc(self) -> None:
        public = self.public_url
        if public is not None and (not is_safe_url(public) or urlsplit(public).path not in ("", "/")):
            raise ConfigurationError(f"--public-url takes an https URL without a path, not {public!r}")
        if self.oidc is None:
            return
        self.oidc.check()
        if self.names and not self.has_tls and public is None:
            raise ConfigurationError(
                "--oidc-issuer with --host-name and without TLS needs the address that browsers use, for the redirect "
                f"URI; pass it with --public-url https://{self.names[0]}"
            )

    def origin(self, host: str) -> str:
        """The address of the console for a browser that requested this host, which must be one of `hosts`."""
        return f"{self.scheme}://{host}" if self.public_url is None else self.public_url.rstrip("/")

    @property
    def hosts(self) -> frozenset[str]:
        """The allowed host names of requests. Others are refused, against DNS rebinding."""
        own = self.listen.host
        bound = [] if own in ("0.0.0.0", "::") else [f"[{own}]" if ":" in own else own]
        public = [] if self.public_url is None else [urlsplit(self.public_url).hostname or ""]
        local = _LOOPBACK_NAMES if self.listen.is_loopback or not bound else ()
        return frozenset(each.lower() for each in (*bound, *local, *self.names, *public))


def parse_listen(text: str) -> ListenAddress:
    """host:port, [v6]:port or :port (loopback)."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ConfigurationError(f"{text!r} is not an address; use HOST:PORT")
    return ListenAddress(host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port))
