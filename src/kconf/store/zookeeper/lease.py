"""Whether ZooKeeper can still hold the session: it has answered a request that was sent less than a timeout ago.

The client library notices a lost session when it next reads its socket. Until then, a process that was stopped for
longer (SIGSTOP, a suspended machine) would serve what it knew before. The lease ends by the clock alone, so it has
ended in the first moment in which the process runs again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Final

_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # which counts suspended time too
_RENEWALS: Final = 4  # per timeout


def _now() -> float:
    return time.clock_gettime(_CLOCK)


class SessionLease:
    """`ask` sends a request to ZooKeeper, and calls its argument when that is answered.

    `on_gap` is called, from any thread, before a lease that had ended is held again.
    """

    def __init__(
        self,
        ask: Callable[[Callable[[], None]], None],
        on_gap: Callable[[], None],
        clock: Callable[[], float] = _now,
    ) -> None:
        self._ask, self._on_gap, self._clock = ask, on_gap, clock
        self._seconds = 0.0
        self._ends = 0.0
        self._stopped = Event()

    @property
    def is_held(self) -> bool:
        return self._clock() < self._ends

    def start(self, seconds: float) -> None:
        """A session with this timeout has just answered."""
        self._seconds = seconds
        self._ends = self._clock() + seconds
        Thread(target=self._run, name="kconf-zookeeper-lease", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def renew(self) -> None:
        sent = self._clock()

        def answered() -> None:
            ends = sent + self._seconds
            if self._clock() < ends:
                if not self.is_held:
                    self._on_gap()
                self._ends = max(self._ends, ends)

        self._ask(answered)

    def _run(self) -> None:
        while not self._stopped.wait(self._seconds / _RENEWALS):
            self.renew()
