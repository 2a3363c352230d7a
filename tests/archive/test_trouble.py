"""An archive that cannot be written is reported: the server continues, and the journal retains what is not archived."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.archive.reading import archived, archiving, assert_same, figures, flush, health, journal, kconf, names, until
from tests.support.admin import SET, TOPIC, Admin
from tests.support.process import KconfProcess
from tests.support.targets import marked

ORDERS = (TOPIC, "orders")
LONG = ",".join(f"{number}:1" for number in range(4_500))


def many(admin: Admin, count: int = 40) -> None:
    for value in range(count):
        assert admin.alter(ORDERS, ("retention.ms", SET, str(value))).error_code == 0


def in_alarm(server: KconfProcess) -> bool:
    return figures(server)["kconf_archive_alarm"] == 1


def test_a_full_disk_is_reported_and_archiving_continues_when_there_is_space(tmp_path: Path) -> None:
    """The store is in memory, so that the file size limit affects only the archive."""
    server = archiving(tmp_path, store="memory:", log_level="WARN", archive_interval_ms="50")  # the log is a file too
    with server, Admin(server.bootstrap) as admin:
        admin.create("orders")
        until(lambda: len(names(tmp_path)) == 1)
        _, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (20_000, hard))  # far larger than the log
        assert admin.alter(ORDERS, ("leader.replication.throttled.replicas", SET, LONG)).error_code == 0
        until(lambda: in_alarm(server))

        assert "cannot write" in health(server)["archive"]
        assert health(server)["status"] == "ok"
        many(admin)
        behind = figures(server)
        assert behind["kconf_archive_failures_total"] >= 1
        assert behind["kconf_archive_lag_seconds"] > 0
        assert behind["kconf_archive_waiting_revisions"] >= 40

        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (hard, hard))
        until(lambda: not in_alarm(server))
        until(lambda: len(archived(tmp_path)) == 42)
        assert [each.number for each in archived(tmp_path)] == list(range(1, 43))
        assert list(tmp_path.glob("*/.segment*")) == []
        log = server.log()
    assert log.count("archiving failed: cannot write") == 1


def test_a_directory_that_was_removed_is_created_again(tmp_path: Path) -> None:
    """Deleted files are not written again: the archive continues where it was."""
    with archiving(tmp_path / "a") as server, Admin(server.bootstrap) as admin:
        admin.create("orders")
        flush(tmp_path / "a")
        (tmp_path / "a").rename(tmp_path / "b")
        (tmp_path / "a").write_text("in the way")
        many(admin)
        server.stop()
        assert "archiving failed: cannot write" in server.log()
        (tmp_path / "a").unlink()
        (tmp_path / "b").rename(tmp_path / "a")
        server.start()
        server.stop()

        assert_same(archived(tmp_path / "a"), journal(server.store))


def test_revisions_that_are_not_archived_are_not_trimmed(tmp_path: Path) -> None:
    with archiving(tmp_path / "a", journal_retention_revisions="5") as server:
        with Admin(server.bootstrap) as admin:
            admin.create("orders")
            many(admin)
        server.kill()
        server.start()
        server.stop()

        assert [each.number for each in archived(tmp_path / "a")] == list(range(1, 42))


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("archive.interval.ms", "5s"),
        ("archive.segment.bytes", "0"),
        *(marked(("archive.interval.ms", each), pytest.mark.full) for each in ("0", "-1", "1.5", str(2**31))),
        *(marked(("archive.segment.bytes", each), pytest.mark.full) for each in ("-1", "5s", "1.5", str(2**31))),
    ],
)
def test_an_invalid_archive_setting_prevents_the_start(tmp_path: Path, key: str, text: str) -> None:
    done = serve(tmp_path, "--archive", str(tmp_path / "a"), "--override", f"{key}={text}")

    assert done.returncode == 1
    reason = "must be at least 1"
    if text not in ("0", "-1"):
        reason = "expected an integer of type INT, from -2147483648 to 2147483647"
    assert done.stderr == f"kconf: server.properties: Invalid value {text} for configuration {key}: {reason}\n"


@pytest.mark.parametrize("below", ["", "/below"])
def test_a_file_in_the_place_of_the_directory_prevents_the_start(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("not ours")

    done = serve(tmp_path, "--archive", f"{tmp_path}/file{below}")

    assert done.returncode == 1
    assert done.stderr == f"kconf: cannot archive to {tmp_path}/file{below}: Not a directory\n"
    assert (tmp_path / "file").read_text() == "not ours"


def serve(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kconf", "serve", "--listen", "127.0.0.1:0", "--store", f"sqlite:///{place}/k.db"]
    return subprocess.run([*command, *words], capture_output=True, text=True, timeout=60, check=False)


def test_two_servers_do_not_write_the_same_archive(tmp_path: Path) -> None:
    """A copy of a store also has the cluster ID."""
    with archiving(tmp_path / "a") as server:
        with Admin(server.bootstrap) as admin:
            admin.create("orders")
            flush(tmp_path / "a")
            copied = kconf("backup", "--store", server.store, str(tmp_path / "copy.db"))
            assert copied.returncode == 0, copied.stderr
            many(admin)
        with archiving(tmp_path / "a", store=f"sqlite:///{tmp_path}/copy.db") as twin:
            until(lambda: in_alarm(twin))
            assert f"in use by process {server.pid}" in health(twin)["archive"]
        server.stop()
        with archiving(tmp_path / "a", store=f"sqlite:///{tmp_path}/copy.db") as older:
            until(lambda: in_alarm(older))
            assert "contains revisions up to 41, but the store only up to 1" in health(older)["archive"]

        assert_same(archived(tmp_path / "a"), journal(server.store))


def test_a_damaged_last_segment_is_reported_and_not_changed(tmp_path: Path) -> None:
    with archiving(tmp_path) as server:
        with Admin(server.bootstrap) as admin:
            admin.create("orders")
        flush(tmp_path)
        (segment,) = tmp_path.glob("*/*.jsonl")
        server.stop()
        whole = segment.read_bytes()
        segment.write_bytes(whole[:-9])
        server.start()
        until(lambda: in_alarm(server))

        assert health(server)["archive"] == f"{segment} is damaged: its last line is incomplete"
        assert segment.read_bytes() == whole[:-9]
