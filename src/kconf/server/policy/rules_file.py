"""A file of rules that is reloaded when it changes.

Requests that need the rules check the file for changes, at most once per second, in its own thread. If the new file is
invalid, empty or missing, the old rules stay in force, and the error is logged once, with line and column.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from logging import getLogger
from time import monotonic
from typing import TYPE_CHECKING

from kconf.configdef.catalog import Catalog
from kconf.errors import ConfigurationError
from kconf.server.policy.user_code import UserCodeFailed, call_user_code
from kconf.util.threads.worker_thread import WorkerThread, WorkTimedOut

if TYPE_CHECKING:
    from kconf.engine.policy.rules import Rules

log = getLogger(__name__)

_CHECK_INTERVAL = 1.0  # seconds
_TIMEOUT = 5.0  # seconds, for a file on a network disk that does not respond
_MAX_BYTES = 4 << 20

Signature = tuple[int, int, int]


class RulesFile:
    """`rules` are those in force. The file is read at once, and its errors are raised."""

    def __init__(self, path: str, catalog: Catalog, *, now: Callable[[], float] = monotonic) -> None:
        self.path = path
        self._catalog = catalog
        self._now = now
        self._checked = now()
        self._lock = asyncio.Lock()
        self._worker = WorkerThread("kconf-policy-file", _TIMEOUT)
        self._seen, data = _read(path)
        self.rules = parse_rules(data, catalog, path)

    async def refresh(self) -> None:
        """Reload the file if it has changed, unless it was checked less than a second ago."""
        async with self._lock:  # requests that come during a check wait for its result
            if self._now() - self._checked < _CHECK_INTERVAL:
                return
            self._checked = self._now()
            late = self._worker.stuck
            try:
                found = await self._worker.run(self._reload)
            except WorkTimedOut:
                if not late:
                    log.error("cannot read policy file %s; the current rules stay in effect", self.path)
                return
            if found is not None:
                self.rules = found
                log.info("reloaded policy file %s: %d rules", self.path, len(found.rules))

    def close(self) -> None:
        self._worker.close()

    def _reload(self) -> Rules | None:
        """New rules; None if the file is unchanged or not valid."""
        try:
            if _signature(os.stat(self.path)) == self._seen:
                return None
            self._seen, data = _read(self.path)
        except (OSError, ConfigurationError) as error:
            reason = f"cannot read {self.path}: {error.strerror}" if isinstance(error, OSError) else str(error)
            if self._seen != _MISSING:
                self._log_error(reason)
            self._seen = _MISSING
            return None
        try:
            return call_user_code(lambda: parse_rules(data, self._catalog, self.path), expected=(ConfigurationError,))
        except ConfigurationError as error:
            first, *others = str(error).splitlines()
            self._log_error(f"{first} (and {len(others)} more)" if others else first)
        except UserCodeFailed as failed:
            self._log_error(f"{self.path}: {failed.kind}")
        return None

    def _log_error(self, reason: str) -> None:
        log.error("invalid policy file; the current rules stay in effect: %s", reason)


_MISSING: Signature = (0, 0, 0)


def _signature(status: os.stat_result) -> Signature:
    return status.st_mtime_ns, status.st_size, status.st_ino


def _read(path: str) -> tuple[Signature, bytes]:
    """The bytes, and the signature before they were read: a change meanwhile is noticed at the next check."""
    try:
        with open(path, "rb") as file:
            seen = _signature(os.fstat(file.fileno()))
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror}") from None
    if len(data) > _MAX_BYTES:
        raise ConfigurationError(f"{path} is larger than {_MAX_BYTES >> 20} MiB")
    return seen, data


def parse_rules(data: bytes, catalog: Catalog, path: str) -> Rules:
    """The rules of a file's bytes. ConfigurationError has every error as `path:line:column: sentence`."""
    from kconf.engine.policy.parser import read_rules  # a server without rules starts sooner

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise ConfigurationError(f"{path}:{line}:{column}: not UTF-8") from None
    return read_rules(text, catalog, path)


def load_rules(path: str, catalog: Catalog) -> Rules:
    """The rules of a file, read once."""
    return parse_rules(_read(path)[1], catalog, path)
