"""How long the journal is kept: for good, unless the static layer says otherwise.

journal.retention.ms forgets revisions that are older, journal.retention.revisions those that are more (the settings are
in configdef/server_settings.py).
Either or both; whatever goes by one of them goes, but where there is an archive nothing before it is there. The state
is not touched: it does not need the journal any more. A reader that is behind the oldest revision left is told so
(OFFSET_OUT_OF_RANGE). In ZooKeeper, which holds everything in memory, it is 7 days and 100,000 revisions where nothing
is said.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from logging import getLogger

from kconf.configdef.server_settings import RETENTION_MS, RETENTION_REVISIONS, int_setting
from kconf.errors import StoreError
from kconf.server.journal.archiver import Archiver
from kconf.service import Service
from kconf.store.registry import backend_of

log = getLogger(__name__)

EVERY = 60.0  # seconds between two looks
TIDY = 10.0


@dataclass(frozen=True, slots=True)
class Retention:
    """None: no limit."""

    ms: int | None = None
    revisions: int | None = None

    @classmethod
    def of(cls, static: Mapping[str, str], store: str = "") -> Retention | None:
        """As the static layer has it; None: the journal is kept for good.

        A store that holds everything in memory, such as ZooKeeper, has a bounded journal by default.
        """
        found = cls(_limit(static, RETENTION_MS), _limit(static, RETENTION_REVISIONS))
        is_default = found == cls() and not {RETENTION_MS, RETENTION_REVISIONS} & static.keys()
        if is_default and store and backend_of(store).bounded_journal:
            return IN_MEMORY
        return None if found == cls() else found

    async def apply(self, service: Service, up_to: int | None = None) -> int:
        """Forget what is too old, a part at a time, so that commits get their turn; how many revisions went."""
        gone = 0
        before = None if self.ms is None else service.now() - self.ms
        while count := await service.in_store(
            lambda store: store.trim(before_time=before, keep_last=self.revisions, up_to=up_to)
        ):
            gone += count
        return gone


IN_MEMORY = Retention(7 * 24 * 3600 * 1000, 100_000)


async def tidy(service: Service) -> None:
    """Let the store do what is due now and then, until cancelled."""
    while True:
        await asyncio.sleep(TIDY)
        try:
            while await service.in_store(lambda store: store.housekeep()):
                pass
        except StoreError as error:
            log.debug("the store could not be tidied: %s", error)


async def keep(retention: Retention, service: Service, archiver: Archiver | None = None) -> None:
    """Apply a retention now and again, until cancelled."""
    while True:
        try:
            gone = await retention.apply(service, None if archiver is None else archiver.archived)
            if gone:
                log.info("journal trimmed revisions=%d oldest=%d", gone, service.store.oldest())
        except StoreError as error:
            log.warning("the journal could not be trimmed: %s", error)
        await asyncio.sleep(EVERY)


def _limit(static: Mapping[str, str], name: str) -> int | None:
    limit = int_setting(static, name)
    return None if limit == -1 else limit
