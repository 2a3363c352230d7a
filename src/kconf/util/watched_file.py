"""A file that is reloaded when it changes. If the new file is invalid, empty or missing, the current content stays."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from logging import getLogger
from typing import Final, Generic, TypeVar

from kconf.errors import ConfigurationError
from kconf.util.threads.worker_thread import WorkerThread, WorkTimedOut

log = getLogger(__name__)

T = TypeVar("T")

_MAX_BYTES: Final = 4 << 20
_TIMEOUT: Final = 5.0  # seconds; a file may be on a network disk that does not respond

Signature = tuple[int, int, int]
_MISSING: Final[Signature] = (0, 0, 0)


class WatchedFile(Generic[T]):
    """`content` is what was first read. The constructor raises the errors of the file.

    `parse` raises ConfigurationError. Log lines call the file `kind` ("policy file") and its content `parts` ("rules").
    A secret file is invalid if other users can read or write it.
    """

    def __init__(
        self, path: str, parse: Callable[[bytes], T], kind: str, parts: str, *, is_secret: bool = False
    ) -> None:
        self._path, self._parse, self._kind, self._parts = path, parse, kind, parts
        self._is_secret = is_secret
        self._worker = WorkerThread(f"kconf-{kind.replace(' ', '-')}", _TIMEOUT)
        self._seen, data = read_with_signature(path, is_secret=is_secret)
        self.content = parse(data)

    async def changed(self) -> T | None:
        """The new content, or None if the file is unchanged or invalid. An error is logged once."""
        was_stuck = self._worker.stuck
        try:
            return await self._worker.run(self._reload)
        except WorkTimedOut:
            if not was_stuck:
                log.error("cannot read %s %s; the current %s stay in effect", self._kind, self._path, self._parts)
            return None

    def close(self) -> None:
        self._worker.close()

    def _reload(self) -> T | None:
        try:
            if _signature(os.stat(self._path)) == self._seen:
                return None
            self._seen, data = read_with_signature(self._path, is_secret=self._is_secret)
        except (OSError, ConfigurationError) as error:
            reason = f"cannot read {self._path}: {error.strerror}" if isinstance(error, OSError) else str(error)
            if self._seen != _MISSING:
                self._log_error(reason)
            self._seen = _MISSING
            return None
        try:
            return self._parse(data)
        except ConfigurationError as error:
            first, *others = str(error).splitlines()
            self._log_error(f"{first} (and {len(others)} more)" if others else first)
        return None

    def _log_error(self, reason: str) -> None:
        log.error("invalid %s; the current %s stay in effect: %s", self._kind, self._parts, reason)


def read_with_signature(path: str, *, is_secret: bool = False) -> tuple[Signature, bytes]:
    """The content of a file and its signature. Raises ConfigurationError.

    The signature is taken first, so that the next check detects a concurrent change.
    """
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if is_secret and status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise ConfigurationError(f"other users have access to {path}; run chmod 600 {path}")
            seen = _signature(status)
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror}") from None
    if len(data) > _MAX_BYTES:
        raise ConfigurationError(f"{path} is larger than {_MAX_BYTES >> 20} MiB")
    return seen, data


def text_of(data: bytes, path: str) -> str:
    """Decode the content of a file. Raises ConfigurationError with line and column."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise ConfigurationError(f"{path}:{line}:{column}: not UTF-8") from None


def _signature(status: os.stat_result) -> Signature:
    return status.st_mtime_ns, status.st_size, status.st_ino
