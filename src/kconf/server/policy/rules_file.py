"""A policy file that is reloaded when it changes.

Requests that need the rules check the file for changes, at most once per second (util/watched_file.py).
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
from kconf.util.watched_file import WatchedFile, read_with_signature, text_of

if TYPE_CHECKING:
    from kconf.engine.policy.rules import Rules

log = getLogger(__name__)

_CHECK_INTERVAL = 1.0  # seconds


class RulesFile:
    """The policy file of a server, and its current `rules`. The constructor raises the errors of the file."""

    def __init__(self, path: str, catalog: Catalog, *, now: Callable[[], float] = monotonic) -> None:
        self.path = path
        self._now = now
        self._checked = now()
        self._lock = asyncio.Lock()
        self._file = WatchedFile(path, lambda data: _checked_rules(data, catalog, path), "policy file", "rules")
        self.rules = self._file.content

    async def refresh(self) -> None:
        """Reload the file if it has changed, unless it was checked less than a second ago."""
        async with self._lock:  # requests that arrive during a check wait for its result
            if self._now() - self._checked < _CHECK_INTERVAL:
                return
            self._checked = self._now()
            found = await self._file.changed()
            if found is not None:
                self.rules = found
                log.info("reloaded policy file %s: %d rules", self.path, len(found.rules))

    def close(self) -> None:
        self._file.close()


def _checked_rules(data: bytes, catalog: Catalog, path: str) -> Rules:
    """As `parse_rules`. Another exception, which a defect of kconf would raise, is an error of the file as well."""
    try:
        return call_user_code(lambda: parse_rules(data, catalog, path), expected=(ConfigurationError,))
    except UserCodeFailed as failed:
        raise ConfigurationError(f"{path}: {failed.kind}") from None


def parse_rules(data: bytes, catalog: Catalog, path: str) -> Rules:
    """Parse the content of a policy file. Raises ConfigurationError with all errors, as `path:line:column: message`."""
    from kconf.engine.policy.parser import read_rules  # a local import, so that a server without rules starts faster

    return read_rules(text_of(data, path), catalog, path)


def load_rules(path: str, catalog: Catalog) -> Rules:
    """The rules of a file, read once."""
    return parse_rules(read_with_signature(path)[1], catalog, path)
