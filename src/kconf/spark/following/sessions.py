"""The Spark session of a follower: started when needed, and again if its JVM has ended."""

from __future__ import annotations

from collections.abc import Callable
from logging import getLogger
from pathlib import Path

from kconf.spark import session
from kconf.spark.delta_tables import Lake

log = getLogger(__name__)


class SparkSessions:
    """Starts sessions with these settings, one at a time. Not thread-safe.

    `ensure_lock` is called before each step. It raises LakeBusy if another follower has taken over the lake.
    """

    def __init__(
        self,
        uri: str,
        master: str,
        log_file: Path | None,
        settings: dict[str, str],
        *,
        s3: bool = False,
        ensure_lock: Callable[[], None] = lambda: None,
    ) -> None:
        self.restarts = 0
        self._ensure_lock = ensure_lock
        self._uri, self._master, self._log_file, self._settings, self._s3 = uri, master, log_file, settings, s3
        self._lake: Lake | None = None

    def lake(self) -> Lake:
        """The lake, with a working session; a dead session is replaced."""
        self._ensure_lock()
        if self._lake is not None and not session.is_alive(self._lake.spark):
            log.error("the Spark session ended; starting a new one")
            dead, self._lake = self._lake, None
            session.discard(dead.spark)
            self.restarts += 1
        if self._lake is None:
            started = session.start(self._master, log=self._log_file, settings=self._settings, s3=self._s3)
            self._lake = Lake(self._uri, started)
        return self._lake

    def close(self) -> None:
        if self._lake is not None:
            alive = session.is_alive(self._lake.spark)
            (session.stop if alive else session.discard)(self._lake.spark)
            self._lake = None
