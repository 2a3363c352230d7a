"""kill -9 at any point: nothing is lost or duplicated, and no partial file is ever visible."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from kconf.model.resource import Resource
from kconf.store.registry import open_store
from tests.archive.reading import archived, archiving, assert_same, journal, names
from tests.contract.changes import commit, put
from tests.support.admin import SET, TOPIC, Admin
from tests.support.process import KconfProcess

CHILD = """
import os, sys, signal
from pathlib import Path
from kconf.server.journal import archive
from kconf.store.registry import open_store
from kconf.util.atomic_files import PartialFile

left = int(sys.argv[3])

def deadly(call):
    def step(*args, **kwargs):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return call(*args, **kwargs)
    return step

store = open_store(sys.argv[1])
ours = archive.Archive(Path(sys.argv[2]), store.cluster_id, store.epoch, store.journal_reader())
os.open, os.fsync, os.fchmod = deadly(os.open), deadly(os.fsync), deadly(os.fchmod)
Path.rename, Path.unlink, Path.mkdir = deadly(Path.rename), deadly(Path.unlink), deadly(Path.mkdir)
PartialFile.write = deadly(PartialFile.write)
archive.MAX_SEGMENT = 3000
ours.open(store.load().revision)
ours.catch_up()
print("whole")
"""


@pytest.mark.parametrize("stride", [8, pytest.param(1, marks=pytest.mark.faults)])
def test_a_process_killed_before_any_of_its_steps_leaves_a_correct_record(tmp_path: Path, stride: int) -> None:
    """A process is killed at each call that writes to the disk; the next process continues."""
    url = f"sqlite:///{tmp_path}/kconf.db"
    store = open_store(url)
    for value in range(12):
        commit(store, put(Resource.topic("orders"), "a", str(value) * 200, before=None), time=value)
    store.close()
    expected = journal(url)
    steps = 0
    while run(url, tmp_path / f"archive-{steps}", steps):
        reached = archived(tmp_path / f"archive-{steps}") if (tmp_path / f"archive-{steps}").exists() else []
        assert_same(reached, expected[: len(reached)])
        assert not run(url, tmp_path / f"archive-{steps}", 10**6)
        assert_same(archived(tmp_path / f"archive-{steps}"), expected)
        assert list(tmp_path.glob(f"archive-{steps}/*/.segment*")) == []
        steps += stride
    assert steps > 20
    assert len(names(tmp_path / f"archive-{steps}")) >= 3


def run(url: str, directory: Path, steps: int) -> bool:
    """Whether the child was killed before it finished."""
    command = [sys.executable, "-c", CHILD, url, str(directory), str(steps)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    assert (done.stdout == "whole\n") == (done.returncode == 0)
    return done.returncode != 0


def write_on(server: KconfProcess, stop: threading.Event) -> None:
    """Make changes until the server has ended."""
    with suppress(OSError, EOFError, AssertionError), Admin(server.bootstrap) as admin:
        value = 0
        while not stop.is_set():
            value += 1
            admin.alter((TOPIC, "orders"), ("retention.ms", SET, str(value)), ("segment.ms", SET, str(value + 1)))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kills", [3, pytest.param(12, marks=pytest.mark.faults)])
def test_a_server_killed_again_and_again_archives_every_revision_once(tmp_path: Path, kills: int) -> None:
    chance = random.Random(10)
    with archiving(tmp_path, archive_interval_ms="3", archive_segment_bytes="4000") as server:
        with Admin(server.bootstrap) as admin:
            admin.create("orders")
        for _ in range(kills):
            stop = threading.Event()
            writer = threading.Thread(target=write_on, args=(server, stop))
            writer.start()
            writer.join(chance.uniform(0.05, 0.4))  # kill it at a random moment
            server.kill()
            stop.set()
            writer.join()
            server.start()
        server.stop()

        expected = journal(server.store)
        assert_same(archived(tmp_path), expected)
    assert len(expected) > kills
    assert len(names(tmp_path)) > kills
