"""The monitors of all contexts, in one thread with its own event loop: reading a cluster never delays a page.

Without logins each context has one monitor, with the credential of the context. With logins each person has their own
monitors, with their credential, from the login to the end of their last session: everybody sees what Kafka shows them.
A cluster that does not accept the token of a person is read with the credential of the context.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from threading import Lock, Thread
from typing import Final, NamedTuple

from kconf.console.cluster.monitor import ClusterMonitor
from kconf.console.settings import ConsoleSettings
from kconf.operations.target import Credential, Target

_STOP_TIMEOUT: Final = 5.0  # seconds


class _MonitorKey(NamedTuple):
    context: str
    credential: Credential | None


class _MonitorTask:
    """The task of a monitor, in the loop of the monitors."""

    def __init__(self, loop: asyncio.AbstractEventLoop, monitor: ClusterMonitor) -> None:
        self._started = asyncio.run_coroutine_threadsafe(_start(monitor), loop)

    async def end(self) -> None:
        """Cancel the task, and wait until its connections are closed."""
        task = await asyncio.wrap_future(self._started)
        task.cancel()
        await asyncio.wait([task])


async def _start(monitor: ClusterMonitor) -> asyncio.Task[None]:
    return asyncio.create_task(monitor.run())


async def _ended(runs: Sequence[_MonitorTask]) -> None:
    await asyncio.gather(*(each.end() for each in runs))


class Monitors:
    """Opened with `with`. All methods may be called from any thread."""

    def __init__(self, settings: ConsoleSettings) -> None:
        self.targets: Mapping[str, Target] = {each.name: each for each in settings.targets}
        self._interval, self._has_logins = settings.interval, settings.has_logins
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="kconf-console-monitors", daemon=True)
        self._lock = Lock()
        self._repeated: Future[None] | None = None
        self._running: dict[_MonitorKey, tuple[ClusterMonitor, _MonitorTask]] = {}

    def __enter__(self) -> Monitors:
        self._thread.start()
        for name in self.targets if not self._has_logins else ():
            self.monitor(name, None)
        return self

    def __exit__(self, *_: object) -> None:
        if self._repeated is not None:
            self._repeated.cancel()
        with self._lock:
            runs = [run for _, run in self._running.values()]
            self._running.clear()
        closing = asyncio.run_coroutine_threadsafe(_ended(runs), self._loop)
        with suppress(TimeoutError):
            closing.result(_STOP_TIMEOUT)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_STOP_TIMEOUT)
        if not self._thread.is_alive():
            self._loop.close()

    def monitor(self, context: str, credential: Credential | None) -> ClusterMonitor:
        """The monitor of a context for a credential; started if necessary."""
        key = _MonitorKey(context, credential)
        with self._lock:
            found = self._running.get(key)
            if found is None:
                monitor = ClusterMonitor(self.targets[context]._replace(credential=credential), self._interval)
                found = self._running[key] = monitor, _MonitorTask(self._loop, monitor)
        return found[0]

    def retain(self, used: set[tuple[str, Credential]]) -> None:
        """Stop the monitors of people without a session."""
        with self._lock:
            gone = [key for key in self._running if key.credential is not None and tuple(key) not in used]
        for each in gone:
            self._stop(each)

    def end_streams(self) -> None:
        """Send no more changes to open pages."""
        with self._lock:
            running = list(self._running.values())
        for monitor, _ in running:
            monitor.subscribers.publish(None)

    def repeat(self, seconds: float, work: Callable[[], None]) -> None:
        """Call a function periodically until the monitors are closed."""

        async def repeated() -> None:
            while True:
                await asyncio.sleep(seconds)
                work()

        self._repeated = asyncio.run_coroutine_threadsafe(repeated(), self._loop)

    def _stop(self, key: _MonitorKey) -> None:
        with self._lock:
            _, run = self._running.pop(key)
        asyncio.run_coroutine_threadsafe(_ended([run]), self._loop)
