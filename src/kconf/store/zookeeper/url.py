"""Parses zookeeper://HOST:PORT[,HOST:PORT]/CHROOT, and Kafka's format without the scheme."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from kconf.errors import ConfigurationError

SCHEME = "zookeeper://"
DEFAULT_PORT = 2181


class ZookeeperUrl(NamedTuple):
    """The servers of an ensemble, and the path that is the root of the store."""

    hosts: Sequence[tuple[str, int]]
    chroot: str

    @classmethod
    def parse(cls, url: str) -> ZookeeperUrl:
        names, _, path = url.removeprefix(SCHEME).partition("/")
        chroot = f"/{path}".rstrip("/")
        if not names or "//" in chroot or any(part in (".", "..") for part in chroot.split("/")):
            raise ConfigurationError(f"{url!r} contains no hosts: use zookeeper://HOST:PORT[,HOST:PORT]/CHROOT")
        return cls([_address(each, url) for each in names.split(",")], chroot)

    @property
    def connect_string(self) -> str:
        return ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts)


def store_url(text: str) -> str:
    """The URL of a store, from a `--zookeeper` option: Kafka's HOST:PORT[,HOST:PORT][/CHROOT], or a URL."""
    if "://" in text:
        return text
    url = SCHEME + text
    ZookeeperUrl.parse(url)
    return url


def _address(text: str, url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        if parts.hostname and parts.username is None:
            return parts.hostname, parts.port or DEFAULT_PORT
    except ValueError:
        pass
    raise ConfigurationError(f"{url!r}: an address must be HOST:PORT")
