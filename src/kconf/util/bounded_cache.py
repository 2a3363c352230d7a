"""A cache for client requests, bounded by bytes, since its keys come from requests and may be long."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from sys import getsizeof
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MAX_ENTRY: Final = 2048  # bytes; a larger entry is not cached
_OVERHEAD: Final = 200  # approximate bytes of an entry without its key


def text_size(*texts: str | None) -> int:
    """The size of an entry whose key consists of these strings, in bytes."""
    return _OVERHEAD + sum(map(getsizeof, texts))


class BoundedCache(Generic[K, V]):
    """Evicts the oldest entries first. `get` of a missing key returns None. `size_of` returns the size of an entry."""

    def __init__(self, max_bytes: int, size_of: Callable[[K], int]) -> None:
        self.bytes = 0
        self._max_bytes, self._size_of = max_bytes, size_of
        self._entries: OrderedDict[K, V] = OrderedDict()
        self.get: Final = self._entries.get  # dict's own method: it is on the hot path

    def __len__(self) -> int:
        return len(self._entries)

    def __reversed__(self) -> Iterator[K]:
        """The keys, most recent first."""
        return reversed(self._entries)

    def put(self, key: K, value: V) -> None:
        """Add an entry as the most recent one, unless it is too large."""
        if key in self._entries:
            self._entries[key] = value
            self._entries.move_to_end(key)
            return
        size = self._size_of(key)
        if size > MAX_ENTRY:
            return
        self._entries[key] = value
        self.bytes += size
        while self.bytes > self._max_bytes:
            gone, _ = self._entries.popitem(last=False)
            self.bytes -= self._size_of(gone)

    def clear(self) -> None:
        self._entries.clear()
        self.bytes = 0
