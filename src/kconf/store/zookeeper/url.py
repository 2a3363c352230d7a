"""zookeeper://HOST:PORT[,HOST:PORT]/CHROOT"""

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
            raise ConfigurationError(f"{url!r} names no ensemble: use zookeeper://HOST:PORT[,HOST:PORT]/CHROOT")
        return cls([_address(each, url) for each in names.split(",")], chroot)

    @property
    def connect_string(self) -> str:
        return ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts)


def _address(text: str, url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        if parts.hostname and parts.username is None:
            return parts.hostname, parts.port or DEFAULT_PORT
    except ValueError:
        pass
    raise ConfigurationError(f"{url!r}: an address reads HOST:PORT")
