"""Lets a server that keeps losing the race for the next commit have its turn.

Who wins is a little faster at the next race too, so one busy server could keep another from ever committing. One that
has lost a few times takes the turn: it writes its name into /kconf/turn. Every commit names the version of that znode
that it has seen, so those of the others fail from then on, and their servers wait for a moment. The commit of the one
whose turn it is gives it back in the same multi. A server that dies in between is not waited for long.
"""

from __future__ import annotations

from collections.abc import Callable
from secrets import token_hex
from threading import Event
from typing import Any, Final

from kazoo.exceptions import BadVersionError

from kconf.errors import StoreUnavailable
from kconf.store.zookeeper.paths import TURN
from kconf.store.zookeeper.session import Session, ZnodeOp

PATIENCE: Final = 8  # races that are lost before a turn is taken
_LONGEST: Final = 0.3  # seconds that others wait for one who has it


class CommitFairness:
    """Used from the store's thread only."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._name = token_hex(8).encode()
        self._version = 0
        self._is_ours = False
        self._losses = 0

    def op(self) -> ZnodeOp:
        """What a commit has to have in it."""
        return ZnodeOp("set" if self._is_ours else "check", TURN, b"", self._version)

    def won(self) -> None:
        self._version += self._is_ours
        self._is_ours = False
        self._losses = 0

    def lost(self) -> None:
        """Someone else was faster."""
        self._losses += 1
        if self._losses >= PATIENCE and not self._is_ours:
            self._is_ours = self._written(self._name)
            if not self._is_ours:
                self.look()

    def look(self) -> None:
        """See whose turn it is; if another's, wait for it to end, and end it where that takes too long."""
        ended = Event()
        name = self._seen(lambda _event: ended.set())
        self._is_ours = name == self._name
        if not name or self._is_ours:
            return
        if ended.wait(_LONGEST):
            self._seen()
        else:
            self._written(b"")

    def _seen(self, watch: Callable[[Any], None] | None = None) -> bytes:
        """Who has it."""
        found = self._session.get(TURN, watch)
        if found is None:
            raise StoreUnavailable(f"someone has deleted {TURN} in ZooKeeper")
        self._version = found[1].version
        return found[0]

    def _written(self, name: bytes) -> bool:
        try:
            self._version = self._session.set(TURN, name, self._version).version
        except BadVersionError:
            return False
        return True
