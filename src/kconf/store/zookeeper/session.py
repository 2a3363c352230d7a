"""The session with ZooKeeper: kazoo, with its failures as ours, and never waited for longer than it helps.

Blocking calls are made from the store's own thread, or a reader's. What kazoo tells from its threads (a watch fired,
the connection went or came back) sets a flag and wakes whoever follows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from threading import Event
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import urlsplit

from kazoo import security
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import (
    ConnectionLoss,
    KazooException,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
    OperationTimeoutError,
    SessionExpiredError,
)
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.retry import KazooRetry

from kconf.errors import ConfigurationError, StoreUnavailable
from kconf.security.value_cipher import Secrets

log = logging.getLogger(__name__)

SCHEME = "zookeeper://"
DEFAULT_PORT = 2181
TIMEOUT = 6.0  # seconds: of the session, and of an answer
_PATIENCE = 15.0  # seconds for the first connection
Unsure = (ConnectionLoss, OperationTimeoutError, SessionExpiredError, KazooTimeoutError)
"""After one of these a change may have been made or not."""


ANY_VERSION: Final = -1


class ZnodeOp(NamedTuple):
    """One operation of a multi; `notice` is a sequential create."""

    kind: Literal["create", "set", "delete", "check", "notice"]
    path: str
    data: bytes = b""
    version: int = ANY_VERSION


class ZookeeperUrl(NamedTuple):
    """What a store's URL names: the members of an ensemble, and the path under which everything stands."""

    hosts: Sequence[tuple[str, int]]
    chroot: str

    @classmethod
    def of(cls, url: str) -> ZookeeperUrl:
        """zookeeper://host:port[,host:port]/chroot"""
        names, _, path = url.removeprefix(SCHEME).partition("/")
        chroot = f"/{path}".rstrip("/")
        if not names or "//" in chroot or any(part in (".", "..") for part in chroot.split("/")):
            raise ConfigurationError(f"{url!r} names no ensemble: use zookeeper://HOST:PORT[,HOST:PORT]/CHROOT")
        return cls([_address(each, url) for each in names.split(",")], chroot)

    @property
    def names(self) -> str:
        return ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts)


def _address(text: str, url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        if parts.hostname and parts.username is None:
            return parts.hostname, parts.port or DEFAULT_PORT
    except ValueError:
        pass
    raise ConfigurationError(f"{url!r}: an address reads HOST:PORT")


@contextmanager
def failures() -> Iterator[None]:
    """What ZooKeeper refuses, or does not answer, is a store that cannot be used now."""
    try:
        yield
    except Unsure:
        raise StoreUnavailable("ZooKeeper does not answer") from None
    except NoAuthError:
        raise StoreUnavailable(
            "ZooKeeper does not let us: is password.encoder.secret the one that the other servers have?"
        ) from None
    except KazooException as error:
        raise StoreUnavailable(f"ZooKeeper refused: {type(error).__name__}") from None


class Session:
    """One kazoo client. `on_news` is called from kazoo's threads when there may be something to read."""

    def __init__(self, place: ZookeeperUrl, secrets: Secrets) -> None:
        self.place = place
        self.on_news: Callable[[], None] = lambda: None
        self.expired = False  # since someone last looked: ephemeral znodes are gone, and changes may have been missed
        self._up = Event()
        logging.getLogger("kazoo").setLevel(logging.ERROR)  # the store tells of what matters
        self.client = KazooClient(
            place.names,
            timeout=TIMEOUT,
            auth_data=[("digest", f"kconf:{_derived(secrets.current)}")] if secrets.current else None,
            connection_retry=KazooRetry(max_tries=-1, delay=0.05, max_delay=1.0, max_jitter=0.3),
        )
        self.private = security.CREATOR_ALL_ACL if secrets.current else None
        self.client.add_listener(self._changed)

    def open(self) -> None:
        try:
            self.client.start(_PATIENCE)
        except KazooTimeoutError:
            self.client.stop()
            self.client.close()
            raise StoreUnavailable(f"no ZooKeeper answers at {self.place.names}") from None
        with failures():
            self.client.ensure_path(self.place.chroot or "/")
        self.client.chroot = self.place.chroot

    def close(self) -> None:
        self.client.stop()
        self.client.close()

    @property
    def is_up(self) -> bool:
        return self._up.is_set()

    def await_up(self, seconds: float) -> bool:
        return self._up.wait(seconds)

    def check(self) -> None:
        """Fail at once rather than queue behind a connection that is not there."""
        if not self.is_up:
            raise StoreUnavailable("ZooKeeper cannot be reached now")

    def _changed(self, state: str) -> None:
        if state == KazooState.CONNECTED:
            self._up.set()
            self.client.handler.spawn(self.on_news)
        else:
            self._up.clear()
            if state == KazooState.LOST:
                self.expired = True

    def get(self, path: str, watch: Callable[[Any], None] | None = None) -> tuple[bytes, Any] | None:
        """The data and the stat of a znode; None where there is none."""
        self.check()
        try:
            data, stat = self.client.get_async(path, watch).get(timeout=TIMEOUT)
        except NoNodeError:
            return None
        return data or b"", stat

    def get_many(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes, Any]]:
        """Those that there are, asked for together."""
        self.check()
        asked = [(path, self.client.get_async(path)) for path in paths]
        for path, answer in asked:
            try:
                data, stat = answer.get(timeout=TIMEOUT)
            except NoNodeError:
                continue
            yield path, data or b"", stat

    def children(self, path: str, watch: Callable[[Any], None] | None = None) -> list[str]:
        self.check()
        try:
            found: list[str] = self.client.get_children_async(path, watch).get(timeout=TIMEOUT)
        except NoNodeError:
            return []
        return found

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Any:
        """The stat that a znode has then."""
        self.check()
        return self.client.set_async(path, data, version).get(timeout=TIMEOUT)

    def delete(self, paths: Iterable[str]) -> None:
        """Those that there are, asked for together."""
        self.check()
        for answer in [self.client.delete_async(path) for path in paths]:
            try:
                answer.get(timeout=TIMEOUT)
            except NoNodeError:  # someone was faster
                continue

    def create(self, path: str, data: bytes, *, private: bool = False, ephemeral: bool = False) -> None:
        """Make a znode, and those above it; NodeExistsError where there is one."""
        self.check()
        acl = self.private if private else None
        self.client.create_async(path, data, acl, ephemeral, makepath=True).get(timeout=TIMEOUT)

    def create_once(self, path: str, data: bytes, *, private: bool = False) -> bytes:
        """What stands at a path: `data`, unless someone was earlier."""
        try:
            self.create(path, data, private=private)
        except NodeExistsError:
            found = self.get(path)
            return found[0] if found else data
        return data

    def holds(self, path: str) -> bool:
        """Whether a lock is ours: an ephemeral znode, made now where nobody has it."""
        try:
            self.create(path, b"", ephemeral=True)
        except NodeExistsError:
            found = self.get(path)
            return (
                found is not None
                and self.client.client_id is not None
                and found[1].owner_session_id == self.client.client_id[0]
            )
        return True

    def commit(self, ops: Iterable[ZnodeOp]) -> list[Any]:
        """One multi: the result of each operation, or exceptions. Raises one of `Unsure` when nobody knows."""
        self.check()
        transaction = self.client.transaction()
        for op in ops:
            match op.kind:
                case "create":
                    transaction.create(op.path, op.data)
                case "notice":
                    transaction.create(op.path, op.data, sequence=True)
                case "set":
                    transaction.set_data(op.path, op.data, op.version)
                case "delete":
                    transaction.delete(op.path, op.version)
                case "check":
                    transaction.check(op.path, op.version)
        results: list[Any] = transaction.commit_async().get(timeout=TIMEOUT)
        return results


def _derived(secret: str) -> str:
    return sha256(b"kconf zookeeper digest\0" + secret.encode()).hexdigest()
