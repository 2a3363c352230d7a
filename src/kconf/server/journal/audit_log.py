"""What changed nothing that is kept is written down too: refusals and dry runs, without values.

Bounded, so that refusals cannot be used to wear out the disk: a token bucket lets so many a second through, each is cut
to a length, what comes beyond is counted and dropped, and a buffer takes the writing off the way of the requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
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
LONGEST = 255  # characters of a name
MOST_TEXT = 1000  # characters of all keys together
CUT = "…"
_PAUSE = 0.5  # seconds between two writes


class AuditLog:
    """Collects attempts, and writes them from a task of its own."""

    def __init__(self, service: Service, clock: Callable[[], float]) -> None:
        self.kept = 0
        self.dropped = 0
        self._service = service
        self._clock = clock
        self._bucket = TokenBucket(BURST / PER_SECOND)
        self._buffer: list[AuditEntry] = []
        self._task: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        self._closed = False

    def note(
        self,
        caller: RequestContext,
        outcomes: Iterable[tuple[Resource, Sequence[str], ApiError | None]],
        *,
        dry_run: bool,
        unkept: bool = False,
    ) -> None:
        """Write down which resources of a request were refused, and all of a dry run.

        `unkept`: what was done too, since it is not kept and the journal has no line for it (the levels of loggers).
        """
        revision, time = self._service.state.snapshot.revision, self._service.now()
        who: RequestContext | None = None
        for resource, keys, failure in outcomes:
            if failure is None and not (dry_run or unkept):
                continue
            if not self._taken():
                self.dropped += 1
                continue
            who = who or _brief(caller)
            code = failure.code if failure else 0
            self._buffer.append(AuditEntry(time, who, revision, _named(resource), _some(keys), code, dry_run))
        if self._buffer and self._task is None:
            self._task = asyncio.create_task(self._write_soon(), name="attempts")

    async def flush(self) -> None:
        """Write what waits; what the store refuses is counted as dropped."""
        async with self._writing:
            waiting, self._buffer = self._buffer, []
            if not waiting:
                return
            try:
                await self._service.in_store(lambda store: store.append_attempts(waiting))
                self.kept += len(waiting)
            except StoreError as error:
                self.dropped += len(waiting)
                log.warning("%d attempts could not be written down: %s", len(waiting), error)

    async def close(self) -> None:
        """Write what is left; what comes later is dropped."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
        await self.flush()

    async def _write_soon(self) -> None:
        """Write until there is nothing left, with a pause before each write."""
        try:
            while self._buffer:
                await asyncio.sleep(_PAUSE)
                await self.flush()
        finally:
            self._task = None

    def _taken(self) -> bool:
        """Whether one more is let through. A store that hangs does not make the buffer grow either."""
        if len(self._buffer) >= BURST or self._closed:
            return False
        return self._bucket.try_spend(1, PER_SECOND, self._clock() * 1000)


def _brief(caller: RequestContext) -> RequestContext:
    return replace(
        caller,
        principal=_short(caller.principal),
        client_id=_short(caller.client_id),
        reason=None if caller.reason is None else _short(caller.reason),
    )


def _named(resource: Resource) -> Resource:
    """A caller may send any number for a type and a name of any length; what is written down is bounded."""
    kind = resource.type if isinstance(resource.type, ResourceType) else ResourceType.UNKNOWN
    return Resource(kind, _short(resource.name))


def _some(keys: Sequence[str]) -> tuple[str, ...]:
    """The first keys, and a sign where others were left out."""
    kept: list[str] = []
    left = MOST_TEXT
    for key in keys:
        short = _short(key)
        left -= max(len(short), 10)
        if left < 0:
            return (*kept, CUT)
        kept.append(short)
    return tuple(kept)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + CUT
