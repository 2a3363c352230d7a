"""Writes the journal to the archive: at an interval, when a segment is full, on request, and at shutdown.

Its settings are archive.directory, archive.interval.ms and archive.segment.bytes (configdef/server_settings.py). If the
disk is full or read-only, the log, the metrics and /health report it, and writing is retried. The server continues to
run, and the journal retains what is not archived. If several servers share a store, one of them archives.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from logging import getLogger
from pathlib import Path
from typing import TypeVar

from kconf.configdef.server_settings import (
    ARCHIVE_DIRECTORY,
    ARCHIVE_INTERVAL,
    ARCHIVE_SEGMENT,
    int_setting,
    text_setting,
)
from kconf.errors import ConfigurationError, StoreError
from kconf.model.journal import Revision
from kconf.server.journal.audit_log import AuditLog
from kconf.service import Service
from kconf.util.atomic_files import private_directory

log = getLogger(__name__)

T = TypeVar("T")

RETRY = 1.0  # seconds until the first retry; doubles up to the interval
_NOT_A_DIRECTORY = (errno.ENOTDIR, errno.EEXIST, errno.ELOOP, errno.ENAMETOOLONG)


@dataclass(frozen=True, slots=True)
class ArchiveSettings:
    """The settings `archive.*`."""

    directory: Path
    interval: float = 60.0
    segment_bytes: int = 8 << 20

    @classmethod
    def of(cls, static: Mapping[str, str]) -> ArchiveSettings | None:
        """The settings, or None if there is no archive."""
        directory = text_setting(static, ARCHIVE_DIRECTORY)
        interval, segment = int_setting(static, ARCHIVE_INTERVAL), int_setting(static, ARCHIVE_SEGMENT)
        return cls(Path(directory), interval / 1000, segment) if directory else None


class Archiver:
    """Archives committed revisions in its own task, and writes the files in its own thread."""

    def __init__(self, settings: ArchiveSettings, service: Service, audit_log: AuditLog) -> None:
        from kconf.server.journal.archive import Archive

        self.alarm: str | None = None
        self.failures = 0
        self.waiting = 0  # revisions since the last segment
        self._settings, self._service, self._audit_log = settings, service, audit_log
        self._check_directory()
        store = service.store
        self._archive = Archive(
            settings.directory,
            store.cluster_id,
            store.epoch,
            store.journal_reader(),
            of_gateway=store.brokers_static is not None,
        )
        self._since: int | None = None  # time of the oldest revision that is not archived
        self._waiting_bytes = 0  # approximate
        self._thread = ThreadPoolExecutor(1, "kconf-archiver")
        self._lock = asyncio.Lock()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def _check_directory(self) -> None:
        """Fail at startup if the path cannot be a directory. Other disk errors are reported later."""
        try:
            private_directory(self._settings.directory)
        except OSError as error:
            if error.errno in _NOT_A_DIRECTORY:
                why = f"cannot archive to {self._settings.directory}: {error.strerror}"
                raise ConfigurationError(why) from None

    @property
    def archived(self) -> int:
        """The last durably archived revision, or 0 if not known yet."""
        return self._archive.archived

    @property
    def segments(self) -> int:
        """The number of segments that this process has written."""
        return self._archive.written

    @property
    def lag(self) -> float:
        """Age of the oldest change that is not archived, in seconds."""
        return 0.0 if self._since is None else max(0.0, (self._service.now() - self._since) / 1000)

    def start(self) -> None:
        self._service.subscribe(self.on_commit)
        self._task = asyncio.create_task(self._run(), name="archiver")

    def on_commit(self, revisions: Sequence[Revision]) -> None:
        """Count revisions to archive, and write immediately if they fill a segment."""
        if self._since is None:
            self._since = revisions[0].time
        self.waiting += len(revisions)
        self._waiting_bytes += sum(map(_size, revisions))
        if self._waiting_bytes >= self._settings.segment_bytes and self.alarm is None:
            self._wake.set()

    async def flush(self) -> bool:
        """Archive everything committed so far. Returns whether it succeeded."""
        async with self._lock:
            return await self._write()

    def flush_soon(self) -> None:
        """Flush in the background, for signals. Request files in the archive are removed when it is done."""
        self._request = asyncio.create_task(self._on_request(), name="flush on request")

    async def close(self) -> None:
        """Archive what is left and release the directory."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        await self.flush()
        await self._in_thread(self._archive.close)
        self._thread.shutdown()

    async def _run(self) -> None:
        retry = RETRY
        while True:
            done = await self.flush()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), self._settings.interval if done else retry)
            self._wake.clear()
            retry = RETRY if done else min(2 * retry, self._settings.interval)

    async def _on_request(self) -> None:
        requests = await self._in_thread(self._archive.requests)
        if await self.flush():
            await self._in_thread(lambda: self._archive.remove_requests(requests))

    async def _write(self) -> bool:
        since, waiting, waiting_bytes = self._since, self.waiting, self._waiting_bytes
        current = self._service.state.snapshot.revision
        self._since = None  # what is committed from now on counts from here
        try:
            if await self._service.in_store(lambda store: store.acquire_archive_lock()):
                await self._audit_log.flush()
                await self._in_thread(lambda: self._archive.open(current))
                await self._in_thread(lambda: self._archive.catch_up(current))
            else:
                await self._in_thread(self._archive.release)
        except Exception as error:  # a bug must not end the archiver's task
            self._since = since if since is not None else self._since
            self._failed(error)
            return False
        self.waiting, self._waiting_bytes = self.waiting - waiting, self._waiting_bytes - waiting_bytes
        if self.alarm is not None:
            log.info("writing to the archive works again archived=%d", self.archived)
            self.alarm = None
        return True

    def _failed(self, error: Exception) -> None:
        """Report a failure. Logged only if it differs from the previous one."""
        self.failures += 1
        match error:
            case StoreError():
                alarm = str(error)
            case OSError():
                alarm = f"cannot write {self._archive.directory}: {error.strerror or error}"
            case _:
                alarm = f"an unexpected {type(error).__name__}"
        if alarm != self.alarm:
            is_expected = isinstance(error, (StoreError, OSError))
            log.error("archiving failed: %s", alarm, exc_info=None if is_expected else error)
        self.alarm = alarm

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def _size(revision: Revision) -> int:
    """The approximate size of a revision in a segment, in bytes."""
    return sum(450 + len(each.before or "") + len(each.after or "") for each in revision.changes)
