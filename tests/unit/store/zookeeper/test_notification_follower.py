"""How many notifications are expected, and when a directory is asked. With a client that only remembers requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

from kconf.store.zookeeper.notification_follower import NotificationFollower
from kconf.store.zookeeper.notifications import next_name
from kconf.store.zookeeper.paths import CONFIG_CHANGES
from kconf.store.zookeeper.session import ZookeeperSession
from tests.feed.reading import until


class Stat(NamedTuple):
    """Of a directory in which `cversion` notifications were created, and none deleted."""

    cversion: int
    numChildren: int
    pzxid: int


class Response:
    """A response that has already arrived."""

    def __init__(self, value: Stat | None) -> None:
        self.value = value

    def get(self, timeout: float) -> Stat | None:
        return self.value

    def rawlink(self, callback: Callable[[Response], None]) -> None:
        callback(self)

    def successful(self) -> bool:
        return True


class Client:
    """Directories with `created` notifications. Remembers the watches, and which directories were asked."""

    def __init__(self, created: int) -> None:
        self.created = created
        self.asked: list[str] = []
        self.watches: dict[str, Callable[[Any], None]] = {}

    def exists_async(self, path: str, watch: Callable[[Any], None] | None = None) -> Response:
        if watch is None:
            self.asked.append(path)
            return Response(Stat(self.created, self.created, 100 + self.created))
        self.watches[path] = watch
        number = int(path.rpartition("_")[2])
        return Response(Stat(0, 0, 0) if path.startswith(CONFIG_CHANGES) and number < self.created else None)


class FakeSession:
    is_connected = True

    def __init__(self, client: Client) -> None:
        self.client = client


def name(number: int) -> str:
    return f"{CONFIG_CHANGES}/{next_name(CONFIG_CHANGES, number)}"


def started(created: int) -> tuple[NotificationFollower, Client, list[str]]:
    client, changes = Client(created), list[str]()
    follower = NotificationFollower(cast(ZookeeperSession, FakeSession(client)), lambda: changes.append("changed"))
    follower.start()
    client.asked.clear()
    return follower, client, changes


def test_a_watch_that_fires_after_its_commit_was_read_is_set_again() -> None:
    follower, client, changes = started(5)
    client.created = 6
    follower.remote_commit(200, {CONFIG_CHANGES: 1})
    client.watches[name(5)](None)
    until(lambda: name(6) in client.watches)
    assert (changes, follower.is_pending, client.asked) == ([], False, [])


def test_a_watch_that_fires_before_its_commit_was_read_is_set_again_after_it() -> None:
    follower, client, changes = started(5)
    client.created = 6
    client.watches[name(5)](None)
    assert (changes, follower.is_pending) == (["changed"], True)
    follower.remote_commit(200, {CONFIG_CHANGES: 1})
    assert follower.request_positions() == {}
    until(lambda: name(6) in client.watches)
    assert (follower.is_pending, client.asked) == (False, [])


def test_a_notification_without_a_commit_causes_a_request() -> None:
    follower, client, _ = started(5)
    client.created = 7  # one of a commit, and one of somebody else
    follower.remote_commit(200, {CONFIG_CHANGES: 1})
    client.watches[name(5)](None)
    until(lambda: follower.is_pending)  # the watch for the next one finds that it exists
    assert list(follower.request_positions()) == [CONFIG_CHANGES]


def test_a_commit_with_an_unknown_number_of_notifications_causes_a_request() -> None:
    follower, client, _ = started(5)
    follower.remote_commit(200, None)
    client.watches[name(5)](None)
    assert list(follower.request_positions()) == [CONFIG_CHANGES]


def test_own_notifications_confirm_the_number_of_earlier_ones() -> None:
    follower, _, _ = started(5)
    follower.remote_commit(200, {CONFIG_CHANGES: 2})
    follower.begin_commit()
    follower.end_commit([name(7), name(8)])
    assert (follower.passed[CONFIG_CHANGES], follower.is_pending) == (9, False)
    follower.begin_commit()
    follower.end_commit([name(10)])  # somebody else has the number before it
    assert (follower.passed[CONFIG_CHANGES], follower.is_pending) == (9, True)
