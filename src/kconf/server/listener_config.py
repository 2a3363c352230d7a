"""The configuration of listeners: names, addresses, security protocols and per-listener settings.

Read from the command line (`--listen HOST:PORT` is PLAINTEXT, `--listen NAME://HOST:PORT` has the protocol of its name)
or from server.properties, as in Kafka: `listeners`, `advertised.listeners`, `listener.security.protocol.map`. A setting
with the prefix `listener.name.<listener>.` takes precedence over the same setting without it. Controller listeners are
ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from errno import EADDRINUSE
from ipaddress import ip_address
from typing import NamedTuple

from kconf.errors import ConfigurationError

DEFAULT_ADDRESS = "127.0.0.1:9092"
_EVERYWHERE = ("", "0.0.0.0", "::")
_NAMED = re.compile(r"(?P<name>[A-Za-z0-9_-]+)://(?P<address>.*)")


class SecurityProtocol(StrEnum):
    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def tls(self) -> bool:
        return self.endswith("SSL")

    @property
    def sasl(self) -> bool:
        return self.startswith("SASL")


class SocketAddress(NamedTuple):
    """A host and port. An empty host means all interfaces."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class EndPoint:
    """A listener as configured. If `advertised` is None, clients get the address to which they are connected.

    `node` is the broker that this listener of a gateway is for, if any.
    """

    name: str
    protocol: SecurityProtocol
    address: SocketAddress
    advertised: SocketAddress | None = None
    node: int | None = None

    def __str__(self) -> str:
        return f"{self.name}://{self.address}"

    def prefixed(self, key: str) -> str:
        """The name of a setting for this listener only."""
        return f"listener.name.{self.name.lower()}.{key}"

    def setting(self, effective: Mapping[str, str], key: str) -> str | None:
        """The effective value: the listener's own or the broker's, or None if neither is set."""
        own = effective.get(self.prefixed(key))
        return effective.get(key) if own is None else own

    def settings(self, effective: Mapping[str, str], start: str) -> dict[str, str]:
        """All effective settings that start with `start`, without the prefix of the listener."""
        found = {key: value for key, value in effective.items() if key.startswith(start)}
        prefix = self.prefixed("")
        own = {key.removeprefix(prefix): value for key, value in effective.items() if key.startswith(prefix + start)}
        return found | own

    @property
    def is_exposed(self) -> bool:
        """Whether other machines can connect."""
        host = self.address.host
        if host == "localhost":
            return False
        try:
            return not ip_address(host).is_loopback
        except ValueError:
            return True

    @property
    def is_clear(self) -> bool:
        """Whether the traffic is not encrypted."""
        return not self.protocol.tls


def parse_address(text: str, *, everywhere: str = "127.0.0.1") -> SocketAddress:
    """Parse host:port, [v6]:port or :port. `everywhere` is the host of the last form."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise ConfigurationError(f"an address must be HOST:PORT: {text!r}")
    return SocketAddress(host.removeprefix("[").removesuffix("]") or everywhere, int(port))


@contextmanager
def explain_bind_error(
    host: str, port: int, if_in_use: str = "; choose another port, or 0 for a free one"
) -> Iterator[None]:
    """Convert a bind error to a ConfigurationError with the address, the reason, and advice if the port is in use."""
    try:
        yield
    except (OSError, UnicodeError) as error:  # UnicodeError: not a valid host name
        why = getattr(error, "strerror", None) or error
        advice = if_in_use if getattr(error, "errno", None) == EADDRINUSE else ""
        raise ConfigurationError(f"cannot listen on {host}:{port}: {why}{advice}") from None


def read_listeners(given: Sequence[str], static: Mapping[str, str]) -> tuple[EndPoint, ...]:
    """The listeners of the command line or of the file; by default one on loopback.

    The file's advertised address does not apply to HOST:PORT without a name.
    """
    protocols = _protocols(static)
    if given or not static.get("listeners", "").strip():
        found = [_from_command(each, protocols) for each in given or (DEFAULT_ADDRESS,)]
    else:
        skipped = _controllers(static)
        pairs = [_named(item) for item in _items(static["listeners"])]
        found = [
            EndPoint(name, _protocol(name, protocols), parse_address(text, everywhere=""))
            for name, text in pairs
            if name not in skipped
        ]
        if not found:
            raise ConfigurationError("listeners contains controller listeners only; kconf is not a controller")
    names = [each.name for each in found]
    bare = {each.name for each, text in zip(found, given, strict=False) if "://" not in text}
    for name in names:
        if names.count(name) > 1:
            raise ConfigurationError(f"two listeners are named {name}; names must be unique")
    advertised = _advertised(static.get("advertised.listeners"))
    return tuple(each if each.name in bare else replace(each, advertised=advertised.get(each.name)) for each in found)


def with_listeners(static: Mapping[str, str], bound: Mapping[EndPoint, SocketAddress]) -> dict[str, str]:
    """The static configuration with the bound addresses, which a describe shows.

    If the file has the bound address, its text is kept. A listener on all interfaces advertises the address to which a
    client is connected, which no setting can express.
    """
    opened = {each.name: address for each, address in bound.items()}
    pairs = dict(_named(item) for item in _items(static.get("listeners")))
    skipped = _controllers(static)
    of_file = {name: parse_address(text, everywhere="") for name, text in pairs.items() if name not in skipped}
    if of_file == opened:
        return dict(static)
    controllers = {name: text for name, text in pairs.items() if name in skipped}
    advertised = {each.name: each.advertised or address for each, address in bound.items()}
    known = {name: address for name, address in advertised.items() if address.host not in _EVERYWHERE}
    found = {**static, "listeners": _joined({**opened, **controllers}), "advertised.listeners": _joined(known)}
    if not known:
        del found["advertised.listeners"]
    return found


def _joined(addresses: Mapping[str, object]) -> str:
    return ",".join(f"{name}://{address}" for name, address in addresses.items())


def _controllers(static: Mapping[str, str]) -> set[str]:
    """The names of controller listeners."""
    return {each.upper() for each in _items(static.get("controller.listener.names"))}


def _from_command(text: str, protocols: Mapping[str, str]) -> EndPoint:
    match = _NAMED.fullmatch(text.strip())
    if match is None:
        return EndPoint("PLAINTEXT", SecurityProtocol.PLAINTEXT, parse_address(text))
    name = match["name"].upper()
    return EndPoint(name, _protocol(name, protocols), parse_address(match["address"]))


def _named(item: str) -> tuple[str, str]:
    match = _NAMED.fullmatch(item)
    if match is None:
        raise ConfigurationError(f"a listener must be NAME://host:port: {item!r}")
    return match["name"].upper(), match["address"]


def _protocols(static: Mapping[str, str]) -> dict[str, str]:
    text = static.get("listener.security.protocol.map")
    if text is None:
        return {each.value: each.value for each in SecurityProtocol}
    pairs = (item.partition(":") for item in _items(text))
    return {name.strip().upper(): protocol.strip().upper() for name, _, protocol in pairs}


def _protocol(name: str, protocols: Mapping[str, str]) -> SecurityProtocol:
    word = protocols.get(name)
    if word is None:
        raise ConfigurationError(f"listener {name} has no entry in listener.security.protocol.map")
    try:
        return SecurityProtocol(word)
    except ValueError:
        words = ", ".join(SecurityProtocol)
        raise ConfigurationError(f"listener {name}: unknown protocol {word}; use one of {words}") from None


def _advertised(text: str | None) -> dict[str, SocketAddress]:
    found = {name: parse_address(address) for name, address in map(_named, _items(text))}
    for name, address in found.items():
        if address.host in _EVERYWHERE:
            raise ConfigurationError(
                f"advertised.listeners: clients cannot connect to {address}; give listener {name} a host name or an IP "
                "address of this machine"
            )
    return found


def _items(text: str | None) -> list[str]:
    return [item.strip() for item in (text or "").split(",") if item.strip()]
