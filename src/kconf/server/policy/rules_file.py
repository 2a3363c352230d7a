"""A policy file that is reloaded when it changes.

Requests that need the rules check the file for changes, at most once per second, in a separate thread. If the new file
is invalid, empty or missing, the current rules stay in effect, and the error is logged once, with line and column.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from logging import getLogger
from time import monotonic
from typing import TYPE_CHECKING

from kconf.configdef.catalog import Catalog
from kconf.errors import ConfigurationError
from kconf.server.policy.user_code import UserCodeFailed, call_user_code
from kconf.util.threads.worker_thread import WorkerThread, WorkTimedOut
from kconf.util.watched_file import MISSING, read_with_signature, signature_of, text_of

if TYPE_CHECKING:
    from kconf.engine.policy.rules import Rules

log = getLogger(__name__)

_CHECK_INTERVAL = 1.0  # seconds
_TIMEOUT = 5.0  # seconds; a file may be on a network disk that does not respond


class RulesFile:
    """`rules` are the current rules. The constructor reads the file and raises its errors."""

    def __init__(self, path: str, catalog: Catalog, *, now: Callable[[], float] = monotonic) -> None:
        self.path = path
        self._catalog = catalog
        self._now = now
        self._checked = now()
        self._lock = asyncio.Lock()
        self._worker = WorkerThread("kconf-policy-file", _TIMEOUT)
        self._seen, data = read_with_signature(path)
        self.rules = parse_rules(data, catalog, path)

    async def refresh(self) -> None:
        """Reload the file if it has changed, unless it was checked less than a second ago."""
        async with self._lock:  # requests that arrive during a check wait for its result
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
        """The new rules, or None if the file is unchanged or invalid."""
        try:
            if signature_of(self.path) == self._seen:
                return None
            self._seen, data = read_with_signature(self.path)
        except (OSError, ConfigurationError) as error:
            reason = f"cannot read {self.path}: {error.strerror}" if isinstance(error, OSError) else str(error)
            if self._seen != MISSING:
                self._log_error(reason)
            self._seen = MISSING
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


def parse_rules(data: bytes, catalog: Catalog, path: str) -> Rules:
    """Parse the content of a policy file. Raises ConfigurationError with all errors, as `path:line:column: message`."""
    from kconf.engine.policy.parser import read_rules  # a local import, so that a server without rules starts faster

    return read_rules(text_of(data, path), catalog, path)


def load_rules(path: str, catalog: Catalog) -> Rules:
    """The rules of a file, read once."""
    return parse_rules(read_with_signature(path)[1], catalog, path)
