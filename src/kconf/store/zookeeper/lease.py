"""A lease on the ZooKeeper session: valid if ZooKeeper answered a request sent less than a session timeout ago.

The client library notices a lost session only when it reads its socket. Until then, a process that was stopped
(SIGSTOP, a suspended machine) would serve stale data. The lease depends only on the clock, so it has ended as soon as
the process runs again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Final

_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # a clock that includes suspended time
_RENEWALS: Final = 4  # requests per session timeout


def _now() -> float:
    return time.clock_gettime(_CLOCK)


class SessionLease:
    """`ask` sends a request to ZooKeeper and calls its argument with the response.

    `on_gap` is called, from any thread, before a lease becomes valid again.
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
        """Start the lease: a session with this timeout has just responded."""
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
