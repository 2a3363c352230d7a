"""The audit log: refused requests and dry runs, which are not in the journal. It contains no values.

Its size is bounded, so that refused requests cannot fill the disk: a token bucket limits the entries per second, and
the rest is dropped and counted. Long entries are truncated. Entries are buffered and written in the background, so that
requests do not wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from logging import getLogger

from kconf.errors import ApiError, StoreError
from kconf.model.journal import AuditEntry, RequestContext
from kconf.model.resource import Resource, ResourceType
from kconf.service import Service
from kconf.util.token_bucket import TokenBucket

log = getLogger(__name__)

PER_SECOND = 200.0
BURST = 2000
MAX_NAME = 255  # characters
MAX_KEYS = 1000  # characters of all keys together
CUT = "…"
_PAUSE = 0.5  # seconds between two writes


class AuditLog:
    """Buffers entries and writes them in its own task."""

    def __init__(self, service: Service, clock: Callable[[], float]) -> None:
        self.written = 0
        self.dropped = 0
        self._service = service
        self._clock = clock
        self._bucket = TokenBucket(BURST / PER_SECOND)
        self._buffer: list[AuditEntry] = []
        self._task: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        self._closed = False

    def record(
        self,
        caller: RequestContext,
        outcomes: Iterable[tuple[Resource, Iterable[str], ApiError | None]],
        *,
        dry_run: bool,
        not_stored: bool = False,
    ) -> None:
        """Record the refused resources of a request, and all resources of a dry run.

        `not_stored`: also record changes that succeeded, since they are not in the journal (logger levels).
        """
        revision, time = self._service.state.snapshot.revision, self._service.now()
        short: RequestContext | None = None
        for resource, keys, failure in outcomes:
            if failure is None and not (dry_run or not_stored):
                continue
            if not self._allow():
                self.dropped += 1
                continue
            short = short or _shortened(caller)
            code = failure.code if failure else 0
            self._buffer.append(AuditEntry(time, short, revision, _bounded(resource), _first(keys), code, dry_run))
        if self._buffer and self._task is None:
            self._task = asyncio.create_task(self._write_soon(), name="audit log")

    async def flush(self) -> None:
        """Write the buffer. Entries that the store does not accept count as dropped."""
        async with self._writing:
            waiting, self._buffer = self._buffer, []
            if not waiting:
                return
            try:
                await self._service.in_store(lambda store: store.append_attempts(waiting))
                self.written += len(waiting)
            except StoreError as error:
                self.dropped += len(waiting)
                log.warning("could not write %d entries of the audit log: %s", len(waiting), error)

    async def close(self) -> None:
        """Write the buffer. Later entries are dropped."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
        await self.flush()

    async def _write_soon(self) -> None:
        """Write until the buffer is empty, with a pause before each write."""
        try:
            while self._buffer:
                await asyncio.sleep(_PAUSE)
                await self.flush()
        finally:
            self._task = None

    def _allow(self) -> bool:
        """Whether another entry fits the rate limit and the buffer."""
        if len(self._buffer) >= BURST or self._closed:
            return False
        return self._bucket.try_spend(1, PER_SECOND, self._clock() * 1000)


def _shortened(caller: RequestContext) -> RequestContext:
    return replace(
        caller,
        principal=_short(caller.principal),
        client_id=_short(caller.client_id),
        reason=None if caller.reason is None else _short(caller.reason),
    )


def _bounded(resource: Resource) -> Resource:
    """Limit the type and name of a resource, since clients may send any number and any length."""
    kind = resource.type if isinstance(resource.type, ResourceType) else ResourceType.UNKNOWN
    return Resource(kind, _short(resource.name))


def _first(keys: Iterable[str]) -> tuple[str, ...]:
    """The first keys, followed by an ellipsis if others were left out."""
    kept: list[str] = []
    left = MAX_KEYS
    for key in keys:
        short = _short(key)
        left -= max(len(short), 10)
        if left < 0:
            return (*kept, CUT)
        kept.append(short)
    return tuple(kept)


def _short(text: str) -> str:
    return text if len(text) <= MAX_NAME else text[: MAX_NAME - 1] + CUT
