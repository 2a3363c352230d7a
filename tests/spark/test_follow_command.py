"""`kconf pipeline follow` as a process: a server and an archive, a killed JVM, and SIGTERM."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from kconf import AlterConfigOp, NewTopic, OpType, Resource, SyncAdminClient
from kconf.errors import KconfError
from kconf.lake.lookup import LakeTables, LookupFilter
from tests.spark.journals import journals
from tests.spark.oracle import lines_of
from tests.support.process import KconfProcess


@contextmanager
def following(*words: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and the address of its metrics."""
    command = [sys.executable, "-m", "kconf", "pipeline", "follow", *map(str, words), "--metrics", "127.0.0.1:0"]
    piped = subprocess.PIPE
    with subprocess.Popen(command, stdout=piped, stderr=piped, text=True, start_new_session=True) as running:
        try:
            assert running.stdout is not None
            found = re.search(r"metrics=(http://\S+)/metrics", running.stdout.readline())
            assert found is not None, running.communicate()[1]
            yield running, found[1]
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)


def get(url: str) -> str:
    with urlopen(url, timeout=120) as answer:
        return str(answer.read().decode())


def until(condition: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + 280
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def values(lake: Path, topic: str) -> list[str]:
    try:
        found = LakeTables(str(lake)).state(LookupFilter(resources=[Resource.topic(topic)]))
    except KconfError:
        return []  # no run has finished yet
    return [row["value"] for row in found if row["key"] == "retention.ms"]


def jvm(parent: int) -> int:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        if name == "java" and int(rest.split()[1]) == parent:
            return int(stat.parent.name)
    raise AssertionError("no JVM")


@pytest.mark.faults
def test_a_lake_is_kept_current_from_a_server_and_an_archive(tmp_path: Path) -> None:
    (journal,) = journals(1, 0)
    archive, lake = tmp_path / "archive" / journal.cluster, tmp_path / "lake"
    archive.mkdir(parents=True)
    lines = [*journal.create("archived"), *journal.set("topic", "archived", "retention.ms", "1000")]
    (archive / "1.jsonl").write_text("".join(f"{line}\n" for line in lines_of(lines)))
    with KconfProcess() as server, SyncAdminClient(server.bootstrap) as admin:

        def put(value: str) -> None:
            requested = {Resource.topic("live"): [AlterConfigOp(OpType.SET, "retention.ms", value)]}
            admin.incremental_alter_configs(requested).raise_for_failures()

        admin.create_topics([NewTopic("live", 1, 1)]).raise_for_failures()
        put("2000")
        words = ("--lake", lake, "--archive", tmp_path / "archive", "--server", server.bootstrap)
        with following(*words, "--interval", "0s", "--log", tmp_path / "spark.log") as (running, address):
            until(lambda: (values(lake, "archived"), values(lake, "live")) == (["1000"], ["2000"]), "the first run")
            health = json.loads(get(f"{address}/health"))
            assert (health["pipeline"], list(health["sources"])) == ("ok", [server.bootstrap])
            assert health["sources"][server.bootstrap]["alarm"] is None
            assert health["sources"][server.bootstrap]["seconds_since_success"] < 60
            assert health["status"] in ("ok", "stale"), "how long a round takes depends on the machine"
            second = subprocess.run(
                [sys.executable, "-m", "kconf", "pipeline", "follow", *map(str, words)],
                capture_output=True,
                text=True,
                check=False,
                timeout=280,
            )
            assert second.returncode == 1
            assert f"process {running.pid}" in second.stderr

            put("3000")
            until(lambda: values(lake, "live") == ["3000"], "a change")
            os.kill(jvm(running.pid), signal.SIGKILL)
            put("4000")
            until(lambda: values(lake, "live") == ["4000"], "a change after the JVM was killed")

            metrics = get(f"{address}/metrics")
            assert "kconf_pipeline_session_restarts_total 1.0" in metrics
            assert f'kconf_feed_changes_total{{server="{server.bootstrap}"}} 4.0' in metrics
            os.kill(running.pid, signal.SIGTERM)
            said = running.communicate(timeout=280)[1]
            assert running.returncode == 0, said
    assert "Traceback" not in said
    assert "the Spark session ended; starting a new one" in said
    assert "py4j" not in said
    assert list((lake / "feeds").glob("*/*.jsonl")) == []
    history = LakeTables(str(lake)).history(LookupFilter(resources=[Resource.topic("live")]))
    assert [row["value"] for row in history if row["key"]] == ["2000", "3000", "4000"]
