"""A server archives every committed change once, in order, in files that only their owner can read."""

from __future__ import annotations

import stat
from pathlib import Path

from tests.archive.reading import (
    archived,
    archiving,
    assert_same,
    figures,
    flush,
    health,
    journal,
    kconf,
    lines,
    names,
    until,
)
from tests.support.admin import BROKER, DELETE, SET, TOPIC, Admin
from tests.support.secrets import assert_nowhere

ORDERS = (TOPIC, "orders")
PASSWORD = "listener.name.external.ssl.keystore.password"


def change(admin: Admin, value: int) -> None:
    assert admin.alter(ORDERS, ("retention.ms", SET, str(value))).error_code == 0


def test_everything_that_was_committed_is_archived_in_order(tmp_path: Path) -> None:
    with archiving(tmp_path / "archive") as server:
        with Admin(server.bootstrap) as admin:
            admin.create("orders", partitions=3, configs={"cleanup.policy": "compact"})
            for value in range(20):
                change(admin, value)
            admin.alter(ORDERS, ("retention.ms", DELETE, None), ("segment.ms", SET, "60000"))
            admin.alter((BROKER, "1"), (PASSWORD, SET, "hunter2-planted"))
            admin.grow("orders", 5)
            admin.delete("orders")
        assert "revision 25 in 1 segments" in flush(tmp_path / "archive")
        assert server.stop() == 0

        found, expected = archived(tmp_path / "archive"), journal(server.store)

    assert_same(found, expected)
    assert len(found) == 25
    (secret,) = [line for line in lines(tmp_path / "archive") if line["key"] == PASSWORD]
    assert secret["after"].startswith("hmac:")
    assert_nowhere(tmp_path / "archive", ["hunter2-planted"])


def test_remaining_changes_are_archived_at_shutdown_and_the_next_server_continues(tmp_path: Path) -> None:
    with archiving(tmp_path) as server:
        for turn in range(3):
            with Admin(server.bootstrap) as admin:
                admin.create(f"t{turn}")
                admin.create(f"u{turn}")
            server.restart()
        server.stop()

        assert_same(archived(tmp_path), journal(server.store))
    spans = [each.removesuffix(".jsonl").split("-") for each in names(tmp_path)]
    assert [tuple(map(int, each)) for each in spans] == [(1, 1, 2), (1, 3, 4), (1, 5, 6)]
    assert all(len(part) == 20 for each in spans for part in each)


def test_a_change_is_archived_when_the_interval_ends(tmp_path: Path) -> None:
    with archiving(tmp_path, archive_interval_ms="50") as server, Admin(server.bootstrap) as admin:
        admin.create("orders")
        until(lambda: len(lines(tmp_path)) >= 1)
        change(admin, 7)
        until(lambda: lines(tmp_path)[-1]["after"] == "7")


def test_a_full_segment_is_archived_before_the_interval_ends(tmp_path: Path) -> None:
    with archiving(tmp_path, archive_segment_bytes="3000") as server, Admin(server.bootstrap) as admin:
        until(lambda: "nothing archived yet" in kconf("archive", "status", str(tmp_path)).stdout)
        admin.create("orders")
        for value in range(40):
            change(admin, value)
        until(lambda: len(names(tmp_path)) >= 2)


def test_refusals_and_dry_runs_are_archived_in_files_of_their_own(tmp_path: Path) -> None:
    with archiving(tmp_path) as server:
        with Admin(server.bootstrap) as admin:
            admin.alter((TOPIC, "none"), ("retention.ms", SET, "hunter2-planted"))
            admin.alter((BROKER, ""), ("log.retention.ms", SET, "5"), dry=True)
        flush(tmp_path)
        with Admin(server.bootstrap) as admin:
            admin.alter((BROKER, ""), ("log.retention.ms", SET, "6"), dry=True)
        server.restart()
        flush(tmp_path)

        assert names(tmp_path) == []
        tried = lines(tmp_path, "attempts")
        cluster = health(server)["cluster"]
    assert [(each["number"], each["resource_name"], each["error"], each["dry_run"]) for each in tried] == [
        (1, "none", 40, False),
        (2, "", 0, True),
        (3, "", 0, True),
    ]
    assert {each["cluster"] for each in tried} == {cluster}
    assert_nowhere(tmp_path, ["hunter2-planted"])


def test_archive_files_are_readable_only_by_their_owner(tmp_path: Path) -> None:
    with archiving(tmp_path / "a" / "b") as server:
        with Admin(server.bootstrap) as admin:
            admin.create("orders")
        flush(tmp_path / "a" / "b")

        for each in [tmp_path / "a", *(tmp_path / "a").rglob("*")]:
            assert stat.S_IMODE(each.stat().st_mode) == (0o700 if each.is_dir() else 0o600), each


def test_metrics_show_how_far_the_archive_is_behind(tmp_path: Path) -> None:
    with archiving(tmp_path) as server, Admin(server.bootstrap) as admin:
        until(lambda: "archived" in kconf("archive", "status", str(tmp_path)).stdout)
        admin.create("orders")
        change(admin, 1)
        behind = figures(server)
        flush(tmp_path)
        level = figures(server)
        state = health(server)

    assert (behind["kconf_archived_revision"], behind["kconf_archive_waiting_revisions"]) == (0, 2)
    assert behind["kconf_archive_lag_seconds"] > 0
    assert (level["kconf_archived_revision"], level["kconf_archive_waiting_revisions"]) == (2, 0)
    assert (level["kconf_archive_lag_seconds"], level["kconf_archive_alarm"]) == (0, 0)
    assert level["kconf_archive_segments_total"] == 1
    assert state["archive"] == "ok"


def test_the_archive_directory_can_be_set_in_server_properties(tmp_path: Path) -> None:
    from tests.support.process import KconfProcess

    with KconfProcess(properties={"archive.directory": str(tmp_path)}) as server:
        with Admin(server.bootstrap) as admin:
            admin.create("orders")
        server.stop()

        assert_same(archived(tmp_path), journal(server.store))


def test_status_and_flush_print_the_state_of_the_archive(tmp_path: Path) -> None:
    nowhere = kconf("archive", "status", str(tmp_path / "none"))
    empty = kconf("archive", "flush", str(tmp_path))
    with archiving(tmp_path) as server:
        with Admin(server.bootstrap) as admin:
            admin.create("orders")
        flush(tmp_path)
        running = kconf("archive", "status", str(tmp_path))
        pid = server.pid
        server.stop()
        stopped = kconf("archive", "flush", str(tmp_path))

    assert (nowhere.returncode, empty.returncode, stopped.returncode) == (1, 1, 1)
    assert "No such file or directory" in nowhere.stderr
    assert "contains no archive" in empty.stderr
    assert f"revision 1 in 1 segments, written by process {pid}" in running.stdout
    assert "no server on this machine archives to" in stopped.stderr
