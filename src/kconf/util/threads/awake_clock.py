"""A clock that counts only the time in which this process could run.

A process that waits for a peer by the time of day takes its own absence for the silence of the peer: it may have been
stopped, or the machine may have been too busy to run it, while an answer was waiting in the socket. A thread counts
short ticks; if one of them took longer, the process was away, and only a tick is counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Final

TICK: Final = 0.25
"""Seconds."""

_LONGEST: Final = 2 * TICK  # a tick that took longer counts as this


class AwakeClock:
    """`now` can be called from any thread. The clock does not advance after `close`, nor before `start`."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._last = 0.0, monotonic()  # what was counted, and when; replaced as one
        self._closed = Event()
        self._thread = Thread(target=self._run, name="kconf-clock", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def now(self) -> float:
        """Seconds since the clock was made."""
        counted, at = self._last
        return counted + min(self._monotonic() - at, _LONGEST)

    def tick(self) -> None:
        now = self._monotonic()
        counted, at = self._last
        self._last = counted + min(now - at, _LONGEST), now

    def close(self) -> None:
        self._closed.set()

    def _run(self) -> None:
        while not self._closed.wait(TICK):
            self.tick()
