"""What changed nothing is written down too: refusals and dry runs, without values.

Bounded, so that refusals cannot be used to wear out the disk: a token bucket lets so many a second through, what comes
beyond is counted and dropped, and a buffer takes the writing off the way of the requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from logging import getLogger

from kconf.errors import Failure, StoreError
from kconf.model.journal import Attempt, Caller
from kconf.model.resource import Resource, ResourceType
from kconf.service import Service

log = getLogger(__name__)

PER_SECOND = 200.0
BURST = 2000.0
_LONGEST = 500
_MOST_KEYS = 100
_PAUSE = 0.5  # seconds between two writes


class Attempts:
    """Collects attempts, and writes them from a task of its own."""

    def __init__(self, service: Service, clock: Callable[[], float]) -> None:
        self.kept = 0
        self.dropped = 0
        self._service = service
        self._clock = clock
        self._tokens, self._filled = BURST, clock()
        self._buffer: list[Attempt] = []
        self._task: asyncio.Task[None] | None = None

    def note(
        self, caller: Caller, outcomes: Iterable[tuple[Resource, Sequence[str], Failure | None]], *, dry_run: bool
    ) -> None:
        """Write down which resources of a request were refused, and all of a dry run."""
        revision, time = self._service.state.snapshot.revision, self._service.now()
        for resource, keys, failure in outcomes:
            if failure is None and not dry_run:
                continue
            if not self._taken():
                self.dropped += 1
                continue
            code = failure.code if failure else 0
            self._buffer.append(Attempt(time, caller, revision, _short(resource), _shorter(keys), code, dry_run))
        if self._buffer and self._task is None:
            self._task = asyncio.create_task(self._write_soon())

    async def flush(self) -> None:
        """Write what waits; what the store refuses is counted as dropped."""
        waiting, self._buffer = self._buffer, []
        if not waiting:
            return
        try:
            await self._service.in_store(lambda store: store.attempted(waiting))
            self.kept += len(waiting)
        except StoreError as error:
            self.dropped += len(waiting)
            log.warning("%d attempts could not be written down: %s", len(waiting), error)

    async def _write_soon(self) -> None:
        await asyncio.sleep(_PAUSE)
        self._task = None
        await self.flush()

    def _taken(self) -> bool:
        now = self._clock()
        self._tokens = min(BURST, self._tokens + (now - self._filled) * PER_SECOND)
        self._filled = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


def _short(resource: Resource) -> Resource:
    """A caller may send any number for a type and a name of any length; what is written down is bounded."""
    kind = resource.type if isinstance(resource.type, ResourceType) else ResourceType.UNKNOWN
    return Resource(kind, resource.name[:_LONGEST])


def _shorter(keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(key[:_LONGEST] for key in keys[:_MOST_KEYS])
