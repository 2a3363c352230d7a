"""Continuous writers: each alters several keys of several resources in one request, and creates and deletes a topic.

A writer numbers its requests and sets all its keys to that number, which shows lost and partial changes: after a crash
all its keys must have the same value, between the last acknowledged and the last sent number.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from kconf.errors import ErrorCode
from kconf.model.journal import Revision
from kconf.model.resource import Overrides, Resource
from kconf.model.snapshot import replay
from kconf.store.base import Store
from kconf.store.registry import open_store
from tests.adversity.alterations import ALTER, CREATE, DELETE, altering, creating, deleting, topic
from tests.adversity.lines import Line, read
from tests.support.process import KconfProcess

KEYS = ("retention.ms", "segment.ms", "flush.ms")
SHARED = "shared"
IN_FLIGHT = 8


class Writer:
    """`run` writes until the connection breaks or `done` is set. It keeps its records when the server is restarted."""

    def __init__(self, number: int) -> None:
        self.topics = [f"writer-{number}-{each}" for each in "ab"]
        self.made = f"made-{number}"
        self.sent = self.acknowledged = 0
        self.exists: bool | None = False  # None: unknown
        self.errors: list[str] = []
        self.done = threading.Event()
        self._waiting: deque[tuple[tuple[str, int], int]] = deque()

    def run(self, kconf: KconfProcess) -> None:
        self._waiting.clear()
        self.done.clear()
        with suppress(OSError), Line(kconf) as line:
            with suppress(OSError, EOFError):
                while not self.done.is_set():
                    self._send(line)
                    if len(self._waiting) >= IN_FLIGHT:
                        self._receive(line)
                line.end()
            with suppress(EOFError):  # responses sent before the connection broke can still be read
                while self._waiting:
                    self._receive(line)
        if any(kind != ALTER for kind, _ in self._waiting):
            self.exists = None

    def _send(self, line: Line) -> None:
        if self.sent % 5 == 4 and self.exists is not None:
            kind = DELETE if self.exists else CREATE
            self._waiting.append((kind, self.sent))
            configs = {key: str(self.sent + 1) for key in KEYS}
            line.send(deleting(self.made) if self.exists else creating(self.made, configs=configs))
            self.exists = not self.exists
        number = self.sent + 1
        requested = {key: str(number) for key in KEYS}
        self.sent = number
        self._waiting.append((ALTER, number))
        line.send(altering({topic(name): requested for name in (*self.topics, SHARED)}, correlation=number))

    def _receive(self, line: Line) -> None:
        kind, number = self._waiting[0]
        answer = read(*kind, line.receive())
        self._waiting.popleft()
        results = answer.topics if kind == CREATE else answer.responses
        codes = {ErrorCode(each.error_code).name for each in results}
        if codes != {"NONE"}:
            self.errors.append(f"{kind} {number}: {codes}")
        elif kind == ALTER:
            self.acknowledged = number

    def check(self, found: Callable[[str], Overrides | None]) -> None:
        """Compare the final state (overrides by topic) with the responses, and continue from it."""
        (number,) = {_only(found(name)) for name in self.topics}
        assert self.acknowledged <= number <= self.sent, (self.topics, self.acknowledged, number, self.sent)
        made = found(self.made)
        exists = made is not None
        assert self.exists in (None, exists), (self.made, self.exists)
        assert (_only(made) > 0) == exists
        _only(found(SHARED))
        self.acknowledged, self.exists = number, exists


@contextmanager
def writing(kconf: KconfProcess, writers: Sequence[Writer]) -> Iterator[None]:
    """Run all writers during the block. At its end, the server must have stopped, or the writers are stopped."""
    threads = [threading.Thread(target=writer.run, args=(kconf,)) for writer in writers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join()


def _only(overrides: Overrides | None) -> int:
    """The common value of all keys; 0 if there are none."""
    if not overrides:
        return 0
    assert set(overrides) == set(KEYS)
    (number,) = {int(value) for value in overrides.values()}
    return number


def check_store(url: str, writers: Sequence[Writer]) -> None:
    """The replayed journal equals the state, and the state agrees with the responses to all writers."""
    store = open_store(url)
    try:
        snapshot = store.load()
        assert replay((each.number, each.changes) for each in _journal(store)) == snapshot
    finally:
        store.close()
    for writer in writers:
        writer.check(lambda name: snapshot.overrides(Resource.topic(name)) if name in snapshot.topics else None)


def _journal(store: Store) -> Iterator[Revision]:
    after = 0
    while revisions := store.changes(after):
        yield from revisions
        after = revisions[-1].number
