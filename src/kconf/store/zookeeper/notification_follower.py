"""Detects notifications that were not created by kconf, immediately and without listing the directories.

ZooKeeper numbers the children of a directory, and its stat shows how many were ever created. So the name of the next
notification is known, and a watch for that name fires when it is created. The number of kconf's own notifications is
known too: from the names that a commit returns, and for other servers from their journal entries, which are written in
the same transaction. So a watch that fires for the notification of a commit in the journal costs no request: the watch
moves on by the numbers of that commit. If the journal does not explain it, the directory is verified: its stat is
compared with the known numbers, and the new notifications are read if there are more. A commit of this server verifies
its directories too, by the numbers that it gets. Names with another prefix fire no watch; the next `check` finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from logging import getLogger
from threading import Lock, Timer
from typing import Any, Final

from kconf.store.zookeeper import paths
from kconf.store.zookeeper.notifications import (
    DIRECTORIES,
    MalformedNotification,
    next_name,
    read_acl_notification,
    read_config_notification,
    sequence_number,
)
from kconf.store.zookeeper.session import TIMEOUT, ZookeeperSession

log = getLogger(__name__)

_BATCH: Final = 200
_WATCH_DELAY: Final = 0.1  # seconds
_MAX_UNVERIFIED: Final = 200  # commits of other servers after which a directory is verified
_UNEXPLAINED: Final = 1 << 62  # greater than any number


@dataclass(slots=True)
class _Directory:
    """All notifications before `next` have been processed, as of the transaction `zxid`.

    Those of `own` and `remote` follow, and nothing else if `expected` is the number of the next one.
    """

    next: int = 0
    zxid: int = 0
    own: set[int] = field(default_factory=set)  # numbers from `next` on that this server created
    remote: list[tuple[int, int | None]] = field(default_factory=list)  # later commits: zxid, number of notifications

    @property
    def expected(self) -> int:
        """The number of the next notification, if only kconf has created some since the directory was verified."""
        return self.next + len(self.own) + sum(count or 0 for _, count in self.remote)

    @property
    def is_counted(self) -> bool:
        """Whether the number of notifications of every later commit is known."""
        return all(count is not None for _, count in self.remote)

    def explains(self, number: int) -> bool:
        """Whether the known commits explain that a notification with this number exists."""
        return number < self.expected and self.is_counted and len(self.remote) <= _MAX_UNVERIFIED


@dataclass(frozen=True, slots=True)
class NewNotifications:
    """The znodes named in new notifications of others."""

    changed: Iterable[str]
    positions: Mapping[str, tuple[int, int]]  # the next number and the zxid of each directory


class NotificationFollower:
    """Used from the store's thread, except for the callbacks of watches."""

    def __init__(self, session: ZookeeperSession, on_change: Callable[[], None]) -> None:
        self._session = session
        self._on_change = on_change
        self._directories = {each: _Directory() for each in DIRECTORIES}
        self._fired: dict[str, int] = {}  # the number whose watch has fired
        self._committing = False
        self._unwatched: set[str] = set()
        self._timer: Timer | None = None
        self._lock = Lock()  # protects the two fields above

    @property
    def is_pending(self) -> bool:
        return bool(self._fired)

    @property
    def passed(self) -> Mapping[str, int]:
        """The number in each directory before which all notifications have been processed."""
        return {name: each.next for name, each in self._directories.items()}

    def start(self) -> None:
        """Start after the existing notifications. The caller reads the whole tree next."""
        self._fired = {}
        for name in DIRECTORIES:
            created, zxid = _position(self._session.client.exists_async(name).get(timeout=TIMEOUT))
            self._directories[name] = _Directory(created, zxid)
            self._watch(name)

    def check(self) -> None:
        """Check all directories with the next poll: watches may have been lost, or names have another prefix."""
        self._fired.update(dict.fromkeys(DIRECTORIES, _UNEXPLAINED))

    def begin_commit(self) -> None:
        self._committing = True

    def end_commit(self, created: Iterable[str]) -> None:
        """Record the notifications that a commit of this server created; none if it failed."""
        self._committing = False
        numbers: dict[str, list[int]] = {}
        for path in created:
            directory, _, name = path.rpartition("/")
            numbers.setdefault(directory, []).append(sequence_number(name))
        for directory, found in numbers.items():
            known = self._directories[directory]
            expected = known.expected
            if known.is_counted and sorted(found) == list(range(expected, expected + len(found))):
                # The journal was read up to this commit, so all earlier notifications are known.
                known.zxid = max([known.zxid, *(zxid for zxid, _ in known.remote)])
                known.next, known.own, known.remote = max(found) + 1, set(), []
                self._fired.pop(directory, None)
                self._watch_soon(directory)
            else:
                known.own |= set(found)
                self._fired[directory] = _UNEXPLAINED
        if self._fired:
            self._on_change()

    def remote_commit(self, zxid: int, notified: Mapping[str, int] | None) -> None:
        """Record a commit of another server, with its number of notifications per directory, or None if unknown."""
        for name, known in self._directories.items():
            count = None if notified is None else notified.get(name, 0)
            if zxid > known.zxid and count != 0:
                known.remote.append((zxid, count))

    def request_positions(self) -> Mapping[str, Any]:
        """Request the state of the directories whose watch has fired for a notification that the journal, as read so
        far, does not explain. The journal must be read after this.
        """
        unexplained = []
        for name, number in dict(self._fired).items():
            if self._directories[name].explains(number):
                self._fired.pop(name, None)
                self._watch_soon(name)
            else:
                unexplained.append(name)
        return {name: self._session.client.exists_async(name) for name in unexplained}

    def read(self, requested: Mapping[str, Any]) -> NewNotifications:
        """The external changes, after the journal has been read. They count as processed after `passed_all`."""
        changed: dict[str, None] = {}
        positions = {}
        for name, response in requested.items():
            created, zxid = positions[name] = _position(response.get(timeout=TIMEOUT))
            known = self._directories[name]
            if created < known.next:
                log.error("%s was deleted and created again: notifications may have been missed", name)
                known.next = 0
            own = sum(known.next <= each < created for each in known.own)
            remote = [count for at, count in known.remote if at <= zxid]
            if None in remote or created - known.next != own + sum(each or 0 for each in remote):
                changed |= dict.fromkeys(self._external(name, range(known.next, created), known.own))
        return NewNotifications(changed, positions)

    def passed_all(self, new: NewNotifications) -> None:
        """The external changes are applied: watch for the next notification."""
        for name, (created, zxid) in new.positions.items():
            known = self._directories[name]
            known.next, known.zxid = created, zxid
            known.own = {each for each in known.own if each >= created}
            known.remote = [each for each in known.remote if each[0] > zxid]
            self._fired.pop(name, None)
            self._watch(name)

    def _external(self, directory: str, numbers: range, own: set[int]) -> Iterator[str]:
        """The znodes named in new notifications, in order. Malformed notifications are logged and ignored."""
        for path, data in self._data(directory, [each for each in numbers if each not in own]):
            try:
                if directory != paths.CONFIG_CHANGES:
                    yield read_acl_notification(directory, data)
                elif (found := read_config_notification(data)) is not None and not found[1]:
                    yield found[0]
            except MalformedNotification as error:
                log.warning("ignored notification %s: %s", path, error)

    def _data(self, directory: str, numbers: list[int]) -> Iterator[tuple[str, bytes]]:
        found: dict[int, tuple[str, bytes]] = {}
        for start in range(0, len(numbers), _BATCH):
            expected = [f"{directory}/{next_name(directory, each)}" for each in numbers[start : start + _BATCH]]
            found |= {sequence_number(path): (path, data) for path, data, _ in self._session.get_many(expected)}
        missing = {each for each in numbers if each not in found}
        if missing:  # purged in the meantime, or it has another prefix
            names = [each for each in self._session.children(directory) if sequence_number(each) in missing]
            others = self._session.get_many(f"{directory}/{each}" for each in names)
            found |= {sequence_number(path): (path, data) for path, data, _ in others}
        return (found[each] for each in sorted(found))

    def _watch_soon(self, directory: str) -> None:
        """Watch with a delay: while this server commits continuously, its own numbers show whether others commit."""
        with self._lock:
            self._unwatched.add(directory)
            if self._timer is None:
                self._timer = Timer(_WATCH_DELAY, self._watch_unwatched)
                self._timer.daemon = True
                self._timer.start()

    def _watch_unwatched(self) -> None:
        with self._lock:
            self._timer = None
            unwatched, self._unwatched = self._unwatched, set()
        for each in unwatched:
            self._watch(each)

    def _watch(self, directory: str) -> None:
        """Watch for the next notification, without waiting for the response."""
        number = self._directories[directory].expected

        def fire() -> None:
            if self._directories[directory].explains(number):
                self._watch_soon(directory)
                return
            self._fired[directory] = max(number, self._fired.get(directory, 0))
            if not self._committing:
                self._on_change()

        def exists(response: Any) -> None:
            if response.successful() and response.value is not None:
                fire()

        if self._session.is_connected:
            path = f"{directory}/{next_name(directory, number)}"
            self._session.client.exists_async(path, lambda _event: fire()).rawlink(exists)


def _position(stat: Any) -> tuple[int, int]:
    """The number of the next child of a directory, and the zxid of the last change to its children.

    `cversion` is twice the number of children ever created, minus the existing ones.
    """
    return (0, 0) if stat is None else ((stat.cversion + stat.numChildren) // 2, stat.pzxid)
