"""Copies the journal of a real server from its change feed: the lines equal those of its archive."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from kconf import AlterConfigOp, NewTopic, OpType, Resource, SyncAdminClient
from kconf.client.calls.changes import ChangePage
from kconf.errors import ConnectionFailed, JournalTrimmed
from kconf.model.cluster import ClusterDescription
from kconf.model.journal import RequestContext, Revision
from kconf.spark.following import feed_copy
from kconf.spark.following.feed_copy import CopiedFiles, FeedCopy, Position
from tests.support.process import KconfProcess

Line = dict[str, Any]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[KconfProcess]:
    with KconfProcess(args=["--archive", str(tmp_path / "archive")]) as process:
        yield process


def change(server: KconfProcess, topic: str) -> None:
    """Create a topic with a value, and send a value that is refused."""
    with SyncAdminClient(server.bootstrap) as admin:
        admin.create_topics([NewTopic(topic, 1, 1)]).raise_for_failures()
        for value in ("1000", "none"):
            requested = {Resource.topic(topic): [AlterConfigOp(OpType.SET, "retention.ms", value)]}
            assert bool(admin.incremental_alter_configs(requested).failures) is (value == "none")


def lines(directory: Path, *, attempts: bool = False) -> list[Line]:
    files = sorted(path for path in directory.glob("*/*.jsonl") if path.name.startswith("attempts-") is attempts)
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


class Copies:
    """A copy that counts its connections, and stops when it has everything."""

    def __init__(self, place: Path, connect: Callable[[], Any]) -> None:
        self.stopped = Event()
        self.copy = FeedCopy("prod", lambda: self._opened(connect()), place, 0.01)

    def _opened(self, admin: Any) -> Any:
        fetch = admin.list_attempts

        def list_attempts(after: int, **more: Any) -> list[Any]:
            found: list[Any] = fetch(after, **more)
            if not found:
                self.stopped.set()  # it is read after all changes: nothing is left
            return found

        admin.list_attempts = list_attempts
        return admin

    def run(self) -> FeedCopy:
        self.copy.run(self.stopped)
        return self.copy


def test_a_copy_has_the_lines_of_the_archive(server: KconfProcess, tmp_path: Path) -> None:
    change(server, "one")
    done = Copies(tmp_path / "copies", lambda: SyncAdminClient(server.bootstrap)).run()
    assert (done.changes, done.gaps, done.failures, done.alarm) == (2, 0, 0, None)
    change(server, "two")
    Copies(tmp_path / "copies", lambda: SyncAdminClient(server.bootstrap)).run()
    server.stop()

    for attempts in (False, True):
        copied, archived = (lines(tmp_path / each, attempts=attempts) for each in ("copies", "archive"))
        assert len(archived) == (2 if attempts else 4)
        assert copied == archived
    assert {path.name.count("-") for path in (tmp_path / "copies").glob("*/[0-9]*.jsonl")} == {2}


def test_without_a_valid_position_the_same_lines_are_copied_again(server: KconfProcess, tmp_path: Path) -> None:
    change(server, "one")
    Copies(tmp_path / "copies", lambda: SyncAdminClient(server.bootstrap)).run()
    once = lines(tmp_path / "copies")
    (position,) = (tmp_path / "copies").glob("*/.feed.json")
    position.write_text("{")
    change(server, "two")

    Copies(tmp_path / "copies", lambda: SyncAdminClient(server.bootstrap)).run()

    names = [(line["epoch"], line["revision"], line["line"]) for line in lines(tmp_path / "copies")]
    assert len(names) == 2 * len(once) + 2
    assert len(set(names)) == 4


class Fake:
    """A scripted server: returns pages in order, or raises an exception."""

    def __init__(self, pages: list[Any], epoch: int = 1, *, is_gateway: bool = False) -> None:
        self.pages, self.epoch, self.asked, self.is_gateway = pages, epoch, list[int](), is_gateway

    def __enter__(self) -> Fake:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def describe_cluster(self) -> ClusterDescription:
        return ClusterDescription("c-1", None, {})

    def list_changes(self, after: int, **_: Any) -> ChangePage:
        if after == -1:
            return ChangePage((), 7, 7, 1, self.epoch, self.is_gateway)
        self.asked.append(after)
        page = self.pages.pop(0) if self.pages else ChangePage((), after, after, 1, self.epoch)
        if isinstance(page, Exception):
            raise page
        assert isinstance(page, ChangePage)
        self.epoch = page.epoch
        return page

    def list_attempts(self, after: int, **_: Any) -> list[Any]:
        return [] if not self.pages else [replace_number(after + 1)]


def replace_number(number: int) -> Any:
    from kconf.model.journal import AuditEntry, RequestContext

    return replace(AuditEntry(1, RequestContext(), 1, Resource.topic("t"), ["k"], 40, False), number=number)


def test_a_deleted_part_of_the_journal_is_counted_and_skipped(tmp_path: Path) -> None:
    fake = Fake([JournalTrimmed(5), ChangePage((), 7, 7, 5, 1)])

    done = Copies(tmp_path, lambda: fake).run()

    assert (done.gaps, fake.asked[:2]) == (1, [0, 4])


def test_a_store_with_a_new_epoch_is_copied_from_the_beginning(tmp_path: Path) -> None:
    fake = Fake([ChangePage((), 7, 7, 1, 1), ChangePage((), 9, 9, 1, 2), ChangePage((), 3, 3, 1, 2)])

    Copies(tmp_path, lambda: fake).run()

    assert fake.asked[:3] == [0, 7, 0]


def test_an_unreachable_server_raises_an_alarm_until_it_is_back(tmp_path: Path) -> None:
    fake = Fake([ChangePage((), 1, 1, 1, 1), ConnectionFailed("no broker responds"), ChangePage((), 1, 1, 1, 1)])
    copies = Copies(tmp_path, lambda: fake)
    alarms = []
    works = copies.copy._works

    def noted() -> None:
        alarms.append(copies.copy.alarm)
        works()

    copies.copy._works = noted  # type: ignore[method-assign]

    done = copies.run()

    assert alarms[1] is not None
    assert "no broker responds" in alarms[1]
    assert (done.alarm, done.failures) == (None, 1)


def test_an_unexpected_exception_raises_an_alarm_and_does_not_end_the_copy(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fake = Fake([ValueError("a value"), ChangePage((), 1, 1, 1, 1)])
    copies = Copies(tmp_path, lambda: fake)

    done = copies.run()

    assert "cannot be copied: an unexpected ValueError" in caplog.text
    assert (done.alarm, done.failures, fake.asked) == (None, 1, [0, 0])


def test_a_copy_is_current_only_when_nothing_is_left_to_copy(tmp_path: Path) -> None:
    """It is not current after one page of several, after a deleted part of the journal, or after a new epoch."""
    pages = [
        ChangePage((), 5, 9, 1, 1), JournalTrimmed(7), ChangePage((), 9, 9, 1, 2), ChangePage((), 9, 9, 1, 2),
    ]  # fmt: skip
    fake, times, seen = Fake(pages), iter(range(100)), list[float | None]()
    copy = FeedCopy("prod", lambda: fake, tmp_path, 0.0, lambda: next(times))  # type: ignore[arg-type,return-value]
    stopped, list_changes = Event(), fake.list_changes

    def watched(after: int, **more: Any) -> ChangePage:
        if after != -1:
            seen.append(copy.current_at)
        if len(seen) == 5:
            stopped.set()
        return list_changes(after, **more)

    fake.list_changes = watched  # type: ignore[method-assign]
    copy.run(stopped)

    assert seen == [None, None, None, None, 6]
    assert copy.cluster == "c-1"


def refused(fake: Fake, place: Path) -> str | None:
    """The alarm after the first attempt to copy."""
    copy = FeedCopy("prod", lambda: fake, place, 0.01)  # type: ignore[arg-type,return-value]
    stopped = Event()
    failed = copy._failed

    def last(error: Exception) -> None:
        failed(error)
        stopped.set()

    copy._failed = last  # type: ignore[method-assign]

    copy.run(stopped)
    return copy.alarm


def test_a_server_that_does_not_report_its_epoch_is_not_copied(tmp_path: Path) -> None:
    assert refused(Fake([], epoch=0), tmp_path) == (
        "prod does not report the epoch of its journal; pass its archive with --archive"
    )
    assert not list(tmp_path.rglob("*.jsonl"))


def test_a_gateway_is_refused_and_the_supported_options_are_listed(tmp_path: Path) -> None:
    """Its revisions have gaps where nothing is missing, and each gateway of a cluster has attempts of its own."""
    caller = RequestContext("User:ann")
    page = ChangePage(
        (Revision(48_213_000_000_000, 1, caller, ()),), 48_213_000_000_000, 48_213_000_000_000, 1, 1, True
    )

    alarm = refused(Fake([page], is_gateway=True), tmp_path)

    assert alarm is not None
    assert alarm.startswith("prod is a gateway, and the journal of a gateway cannot be copied.")
    for option in ("--archive", "--metadata-log", "--snapshot"):
        assert option in alarm
    assert not list(tmp_path.rglob("*.jsonl"))


def test_a_server_that_was_replaced_by_a_gateway_is_not_copied_any_more(tmp_path: Path) -> None:
    fake = Fake([ChangePage((), 7, 7, 1, 1), ChangePage((), 8, 8, 1, 1, True)])

    alarm = refused(fake, tmp_path)

    assert (alarm or "").startswith("prod is a gateway")
    assert json.loads((tmp_path / "c-1" / ".feed.json").read_text())["after"] == 7


def test_one_of_two_servers_of_a_cluster_is_copied_until_the_other_takes_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_copy, "_STANDBY", 0.01)
    fake, waited = Fake([]), Event()
    connections = []

    def connect() -> Fake:
        connections.append(fake)
        if len(connections) > 2:
            waited.set()
        return fake

    second = Copies(tmp_path, connect)
    thread = Thread(target=second.run, daemon=True)
    with CopiedFiles(tmp_path, "c-1") as first:
        being_written = first.directory / ".feed-1234.part"
        being_written.touch()
        thread.start()
        assert waited.wait(60)
        first.save(Position(1, 5))
        assert (second.copy.alarm, second.copy.failures, fake.asked) == (None, 0, [])
        assert being_written.exists()
    thread.join(60)

    assert not thread.is_alive()
    assert fake.asked[0] == 5


def test_a_page_of_changes_has_the_epoch_of_the_store(server: KconfProcess) -> None:
    with SyncAdminClient(server.bootstrap) as admin:
        assert admin.list_changes(-1).epoch == admin.list_changes(0).epoch == 1
