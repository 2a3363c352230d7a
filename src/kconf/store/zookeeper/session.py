"""The ZooKeeper session: a kazoo client that raises StoreErrors, and whose calls have a timeout.

Blocking calls are made from the store's thread or a reader's. Callbacks from kazoo's threads (watch events, connection
changes) only set a flag and notify the listener.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from threading import Event
from typing import Any

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

from kconf.errors import StoreUnavailable
from kconf.security.value_cipher import Secrets
from kconf.store.zookeeper.bulk_reader import negotiated_timeout
from kconf.store.zookeeper.lease import SessionLease
from kconf.store.zookeeper.url import ZookeeperUrl
from kconf.store.zookeeper.znode_ops import ANY_VERSION, ZnodeOp

log = logging.getLogger(__name__)

TIMEOUT = 6.0  # seconds: session timeout and request timeout
_CONNECT_TIMEOUT = 15.0  # seconds for the first connection
OUTCOME_UNKNOWN = (ConnectionLoss, OperationTimeoutError, SessionExpiredError, KazooTimeoutError)
"""After one of these errors, it is unknown whether a write was applied."""


@contextmanager
def store_errors() -> Iterator[None]:
    """Convert kazoo's errors to StoreUnavailable."""
    try:
        yield
    except OUTCOME_UNKNOWN:
        raise StoreUnavailable("ZooKeeper does not respond") from None
    except NoAuthError:
        raise StoreUnavailable(
            "ZooKeeper denied access; check that password.encoder.secret is the same as on the other servers"
        ) from None
    except KazooException as error:
        raise StoreUnavailable(f"ZooKeeper refused the request: {type(error).__name__}") from None


class ZookeeperSession:
    """One kazoo client. `on_connected` is called from kazoo's threads."""

    def __init__(self, url: ZookeeperUrl, secrets: Secrets) -> None:
        self.url = url
        self.on_connected: Callable[[], None] = lambda: None
        self.expired = False  # the session was lost, with its ephemeral znodes and watches; reset by the store
        self.generation = 0  # increases when changes may have been missed
        self._lease = SessionLease(self._ask, self._held_again)
        self._connected = Event()
        logging.getLogger("kazoo").setLevel(logging.ERROR)  # the store logs what is relevant
        self.client = KazooClient(
            url.connect_string,
            timeout=TIMEOUT,
            auth_data=[("digest", f"kconf:{_derived(secrets.current)}")] if secrets.current else None,
            connection_retry=KazooRetry(max_tries=-1, delay=0.05, max_delay=1.0, max_jitter=0.3),
        )
        self._private_acl = security.CREATOR_ALL_ACL if secrets.current else None
        self.client.add_listener(self._state_changed)

    def open(self) -> None:
        try:
            self.client.start(_CONNECT_TIMEOUT)
        except KazooTimeoutError:
            self.client.stop()
            self.client.close()
            raise StoreUnavailable(f"no ZooKeeper responds at {self.url.connect_string}") from None
        try:
            timeout = min(TIMEOUT, negotiated_timeout(self.url.hosts, TIMEOUT))
            with store_errors():
                self.client.ensure_path(self.url.chroot or "/")
        except BaseException:
            self.close()
            raise
        self.client.chroot = self.url.chroot
        self._lease.start(timeout)

    def close(self) -> None:
        self._lease.stop()
        self.client.stop()
        self.client.close()

    @property
    def is_connected(self) -> bool:
        return self._connected.is_set()

    @property
    def is_held(self) -> bool:
        """Whether there is a connection and the session cannot have expired."""
        return self._connected.is_set() and self._lease.is_held

    def _ask(self, answered: Callable[[], None]) -> None:
        if self.is_connected:
            self.client.exists_async("/").rawlink(lambda response: answered() if response.successful() else None)

    def _held_again(self) -> None:
        self.generation += 1
        self.client.handler.spawn(self.on_connected)

    def wait_connected(self, seconds: float) -> bool:
        return self._connected.wait(seconds)

    def check_connected(self) -> None:
        """Raise StoreUnavailable without a connection, instead of queuing the request as kazoo does."""
        if not self.is_connected:
            raise StoreUnavailable("ZooKeeper is unavailable")

    def _state_changed(self, state: str) -> None:
        if state == KazooState.CONNECTED:
            self._connected.set()
            self.client.handler.spawn(self._lease.renew)
            self.client.handler.spawn(self.on_connected)
        else:
            self.generation += 1
            self._connected.clear()
            if state == KazooState.LOST:
                self.expired = True

    def get(self, path: str, watch: Callable[[Any], None] | None = None) -> tuple[bytes, Any] | None:
        """The data and stat of a znode, or None if it does not exist."""
        self.check_connected()
        try:
            data, stat = self.client.get_async(path, watch).get(timeout=TIMEOUT)
        except NoNodeError:
            return None
        return data or b"", stat

    def get_many(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes, Any]]:
        """The znodes that exist, requested in parallel."""
        self.check_connected()
        requested = [(path, self.client.get_async(path)) for path in paths]
        for path, response in requested:
            try:
                data, stat = response.get(timeout=TIMEOUT)
            except NoNodeError:
                continue
            yield path, data or b"", stat

    def children(self, path: str, watch: Callable[[Any], None] | None = None) -> list[str]:
        self.check_connected()
        try:
            found: list[str] = self.client.get_children_async(path, watch).get(timeout=TIMEOUT)
        except NoNodeError:
            return []
        return found

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Any:
        """Write a znode. Returns the new stat."""
        self.check_connected()
        return self.client.set_async(path, data, version).get(timeout=TIMEOUT)

    def delete(self, paths: Iterable[str]) -> None:
        """Delete the znodes that exist, requested in parallel."""
        self.check_connected()
        for response in [self.client.delete_async(path) for path in paths]:
            try:
                response.get(timeout=TIMEOUT)
            except NoNodeError:  # deleted by another process
                continue

    def create(self, path: str, data: bytes, *, private: bool = False, ephemeral: bool = False) -> None:
        """Create a znode and its parents. Raises NodeExistsError."""
        self.check_connected()
        acl = self._private_acl if private else None
        self.client.create_async(path, data, acl, ephemeral, makepath=True).get(timeout=TIMEOUT)

    def get_or_create(self, path: str, data: bytes, *, private: bool = False) -> bytes:
        """The data of a znode. Creates it with `data` if it does not exist."""
        try:
            self.create(path, data, private=private)
        except NodeExistsError:
            found = self.get(path)
            return found[0] if found else data
        return data

    def acquire_lock(self, path: str) -> bool:
        """Acquire a lock (an ephemeral znode) if it is free. Returns whether this session holds it."""
        try:
            self.create(path, b"", ephemeral=True)
        except NodeExistsError:
            return self.owns(path)
        return True

    def owns(self, path: str) -> bool:
        """Whether an ephemeral znode belongs to this session."""
        found, identity = self.get(path), self.client.client_id
        return found is not None and identity is not None and found[1].owner_session_id == identity[0]

    def multi(self, ops: Iterable[ZnodeOp]) -> list[Any]:
        """Execute all operations or none. Returns the result or exception of each. Raises one of `OUTCOME_UNKNOWN`."""
        self.check_connected()
        transaction = self.client.transaction()
        for op in ops:
            match op.kind:
                case "create":
                    transaction.create(op.path, op.data)
                case "create_sequential":
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
