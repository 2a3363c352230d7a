"""A file of rules that is read again when it changes.

It is looked at when someone is about to be judged by it, at most once per second, in a thread of its own. A version
that is broken, empty or gone leaves the rules in force as they are, and is told once, with line and column.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from logging import getLogger
from time import monotonic

from kconf.configdef.catalog import Catalog
from kconf.engine.policy.parser import read_rules
from kconf.engine.policy.rules import Rules
from kconf.errors import ConfigurationError
from kconf.util.worker_thread import WorkerThread, WorkTimedOut

log = getLogger(__name__)

_BETWEEN_LOOKS = 1.0  # seconds
_PATIENCE = 5.0  # seconds for a file that cannot be read, on a network disk, say
_LARGEST = 4 << 20  # bytes

Signature = tuple[int, int, int]


class RulesFile:
    """`rules` are those in force. The first reading happens at once, and its mistakes are raised."""

    def __init__(self, path: str, catalog: Catalog, *, now: Callable[[], float] = monotonic) -> None:
        self.path = path
        self._catalogue = catalog
        self._now = now
        self._looked = now()
        self._lock = asyncio.Lock()
        self._worker = WorkerThread("kconf-policy-file", _PATIENCE)
        self._seen, data = _read(path)
        self.rules = parse_rules(data, catalog, path)

    async def refresh(self) -> None:
        """Look again, if the last look is a second old."""
        async with self._lock:  # who comes while another looks waits for what that one sees
            if self._now() - self._looked < _BETWEEN_LOOKS:
                return
            self._looked = self._now()
            late = self._worker.stuck
            try:
                found = await self._worker.run(self._look)
            except WorkTimedOut:
                if not late:
                    log.error("policy file %s cannot be read now; the rules stay as they are", self.path)
                return
            if found is not None:
                self.rules = found
                log.info("policy file %s read again: %d rules", self.path, len(found.rules))

    def close(self) -> None:
        self._worker.close()

    def _look(self) -> Rules | None:
        """New rules, or None where there is nothing new, or nothing good."""
        try:
            if _signature(os.stat(self.path)) == self._seen:
                return None
            self._seen, data = _read(self.path)
        except (OSError, ConfigurationError) as error:
            reason = f"cannot read {self.path}: {error.strerror}" if isinstance(error, OSError) else str(error)
            if self._seen != _GONE:
                self._tell(reason)
            self._seen = _GONE
            return None
        try:
            return parse_rules(data, self._catalogue, self.path)
        except ConfigurationError as error:
            first, *others = str(error).splitlines()
            self._tell(f"{first} (and {len(others)} more)" if others else first)
        except Exception as error:
            self._tell(f"{self.path}: {type(error).__name__}")
        return None

    def _tell(self, what: str) -> None:
        log.error("policy file refused, the rules stay as they were: %s", what)


_GONE: Signature = (0, 0, 0)


def _signature(status: os.stat_result) -> Signature:
    return status.st_mtime_ns, status.st_size, status.st_ino


def _read(path: str) -> tuple[Signature, bytes]:
    """The bytes, and what the file looked like before they were read: a change meanwhile is seen at the next look."""
    try:
        with open(path, "rb") as file:
            seen = _signature(os.fstat(file.fileno()))
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror}") from None
    if len(data) > _LARGEST:
        raise ConfigurationError(f"{path} is larger than {_LARGEST >> 20} MiB")
    return seen, data


def parse_rules(data: bytes, catalog: Catalog, path: str) -> Rules:
    """The rules of a file's bytes; `ConfigurationError` has every mistake as `path:line:column: sentence`."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise ConfigurationError(f"{path}:{line}:{column}: this is no UTF-8") from None
    return read_rules(text, catalog, path)


def load_rules(path: str, catalog: Catalog) -> Rules:
    """The rules of a file, once."""
    return parse_rules(_read(path)[1], catalog, path)
