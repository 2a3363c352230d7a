"""A clock that counts only the time in which this process was running.

With an ordinary clock, a process that was stopped, or not scheduled on a busy machine, would conclude that a peer has
not responded in time, although the response is waiting in the socket. Here a thread counts short ticks. If a tick takes
longer, the process was not running, and only one tick is counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Final

TICK: Final = 0.25
"""Seconds."""

_LONGEST: Final = 2 * TICK  # a longer tick counts as this


class AwakeClock:
    """`now` can be called from any thread. The clock runs from `start` to `close`."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._last = 0.0, monotonic()  # counted time, and when it was counted; replaced atomically
        self._closed = Event()
        self._thread = Thread(target=self._run, name="kconf-clock", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def now(self) -> float:
        """Seconds of running time since `start`."""
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
