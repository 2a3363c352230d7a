"""The monitors of all contexts, in one thread with an event loop of its own: pages are never delayed by a reading.

Without logins each context has one monitor, with the credential of the context. With logins each person has monitors of
their own, with their credential, from the login to the end of the last session: so everybody sees what Kafka shows
them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future
from threading import Lock, Thread
from typing import NamedTuple

from kconf.console.cluster.monitor import ClusterMonitor
from kconf.console.settings import ConsoleSettings
from kconf.operations.target import Target, UserCredential


class _Key(NamedTuple):
    context: str
    credential: UserCredential | None


class Monitors:
    """Opened with `with`. All methods may be called from any thread."""

    def __init__(self, settings: ConsoleSettings) -> None:
        self.targets: Mapping[str, Target] = {each.name: each for each in settings.targets}
        self._interval, self._login = settings.interval, settings.login
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="kconf-console-monitors", daemon=True)
        self._lock = Lock()
        self._running: dict[_Key, tuple[ClusterMonitor, Future[None]]] = {}

    def __enter__(self) -> Monitors:
        self._thread.start()
        for name in self.targets if not self._login else ():
            self.monitor(name, None)
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            keys = list(self._running)
        for each in keys:
            self._stop(each)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)

    def monitor(self, context: str, credential: UserCredential | None) -> ClusterMonitor:
        """The monitor of a context for a credential; started if there is none."""
        key = _Key(context, credential)
        with self._lock:
            found = self._running.get(key)
            if found is None:
                monitor = ClusterMonitor(self.targets[context]._replace(credential=credential), self._interval)
                task = asyncio.run_coroutine_threadsafe(monitor.run(), self._loop)
                found = self._running[key] = monitor, task
        return found[0]

    def retain(self, used: set[tuple[str, UserCredential]]) -> None:
        """Stop the monitors of people who have no session any more."""
        with self._lock:
            gone = [key for key in self._running if key.credential is not None and tuple(key) not in used]
        for each in gone:
            self._stop(each)

    def _stop(self, key: _Key) -> None:
        with self._lock:
            _, task = self._running.pop(key)
        task.cancel()
