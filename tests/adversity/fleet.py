"""Several servers on one ZooKeeper, and callers that record the outcome of each of their changes.

Every change has a unique value, so the journal shows how often it was made: once if it was acknowledged, never if it
was refused, and at most once if the outcome is unknown (REQUEST_TIMED_OUT, or a broken connection).
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from typing import Self

from kconf import Revision, SyncAdminClient
from kconf.errors import ErrorCode
from tests.support.admin import SET, TOPIC, Admin
from tests.support.process import KconfProcess

KEY = "retention.ms"
_VALUES = count(1_000_000)


class Fleet:
    """`size` servers, numbered from 1, that share one store."""

    def __init__(self, store: str, size: int) -> None:
        options = ("--metrics", "127.0.0.1:0")
        self.servers = [KconfProcess(store=store, node_id=1 + place, args=options) for place in range(size)]
        self._held = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as held:
            for each in self.servers:
                held.enter_context(each)
            self._held = held.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def create(self, *topics: str) -> None:
        """Create topics, and wait until all servers know them."""
        with Admin(self.servers[0].bootstrap) as admin:
            assert {each.error_code for each in admin.create(*topics, partitions=1, factor=1)} == {0}
        until(lambda: all(_knows(server, topics) for server in self.servers))

    def journals(self, seconds: float = 60.0) -> list[Revision]:
        """The journal, after all servers have the same journal and the same state."""
        until(lambda: len({_revision(each) for each in self.servers}) == 1, seconds)
        first, *others = [journal(each) for each in self.servers]
        assert all(other == first for other in others), "two servers have different journals"
        return first


class Caller:
    """Sets a key of one topic repeatedly, to unique values. Every tenth change is one that must be refused."""

    def __init__(self, server: KconfProcess, topic: str, *, most: int | None = None) -> None:
        self.server, self.topic = server, topic
        self.acknowledged: list[str] = []
        self.refused: list[str] = []
        self.unknown: list[str] = []
        self.codes: Counter[str] = Counter()
        self.done = threading.Event()
        self._most = most
        self._thread = threading.Thread(target=self._run, name=f"caller of {topic}")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self._thread.join()

    def join(self) -> None:
        self._thread.join()

    def wait_for(self, more: int, seconds: float = 60.0) -> None:
        """Wait until this many more changes are acknowledged."""
        goal = len(self.acknowledged) + more
        until(lambda: len(self.acknowledged) >= goal, seconds)

    def _run(self) -> None:
        while not self._is_done():
            with suppress(OSError), Admin(self.server.bootstrap, timeout=60) as line:
                while not self._is_done():
                    self._ask(line)
            self.done.wait(0.02)  # before the next try

    def _is_done(self) -> bool:
        asked = len(self.acknowledged) + len(self.refused) + len(self.unknown)
        return self.done.is_set() or asked == self._most

    def _ask(self, line: Admin) -> None:
        number = next(_VALUES)
        value = f"{number} weeks" if number % 10 == 0 else str(number)
        try:
            code = ErrorCode(line.alter((TOPIC, self.topic), (KEY, SET, value)).error_code)
        except OSError:
            self.unknown.append(value)
            raise
        self.codes[code.name] += 1
        match code:
            case ErrorCode.NONE:
                self.acknowledged.append(value)
            case ErrorCode.REQUEST_TIMED_OUT:
                self.unknown.append(value)
            case _:
                self.refused.append(value)


@contextmanager
def calling(callers: Sequence[Caller]) -> Iterator[None]:
    with ExitStack() as stack:
        for each in callers:
            stack.enter_context(each)
        yield


def check(revisions: Sequence[Revision], callers: Sequence[Caller]) -> None:
    """Compare the journal with the responses to the callers."""
    made = Counter(change.after for each in revisions for change in each.changes if change.key == KEY)
    for caller in callers:
        assert {made[value] for value in caller.acknowledged} <= {1}, "acknowledged, and not there exactly once"
        assert {made[value] for value in caller.refused} <= {0}, "refused, and there all the same"
        assert {made[value] for value in caller.unknown} <= {0, 1}, "there twice"
        assert set(caller.codes) <= {"NONE", "REQUEST_TIMED_OUT", "INVALID_CONFIG"}, caller.codes
        assert all(value.endswith("weeks") for value in caller.refused)
    numbers = [each.number for each in revisions]
    assert numbers == sorted(set(numbers)), "the order of the journal"


def check_state(fleet: Fleet, revisions: Sequence[Revision], topics: Sequence[str]) -> None:
    """On every server a topic has the last value in the journal."""
    last = {change.resource.name: change.after for each in revisions for change in each.changes if change.key == KEY}
    for server in fleet.servers:
        with Admin(server.bootstrap) as admin:
            for topic in topics:
                assert admin.overrides(topic).get(KEY) == last.get(topic), (server.node_id, topic)


def journal(server: KconfProcess) -> list[Revision]:
    """The whole journal, from one server."""
    told: list[Revision] = []
    with SyncAdminClient(server.bootstrap) as admin:
        after = 0
        while True:
            page = admin.list_changes(after)
            told += page.revisions
            if page.next_after >= page.current:
                return told
            after = page.next_after


@contextmanager
def frozen(server: KconfProcess) -> Iterator[None]:
    """Pause a server during the block, with its connections open."""
    os.kill(server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


def until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"it does not hold after {seconds:.0f} s"
        time.sleep(0.02)


def _knows(server: KconfProcess, topics: Sequence[str]) -> bool:
    with Admin(server.bootstrap) as admin:
        return not any(each.error_code for each in admin.describe(*((TOPIC, name) for name in topics)))


def _revision(server: KconfProcess) -> int:
    with SyncAdminClient(server.bootstrap) as admin:
        return admin.list_changes(0, limit=1).current
