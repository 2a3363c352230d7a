"""A lock for a lake on an object store, where no file can be locked: small numbered objects in the folder `_lock`.

The object with the highest number names the holder and the time when its lock expires. The next holder creates the next
number, by a conditional write (`If-None-Match: *`), so that only one of several processes succeeds, and deletes the
lower ones. The holder renews its lock in a thread; the lock of a process that died expires. A process that loses its
lock, because it was suspended or could not reach the store, must not write anymore: `check` then raises an error.
"""

from __future__ import annotations

import json
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4

from kconf.lake.storage.location import LakeBusy, LakeError
from kconf.lake.storage.object_store import open_store, plain_errors

if TYPE_CHECKING:
    from obstore.store import ObjectStore

LEASE: Final = 120.0
"""Seconds that a lock lasts after it was last renewed."""
RUNS: Final = "_lock"
FOLLOWERS: Final = "_follow"
"""The folder of the lock that `kconf pipeline follow` also holds between its runs."""
_RENEWALS: Final = 4  # per lease
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # it includes suspended time; nobody sets it
_OBJECT: Final = re.compile(r"(\d{20})\.json")


class Holder(NamedTuple):
    """Who has the lock, and until when, in seconds since 1970."""

    id: str
    name: str
    until: float


class LakeLock:
    """The lock of one lake, for one process."""

    def __init__(self, uri: str, folder: str = RUNS, lease: float = LEASE) -> None:
        self._uri, self._folder, self._lease = uri, folder, lease
        self._id, self._name = uuid4().hex, f"process {os.getpid()} on {socket.gethostname()}"
        self._opened: ObjectStore | None = None
        self._number = 0
        self._expires = 0.0
        self._lost: str | None = None

    def check(self) -> None:
        """Raise LakeBusy if the lock was lost, because then nothing must be written anymore."""
        if self._lost is None and _elapsed() > self._expires:  # also after the machine was suspended
            self._lost = self._expired
        if self._lost is not None:
            raise LakeBusy(self._lost)

    @contextmanager
    def held(self) -> Iterator[LakeLock]:
        """Take the lock, renew it, and release it. Raises LakeBusy if another process has it."""
        self.take()
        stopped = threading.Event()
        thread = threading.Thread(target=self._renew, args=(stopped,), name=f"lock of {self._uri}", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            stopped.set()
            thread.join()
            if self._lost is None:
                self.release()

    def take(self) -> None:
        with self._plain_errors():
            numbers = self._numbers()
            last = max(numbers, default=0)
            self._check_free(self._holder(last))
            self._number = last + 1
            if not self._create() or max(self._numbers()) > self._number:  # the next number, or one that was deleted
                raise LakeBusy(f"Another pipeline run has just begun to use {self._uri}; try again later.")
            if self._create():
                raise LakeError(
                    f"The store of {self._uri} does not support conditional writes (If-None-Match), so kconf cannot"
                    " prevent two runs at the same time. Use a store that supports them."
                )
            for each in numbers:
                self._delete(each)

    def ensure(self) -> None:
        """Take the lock again if it was lost. Raises LakeBusy if another process has it."""
        try:
            self.check()
        except LakeBusy:
            self.take()
            self._lost = None

    def renew(self) -> None:
        """Extend the lock, or note that it is lost. A lock that expired in the meantime may be taken at any time."""
        with self._plain_errors():
            expires = _elapsed() + self._lease
            if self._is_held():
                self._store.put(self._path(self._number), self._contents(time.time() + self._lease))
                if self._is_held():
                    self._expires = expires

    def _is_held(self) -> bool:
        if max(self._numbers(), default=0) > self._number:
            self._lost = f"Another pipeline run has taken over {self._uri}; this one stops."
        elif _elapsed() > self._expires:
            self._lost = self._expired
        return self._lost is None

    @property
    def _expired(self) -> str:
        return f"The lock of {self._uri} expired before it could be renewed; this run stops."

    def release(self) -> None:
        """Release the lock; its number stays, so that it is not reused. If the store is unreachable, it expires."""
        with suppress(LakeError), self._plain_errors():
            self._store.put(self._path(self._number), self._contents(0.0))

    def _renew(self, stopped: threading.Event) -> None:
        while not stopped.wait(self._lease / _RENEWALS):
            if self._lost is None:
                with suppress(LakeError):  # the store may respond again in time; `check` knows if it did not
                    self.renew()

    def _check_free(self, holder: Holder) -> None:
        left = holder.until - time.time()
        if left > 0 and holder.id != self._id:
            raise LakeBusy(
                f"Another pipeline run ({holder.name}) is using {self._uri}. If it was killed, its lock expires in"
                f" {max(1, round(left))} s."
            )

    # -- objects -----------------------------------------------------------------------------------------------------

    @property
    def _store(self) -> Any:
        if self._opened is None:
            self._opened = open_store(self._uri)
        return self._opened

    def _path(self, number: int) -> str:
        return f"{self._folder}/{number:020d}.json"

    def _numbers(self) -> list[int]:
        found = self._store.list_with_delimiter(self._folder)["objects"]
        names = (_OBJECT.fullmatch(each["path"].rpartition("/")[2]) for each in found)
        return [int(each[1]) for each in names if each is not None]

    def _holder(self, number: int) -> Holder:
        from obstore.exceptions import NotFoundError

        try:
            return Holder(**json.loads(bytes(self._store.get(self._path(number)).bytes())))
        except (NotFoundError, FileNotFoundError):  # there is none, or it was deleted by the next holder
            return Holder("", "", 0.0)
        except (ValueError, TypeError):
            raise LakeError(f"{self._uri}/{self._path(number)} is damaged; delete it if no run is active.") from None

    def _create(self) -> bool:
        """Create the object of our number; False if it exists."""
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        expires = _elapsed() + self._lease
        try:
            self._store.put(self._path(self._number), self._contents(time.time() + self._lease), mode="create")
        except (AlreadyExistsError, PreconditionError, FileExistsError):
            return False
        self._expires = expires
        return True

    def _delete(self, number: int) -> None:
        with suppress(FileNotFoundError):
            self._store.delete(self._path(number))

    def _contents(self, until: float) -> bytes:
        return json.dumps(Holder(self._id, self._name, until)._asdict()).encode()

    def _plain_errors(self) -> AbstractContextManager[None]:
        return plain_errors(f"Cannot lock the lake {self._uri}")


def _elapsed() -> float:
    """Seconds since the machine was started. The object has a time of day, because other machines read it."""
    return time.clock_gettime(_CLOCK)
