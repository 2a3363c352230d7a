"""Several servers on one ZooKeeper: one archives, another takes over if it ends, and each revision is archived once."""

from __future__ import annotations

from pathlib import Path

from tests.archive.reading import archived, archiving, assert_same, figures, flush, journal, lines, names, until
from tests.support.admin import SET, TOPIC, Admin
from tests.support.process import KconfProcess

ORDERS = (TOPIC, "orders")


def change(server: KconfProcess, *values: int) -> None:
    with Admin(server.bootstrap) as admin:
        for value in values:
            assert admin.alter(ORDERS, ("retention.ms", SET, str(value))).error_code == 0


def segments(server: KconfProcess) -> float:
    return figures(server)["kconf_archive_segments_total"]


def test_one_of_two_servers_archives_the_changes_of_both(zookeeper_url: str, tmp_path: Path) -> None:
    with (
        archiving(tmp_path, store=zookeeper_url, archive_interval_ms="50") as one,
        archiving(tmp_path, store=zookeeper_url, archive_interval_ms="50", node_id=2) as two,
    ):
        with Admin(one.bootstrap) as admin:
            admin.create("orders")
        change(one, *range(5))
        change(two, *range(5, 10))
        until(lambda: len(lines(tmp_path)) == 11)
        until(lambda: sum(segments(each) for each in (one, two)) == len(names(tmp_path)))
        assert sorted(bool(segments(each)) for each in (one, two)) == [False, True]
        assert {figures(each)["kconf_archive_alarm"] for each in (one, two)} == {0}
        one.stop()
        two.stop()

        assert_same(archived(tmp_path), journal(zookeeper_url))


def test_another_server_takes_over_from_one_that_was_killed(zookeeper_url: str, tmp_path: Path) -> None:
    with (
        archiving(tmp_path, store=zookeeper_url, archive_interval_ms="50") as one,
        archiving(tmp_path, store=zookeeper_url, archive_interval_ms="50", node_id=2) as two,
    ):
        with Admin(one.bootstrap) as admin:
            admin.create("orders")
        change(one, *range(3))
        until(lambda: len(lines(tmp_path)) == 4)
        (lock,) = tmp_path.glob("*/.archiver.lock")
        first, second = (one, two) if int(lock.read_text()) == one.pid else (two, one)
        first.kill()
        change(second, *range(10, 15))
        until(lambda: len(lines(tmp_path)) == 9)
        assert int(lock.read_text()) == second.pid
        first.start()
        change(first, 20)
        until(lambda: len(lines(tmp_path)) == 10)
        assert "archived up to revision" in flush(tmp_path)
        one.stop()
        two.stop()

        assert_same(archived(tmp_path), journal(zookeeper_url))
    assert [each["sequence"] for each in lines(tmp_path)] == sorted({each["sequence"] for each in lines(tmp_path)})
