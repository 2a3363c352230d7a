"""Fuzzing, 100,000 frames in `make faults` (`--fuzz-frames`): the server survives, stays small, and serves others."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from itertools import accumulate, islice
from pathlib import Path
from queue import SimpleQueue
from statistics import median
from tempfile import TemporaryDirectory

import pytest

from kconf.protocol.headers import LENGTH
from tests.adversity.alterations import BROKER, create, describing, topic
from tests.adversity.lines import MB, Line, complaints, memory
from tests.adversity.mutations import TOPIC, Spoiler
from tests.support.process import KconfProcess

BATCH = 2_000
ON_A_LINE = 24
LINES = 4
_QUICK = Path("/dev/shm")  # in memory, for speed: test_killed.py tests durability


def _push(kconf: KconfProcess, frames: Sequence[bytes]) -> None:
    """Send all frames, with a new connection after each refusal. Answered and refused frames are not sent again."""
    while frames:
        batch = frames[:ON_A_LINE]
        with Line(kconf) as line:
            line.socket.settimeout(0.5)
            with contextlib.suppress(ConnectionError, TimeoutError):  # closed, or not read, while we were sending
                line.send(*batch)
                line.end()
            answered = len(line.rest())
        frames = frames[_heard(batch, answered) :]


def _heard(batch: Sequence[bytes], answered: int) -> int:
    """How many frames of a batch the server has read, including the one it refused. Lengths may be wrong."""
    stream, seen = b"".join(batch), 0
    for _ in range(answered):
        seen += 4 + LENGTH.unpack_from(stream, seen)[0]
    for number, end in enumerate(accumulate(map(len, batch)), 1):
        if end > seen:
            return number
    return len(batch)


class _Senders:
    """A few threads that send frames; `send` returns when the server has read a whole batch."""

    def __init__(self, kconf: KconfProcess) -> None:
        self._kconf = kconf
        self._work: SimpleQueue[Sequence[bytes] | None] = SimpleQueue()
        self._done: SimpleQueue[BaseException | None] = SimpleQueue()
        for _ in range(LINES):
            threading.Thread(target=self._run, daemon=True).start()

    def send(self, batch: Sequence[bytes]) -> None:
        for number in range(LINES):
            self._work.put(batch[number::LINES])
        for _ in range(LINES):
            error = self._done.get(timeout=300)
            if error is not None:
                raise error

    def close(self) -> None:
        for _ in range(LINES):
            self._work.put(None)

    def _run(self) -> None:
        while (frames := self._work.get()) is not None:
            try:
                _push(self._kconf, frames)
            except BaseException as error:  # raised in the test, which waits
                self._done.put(error)
            else:
                self._done.put(None)


FEW = 8_000


@pytest.mark.timeout(0)
@pytest.mark.parametrize("few", [True, pytest.param(False, marks=pytest.mark.faults)], ids=["few", "many"])
def test_the_server_survives_corrupted_frames_and_serves_others(pytestconfig: pytest.Config, few: bool) -> None:
    wanted = FEW if few else pytestconfig.getoption("--fuzz-frames")
    frames = Spoiler(seed=wanted).frames()
    with (
        TemporaryDirectory(dir=_QUICK if _QUICK.is_dir() else None) as place,
        KconfProcess(store=f"sqlite:///{place}/kconf.db") as kconf,
        Line(kconf) as neighbor,
    ):
        create(neighbor, TOPIC)
        senders = _Senders(kconf)
        sizes = []
        for _ in range(wanted // BATCH):
            senders.send(list(islice(frames, BATCH)))
            neighbor.send(describing(topic(TOPIC)), describing(BROKER))
            neighbor.receive(), neighbor.receive()
            sizes.append(memory(kconf))
        senders.close()

        assert kconf.is_running
        assert complaints(kconf) == []
        assert median(sizes[-(len(sizes) // 4) :]) < sizes[len(sizes) // 4] + 32 * MB
