"""The retention of the journal. Unlimited by default.

journal.retention.ms is the maximum age of a revision, journal.retention.revisions the maximum number of revisions
(configdef/server_settings.py). A revision that exceeds one of them is removed, but if there is an archive, only after
it is archived. The state is stored separately and does not change. A reader that asks for removed revisions gets
OFFSET_OUT_OF_RANGE. In ZooKeeper, which holds everything in memory, the defaults are 7 days and 100,000 revisions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from logging import DEBUG, WARNING, getLogger

from kconf.configdef.server_settings import NOTIFICATION_RETENTION, RETENTION_MS, RETENTION_REVISIONS, int_setting
from kconf.errors import StoreError
from kconf.server.journal.archiver import Archiver
from kconf.service import Service
from kconf.store.registry import backend_of

log = getLogger(__name__)

TRIM_INTERVAL = 60.0  # seconds
HOUSEKEEP_INTERVAL = 10.0


@dataclass(frozen=True, slots=True)
class Retention:
    """The limits; None is unlimited."""

    ms: int | None = None
    revisions: int | None = None

    @classmethod
    def of(cls, static: Mapping[str, str], store: str = "") -> Retention | None:
        """The retention in the static configuration, or None if unlimited.

        A store that holds everything in memory, such as ZooKeeper, has a bounded journal by default.
        """
        found = cls(_limit(static, RETENTION_MS), _limit(static, RETENTION_REVISIONS))
        is_default = found == cls() and not {RETENTION_MS, RETENTION_REVISIONS} & static.keys()
        if is_default and store and backend_of(store).bounded_journal:
            return IN_MEMORY
        return None if found == cls() else found

    async def apply(self, service: Service, up_to: int | None = None) -> int:
        """Remove expired revisions in batches, with commits in between. Returns the number of removed revisions."""
        removed = 0
        before = None if self.ms is None else service.now() - self.ms
        while count := await service.in_store(
            lambda store: store.trim(before_time=before, keep_last=self.revisions, up_to=up_to)
        ):
            removed += count
        return removed


IN_MEMORY = Retention(7 * 24 * 3600 * 1000, 100_000)


async def housekeep(service: Service) -> None:
    """Let the store clean up at an interval. Runs until cancelled: a failure is logged, and the next time is another
    attempt.
    """
    failure = ""
    seconds = int_setting(service.settings.static, NOTIFICATION_RETENTION) / 1000
    while True:
        await asyncio.sleep(HOUSEKEEP_INTERVAL)
        try:
            while await service.in_store(lambda store: store.housekeep(notification_retention=seconds)):
                pass
            failure = ""
        except StoreError as error:
            log.log(DEBUG if str(error) == failure else WARNING, "could not clean up the store: %s", error)
            failure = str(error)


async def trim(retention: Retention, service: Service, archiver: Archiver | None = None) -> None:
    """Apply the retention at an interval. Runs until cancelled: a failure is logged, and the next time is another
    attempt.
    """
    while True:
        try:
            removed = await retention.apply(service, None if archiver is None else archiver.archived)
            if removed:
                oldest = await service.in_store(lambda store: store.oldest())
                log.info("journal trimmed revisions=%d oldest=%d", removed, oldest)
        except StoreError as error:
            log.warning("could not trim the journal: %s", error)
        await asyncio.sleep(TRIM_INTERVAL)


def _limit(static: Mapping[str, str], name: str) -> int | None:
    limit = int_setting(static, name)
    return None if limit == -1 else limit
