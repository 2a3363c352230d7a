"""Remembered answers to DescribeConfigs: a read becomes a look-up by the request's own bytes.

The key is what the client sent, less the correlation and client id; the value is the answer's bytes, less its length
and correlation id, in parts, so that topics with the same overrides share the long one. An answer is dropped, before
anyone can ask again, when a resource that it speaks of changes; a change to a broker level drops all. Answers about
loggers are never remembered: their levels change without a commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kconf.model.journal import Revision
from kconf.model.resource import Resource, ResourceType
from kconf.wire.frames import LENGTH

Answer = tuple[int, bytes, Sequence[bytes]]
"""The frame's length, as a number and as it stands before the frame, and all that comes after the correlation id."""

_OVERHEAD = 600  # what Python itself takes for an answer and its places in two dictionaries
_PER_RESOURCE = 300  # and for each resource that it speaks of
_LARGEST = 4 << 20


class Answers:
    """All remembered answers, bounded in bytes; the oldest go first."""

    def __init__(self, most_bytes: int = 64 << 20) -> None:
        self.by_request: dict[bytes, Answer] = {}
        self.hits = 0
        self.bytes = 0
        self._most = most_bytes
        self._sizes: dict[bytes, tuple[int, Sequence[Resource]]] = {}
        self._about: dict[Resource, set[bytes]] = {}

    def remember(self, request: bytes, parts: Sequence[bytes], about: Sequence[Resource], shared: int) -> None:
        """Keep an answer; `shared` of its bytes are kept anyhow."""
        length = 4 + sum(map(len, parts))
        size = length - shared + len(request) + _OVERHEAD + _PER_RESOURCE * len(about)
        if size > _LARGEST or request in self.by_request:
            return
        while self.bytes + size > self._most:
            self._forget(next(iter(self.by_request)))
        self.by_request[request] = (length, LENGTH.pack(length), tuple(parts))
        self._sizes[request] = (size, about)
        self.bytes += size
        for resource in about:
            self._about.setdefault(resource, set()).add(request)

    def follow(self, revisions: Iterable[Revision]) -> None:
        """Drop what is no longer true."""
        for revision in revisions:
            for change in revision.changes:
                if change.resource.type == ResourceType.BROKER:
                    self.clear()
                    return
                for request in tuple(self._about.get(change.resource, ())):
                    self._forget(request)

    def clear(self) -> None:
        self.by_request.clear()
        self._sizes.clear()
        self._about.clear()
        self.bytes = 0

    def _forget(self, request: bytes) -> None:
        del self.by_request[request]
        size, about = self._sizes.pop(request)
        self.bytes -= size
        for resource in about:
            requests = self._about[resource]
            requests.discard(request)
            if not requests:
                del self._about[resource]
