"""Eight writers, four readers that reconnect at random, and a server that is killed repeatedly.

In the end every reader has exactly the sequence in the store's journal: no duplicates, no gaps, and nothing
uncommitted. A fifth reader requests only some topics, and gets exactly their lines.
"""

from __future__ import annotations

import threading
import time
from random import Random
from typing import Any

import pytest

from kconf.model.journal import Revision
from kconf.store.registry import open_store
from tests.feed.reading import changes, question, set_key
from tests.support.admin import TOPIC, Admin
from tests.support.process import KconfProcess
from tests.support.wire import Wire

WRITERS, READERS = 8, 4
BETWEEN = 1.2  # seconds from one kill to the next
MINE = [f"shared-{n}" for n in range(2)]

Line = tuple[int, str, int, str | None, list[tuple[str, str, str | None, str | None]]]


class Writer:
    """Alters its own and shared topics, and creates and deletes one, until it is stopped."""

    def __init__(self, number: int, server: KconfProcess) -> None:
        self.number, self.server = number, server
        self.random = Random(number)
        self.done = 0

    def run(self, over: threading.Event) -> None:
        while not over.is_set():
            try:
                with Admin(self.server.bootstrap, client_id=f"writer-{self.number}", timeout=5) as admin:
                    while not over.is_set():
                        self.write(admin)
            except OSError:
                time.sleep(0.02)  # the server is down

    def write(self, admin: Admin) -> None:
        turn, made = self.done, f"made-{self.number}"
        if turn % 7 == 3:
            admin.create(made, configs={"flush.ms": str(turn + 1)})
        elif turn % 7 == 6:
            admin.delete(made)
        else:
            name = self.random.choice([f"own-{self.number}", *MINE])
            set_key(admin, name, str(1000 + turn), reason=f"turn {turn}")
        self.done += 1


class Reader:
    """Reads continuously and drops connections at random: before, during or after a response."""

    def __init__(self, number: int, server: KconfProcess, filters: list[tuple[int, str | None]]) -> None:
        self.server, self.filters = server, filters
        self.random = Random(100 + number)
        self.after = self.lines_used = 0
        self.found: list[Line] = []
        self.complaints: list[object] = []
        self.is_complete = False

    def run(self, over: threading.Event) -> None:
        """Read until a request that was sent after `over` finds nothing more."""
        while not self.is_complete:
            try:
                with Wire(self.server.bootstrap, timeout=5) as wire:
                    self.lines_used += 1
                    for _ in range(self.random.randint(1, 20)):
                        is_over = over.is_set()
                        self.is_complete = self.read(wire) and is_over
            except OSError:
                time.sleep(0.02)

    def read(self, wire: Wire) -> bool:
        """Whether there was nothing more."""
        wait = self.random.choice([0, 1, 50, 400])
        if self.random.random() < 0.1:
            wire._socket.sendall(question(self.after, wait=wait, filters=self.filters))
            if self.random.random() < 0.5:
                wire._socket.recv(self.random.choice([1, 4, 30]))
            raise ConnectionError("we go")
        answer = changes(wire, self.after, wait=wait, lines=self.random.choice([1, 10, 1000]), filters=self.filters)
        if answer.error_code:
            self.complaints.append(answer)
        self.found += [_line(each) for each in answer.revisions]
        self.after = answer.next_after
        return self.after == answer.current and not answer.revisions


def _line(revision: Any) -> Line:
    lines = [(each.resource_name, each.key, each.before, each.after) for each in revision.changes]
    return revision.revision, revision.client_id, revision.time_ms, revision.reason, lines


def _kept(revision: Revision) -> Line:
    lines = [(each.resource.name, each.key, each.before, each.after) for each in revision.changes]
    return revision.number, revision.caller.client_id, revision.time, revision.caller.reason, lines


@pytest.mark.parametrize("kills", [1, pytest.param(5, marks=pytest.mark.faults)])
def test_every_reader_sees_the_revisions_of_the_journal_in_order(kills: int) -> None:
    writing_over, reading_over = threading.Event(), threading.Event()
    with KconfProcess() as server:
        with Admin(server.bootstrap) as admin:
            admin.create(*MINE, *(f"own-{n}" for n in range(WRITERS)))
        writers = [Writer(n, server) for n in range(WRITERS)]
        readers = [Reader(n, server, []) for n in range(READERS)]
        choosy = Reader(READERS, server, [(TOPIC, name) for name in MINE])
        write = [threading.Thread(target=each.run, args=(writing_over,), daemon=True) for each in writers]
        read = [threading.Thread(target=each.run, args=(reading_over,), daemon=True) for each in (*readers, choosy)]
        for thread in (*write, *read):
            thread.start()
        for _ in range(kills):
            time.sleep(BETWEEN)  # crash at a random moment
            server.kill()
            server.start()
        time.sleep(BETWEEN)
        writing_over.set()
        for thread in write:
            thread.join(120)
        reading_over.set()
        for thread in read:
            thread.join(120)
        assert not any(thread.is_alive() for thread in (*write, *read))
        server.stop()
        journal = _journal(server.store)

    assert [each.complaints for each in (*readers, choosy)] == [[]] * (READERS + 1)
    assert len(journal) > kills
    assert [number for number, *_ in journal] == list(range(1, len(journal) + 1))
    for reader in readers:
        assert reader.found == journal
        assert reader.lines_used > kills
    mine = [(*each[:-1], [line for line in each[-1] if line[0] in MINE]) for each in journal]
    assert choosy.found == [each for each in mine if each[-1]]


def _journal(url: str) -> list[Line]:
    store = open_store(url)
    found: list[Revision] = []
    while more := store.changes(len(found)):
        found += more
    store.close()
    return [_kept(each) for each in found]
