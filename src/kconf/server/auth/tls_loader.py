"""Creates the TLS context of a listener from settings that clients may change, without blocking the event loop.

The stores are read in a child process (tls_child.py), which is killed after a time limit. The context is then created
in a thread: keys in PEM files may still be encrypted, but the child process has shown that decrypting them is fast
enough.
"""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from logging import getLogger
from typing import TYPE_CHECKING, Any, Final

from kconf.errors import ConfigurationError, StoreUnavailable
from kconf.security.allowed_files import AllowedFiles
from kconf.util.threads.worker_thread import WorkerThread, WorkTimedOut

if TYPE_CHECKING:
    from kconf.server.auth.tls_alerts import AlertingSslContext

log = getLogger(__name__)

TIMEOUT: Final = 15.0  # seconds for all stores of a listener

_END_TIMEOUT: Final = 1.0  # seconds to wait for a killed process to end; it may hang on a file system
_STOPPING: Final = "the server is stopping"

TlsSettings = frozenset[tuple[str, str]]
"""All `ssl.*` settings that apply to a listener."""


class TlsLoader:
    """Runs one child process at a time. Used from one event loop."""

    def __init__(self, files: AllowedFiles, *, timeout: float = TIMEOUT) -> None:
        self.files = files
        self._timeout = timeout
        self._lock = asyncio.Lock()
        self._thread = WorkerThread("kconf-tls", timeout)
        self._process: Process | None = None
        self._stopped = False

    async def load(self, listener: str, settings: TlsSettings) -> AlertingSslContext:
        """Create a context from the current stores. Raises ConfigurationError, or StoreUnavailable after `stop`."""
        from kconf.server.auth.tls_context import TlsMaterial, new_context

        given = dict(settings)
        async with self._lock:
            found = await self._ask(listener, given)
        if "error" in found:
            raise ConfigurationError(found["error"])
        material = TlsMaterial(*found["material"])
        try:
            return await self._thread.run(lambda: new_context(listener, given, material))
        except WorkTimedOut:
            raise _too_long(listener, self._timeout) from None

    def stop(self) -> None:
        """Stop reading, so that a shutdown does not wait for a store."""
        self._stopped = True
        if self._process is not None:
            _kill(self._process)
        self._thread.close()

    async def _ask(self, listener: str, given: dict[str, str]) -> dict[str, Any]:
        request = {
            "listener": listener,
            "given": given,
            "directories": list(self.files.directories),
            "paths": sorted(self.files.paths),
        }
        command = (sys.executable, "-P", "-m", "kconf.server.auth.tls_child")
        if self._stopped:
            raise StoreUnavailable(_STOPPING)
        self._process = process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        try:
            if self._stopped:
                raise StoreUnavailable(_STOPPING)
            async with asyncio.timeout(self._timeout):
                output, errors = await process.communicate(json.dumps(request).encode())
        except TimeoutError:
            raise _too_long(listener, self._timeout) from None
        finally:
            self._process = None
            await _end(process)
        if self._stopped:
            raise StoreUnavailable(_STOPPING)
        try:
            found: dict[str, Any] = json.loads(output)
        except ValueError:
            shown = errors.decode(errors="replace")[-2000:]
            log.error("cannot read the key store or trust store of listener %s: %s", listener, shown)
            raise ConfigurationError(
                f"listener {listener}: its key store or trust store cannot be read; see the server's log"
            ) from None
        return found


def _too_long(listener: str, seconds: float) -> ConfigurationError:
    return ConfigurationError(
        f"listener {listener}: its key store and trust store could not be read and opened within {seconds:g} s"
    )


async def _end(process: Process) -> None:
    _kill(process)
    with suppress(TimeoutError):
        async with asyncio.timeout(_END_TIMEOUT):
            await process.wait()


def _kill(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
