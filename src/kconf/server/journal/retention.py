"""The retention of the journal: unlimited by default.

    journal.retention.ms          remove revisions older than this many milliseconds
    journal.retention.revisions   keep no more than this many revisions

Either or both; a revision goes if one of them says so, but with an archive only after it is archived. The state does
not change: it does not need the journal any more. A reader behind the oldest revision gets OFFSET_OUT_OF_RANGE. In
ZooKeeper, which holds everything in memory, the default is 7 days and 100,000 revisions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from logging import getLogger

from kconf.errors import ConfigurationError, StoreError
from kconf.server.journal.archiver import Archiver
from kconf.service import Service

log = getLogger(__name__)

MS, REVISIONS = "journal.retention.ms", "journal.retention.revisions"
TRIM_INTERVAL = 60.0  # seconds
HOUSEKEEP_INTERVAL = 10.0


@dataclass(frozen=True, slots=True)
class Retention:
    """None: no limit."""

    ms: int | None = None
    revisions: int | None = None

    @classmethod
    def of(cls, static: Mapping[str, str], store: str = "") -> Retention | None:
        """From the static configuration; None: no limit."""
        found = cls(_number(static, MS), _number(static, REVISIONS))
        if found == cls() and store.startswith("zookeeper:") and not {MS, REVISIONS} & static.keys():
            return IN_ZOOKEEPER
        return None if found == cls() else found

    async def apply(self, service: Service, up_to: int | None = None) -> int:
        """Remove what is too old, a part at a time, so that commits run in between. Returns the number of revisions."""
        removed = 0
        before = None if self.ms is None else service.now() - self.ms
        while count := await service.in_store(
            lambda store: store.trim(before_time=before, keep_last=self.revisions, up_to=up_to)
        ):
            removed += count
        return removed


IN_ZOOKEEPER = Retention(7 * 24 * 3600 * 1000, 100_000)


async def housekeep(service: Service) -> None:
    """Let the store clean up at an interval, until cancelled."""
    while True:
        await asyncio.sleep(HOUSEKEEP_INTERVAL)
        try:
            while await service.in_store(lambda store: store.housekeep()):
                pass
        except StoreError as error:
            log.debug("the store could not be cleaned up: %s", error)


async def trim(retention: Retention, service: Service, archiver: Archiver | None = None) -> None:
    """Apply a retention at an interval, until cancelled."""
    while True:
        try:
            removed = await retention.apply(service, None if archiver is None else archiver.archived)
            if removed:
                log.info("journal trimmed revisions=%d oldest=%d", removed, service.store.oldest())
        except StoreError as error:
            log.warning("the journal could not be trimmed: %s", error)
        await asyncio.sleep(TRIM_INTERVAL)


def _number(static: Mapping[str, str], name: str) -> int | None:
    text = static.get(name, "").strip()
    if text in ("", "-1"):  # as in Kafka's own retention keys: no limit
        return None
    if not (text.isascii() and text.isdecimal() and 0 < int(text) < 2**63):
        raise ConfigurationError(f"{name} takes a whole number from 1 on, or -1 for no limit: {text!r}")
    return int(text)
