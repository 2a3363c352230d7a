"""Makes sure that a server whose commits keep losing races can commit.

The winner of a race has an advantage in the next one, so a busy server could prevent another from ever committing. A
server that has lost several times takes the turn: it writes its name to /kconf/turn. Every commit checks the version of
that znode, so the commits of other servers then fail, and they wait. The server's commit ends its turn in the same
multi. If the server dies, the others end its turn after a short wait.
"""

from __future__ import annotations

from collections.abc import Callable
from secrets import token_hex
from threading import Event
from typing import Any, Final

from kazoo.exceptions import BadVersionError

from kconf.errors import StoreUnavailable
from kconf.store.zookeeper.paths import TURN
from kconf.store.zookeeper.session import ZookeeperSession
from kconf.store.zookeeper.znode_ops import ZnodeOp

MAX_LOSSES: Final = 8  # lost races in a row before a server takes the turn
_MAX_WAIT: Final = 0.3  # seconds to wait for another server's turn


class CommitFairness:
    """Used from the store's thread only."""

    def __init__(self, session: ZookeeperSession) -> None:
        self._session = session
        self._name = token_hex(8).encode()
        self._version = 0
        self._has_turn = False
        self._losses = 0

    def op(self) -> ZnodeOp:
        """The operation that must be part of every commit."""
        return ZnodeOp("set" if self._has_turn else "check", TURN, b"", self._version)

    def race_won(self) -> None:
        self._version += self._has_turn
        self._has_turn = False
        self._losses = 0

    def race_lost(self) -> None:
        self._losses += 1
        if self._losses >= MAX_LOSSES and not self._has_turn:
            self._has_turn = self._write(self._name)
            if not self._has_turn:
                self.wait_for_turn()

    def wait_for_turn(self) -> None:
        """If another server has the turn, wait until it ends, and end it if that takes too long."""
        ended = Event()
        name = self._read(lambda _event: ended.set())
        self._has_turn = name == self._name
        if not name or self._has_turn:
            return
        if ended.wait(_MAX_WAIT):
            self._read()
        else:
            self._write(b"")

    def _read(self, watch: Callable[[Any], None] | None = None) -> bytes:
        """The name of the server that has the turn."""
        found = self._session.get(TURN, watch)
        if found is None:
            raise StoreUnavailable(f"the znode {TURN} is missing from ZooKeeper; create it again, without data")
        self._version = found[1].version
        return found[0]

    def _write(self, name: bytes) -> bool:
        try:
            self._version = self._session.set(TURN, name, self._version).version
        except BadVersionError:
            return False
        return True
