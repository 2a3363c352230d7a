"""Wakes the readers of the change feed in small batches, since waking a thousand at once would block other requests.

The first batch is woken immediately. While commits follow each other closely, the pause before the next batch is eight
times the duration of the last one, so that writers get most of the event loop. A reader that is woken later gets
everything committed in the meantime.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from time import monotonic
from typing import Final

AT_ONCE: Final = 8  # readers per batch
_BUSY: Final = 0.1  # seconds between commits below which writers count as active
_REST: Final = 8.0  # pause, as a multiple of the duration of the last batch
_LEAST: Final = 0.001  # maximum pause in seconds

Reader = asyncio.Future[int]


class WakeQueue:
    """Readers to wake, each with the revision up to which nothing matched its filter."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._readers: OrderedDict[Reader, int] = OrderedDict()
        self._is_scheduled = False
        self._committed = self._woken = float("-inf")  # time of the last commit
        self._is_busy = False

    def __len__(self) -> int:
        return len(self._readers)

    def committed(self) -> None:
        now = self._clock()
        self._is_busy, self._committed = now - self._committed < _BUSY, now

    def add(self, readers: Iterable[Reader], position: int) -> None:
        for reader in readers:
            self._readers.setdefault(reader, position)
        if self._readers and not self._is_scheduled:
            self._wake_some()

    def position(self, reader: Reader, otherwise: int) -> int:
        """The revision up to which nothing matched a reader's filter, or `otherwise` if it is not in the queue."""
        return self._readers.get(reader, otherwise)

    def remove(self, reader: Reader) -> None:
        self._readers.pop(reader, None)

    def wake_all(self) -> None:
        while self._readers:
            self._wake_one()

    def _wake_some(self) -> None:
        self._is_scheduled = True
        self._woken = self._clock()
        for _ in range(min(AT_ONCE, len(self._readers))):
            self._wake_one()
        # Two iterations of the event loop later, they have been answered.
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_soon, self._rest)

    def _rest(self) -> None:
        if not self._readers:
            self._is_scheduled = False
            return
        now = self._clock()
        if self._is_busy and now - self._committed < _BUSY:
            rest = max((now - self._woken) * _REST, _LEAST)
            asyncio.get_running_loop().call_later(rest, self._wake_some)
        else:
            self._wake_some()

    def _wake_one(self) -> None:
        reader, position = self._readers.popitem(last=False)
        if not reader.done():
            reader.set_result(position)
