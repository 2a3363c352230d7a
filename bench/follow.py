"""Following a KRaft cluster: the delay of a committed change, the speed of reading a log, the cost of waiting.

Only kconf: Kafka has nothing comparable. The delay is measured from the response of IncrementalAlterConfigs until a
follower in another thread has the change; it is negative if the follower was faster.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from bench import machine
from bench.arena import Arena, main
from bench.table import Goal, Row
from kconf import AlterConfigOp, NewTopic, OpType, Resource, SyncAdminClient
from kconf.client.kraft.image import MetadataImage
from kconf.client.kraft.metadata_directory import MetadataDirectory
from kconf.protocol.records.batches import read_batches
from lab.broker import AT_FULL_SPEED, KafkaBroker
from lab.cluster import KafkaCluster

CHANGES = 300
TOPICS = 10_000
IDLE = 10.0  # seconds
SETTLED = 30.0  # seconds
TOPIC = "bench-follow"
KEY = "retention.ms"


def rows(arena: Arena) -> Iterator[Row]:
    if "kconf" not in arena.names:
        return
    with KafkaBroker(jvm_options=AT_FULL_SPEED) as broker:
        yield from _latency("combined 4.3.1", broker.bootstrap, broker.address("CONTROLLER"), 3, 15)
        yield from _idle(broker.bootstrap, broker.address("CONTROLLER"), "a new cluster")
        yield from _catch_up(broker)
        yield from _idle(broker.bootstrap, broker.address("CONTROLLER"), f"{TOPICS:,} topics")
    with KafkaCluster(3, "3.9.2") as cluster:
        yield from _latency("three controllers, 3.9.2", cluster.bootstrap, cluster.controllers, 8, 30)


def _latency(name: str, bootstrap: str, controllers: str, p50: float, p99: float) -> Iterator[Row]:
    seen: dict[str, float] = {}
    with SyncAdminClient(bootstrap) as admin, SyncAdminClient(bootstrap_controllers=controllers) as followed:
        admin.create_topics([NewTopic(TOPIC, 1, 1)]).raise_for_failures()
        log = followed.follow()
        log.__enter__()
        last = str(10_000_000 + CHANGES - 1)

        def read() -> None:
            for revision in log:
                for change in revision.changes:
                    seen[str(change.after)] = time.perf_counter()
                if last in seen:
                    return

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        answered = {}
        for number in range(CHANGES):
            value = str(10_000_000 + number)
            op = AlterConfigOp(OpType.SET, KEY, value)
            admin.incremental_alter_configs({Resource.topic(TOPIC): [op]}).raise_for_failures()
            answered[value] = time.perf_counter()
        reader.join(60)
    delays = sorted((seen[value] - at) * 1000 for value, at in answered.items())
    figures = (("p50", statistics.median(delays), p50), ("p99", delays[int(len(delays) * 0.99)], p99))
    for what, found, goal in figures:
        shown = max(found, 0.001)  # a `most` goal needs a number above 0
        notes = {"ms": found}
        yield Row(
            f"change seen after its response, {name}, {what}",
            "s",
            {"kconf": [shown / 1000]},
            [Goal("most", goal / 1000, f"≤ {goal:g} ms")],
            less_is_better=True,
            notes=notes,
        )


def _idle(bootstrap: str, controllers: str, what: str) -> Iterator[Row]:
    """The real command while it waits: its share of a core, and its memory."""
    with tempfile.TemporaryDirectory() as archive:
        words = ("follow", "-b", bootstrap, "--controllers", controllers, "--archive", archive)
        command = [sys.executable, "-m", "kconf", *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline().startswith("following cluster=")
                _until_archived(Path(archive))
                before = machine.cpu_seconds(process.pid)
                time.sleep(IDLE)
                share = (machine.cpu_seconds(process.pid) - before) / IDLE
                held = machine.rss_bytes(process.pid) / 2**20
            finally:
                process.terminate()
                process.wait(60)
    core, memory = [Goal("most", 0.01, "≤ 1 %")], [Goal("most", 60, "≤ 60 MB")]
    yield Row(f"kconf follow, {what}, waiting: fraction of a core", "×", {"kconf": [share]}, core, less_is_better=True)
    yield Row(f"kconf follow, {what}, waiting: memory (RSS)", "MiB", {"kconf": [held]}, memory, less_is_better=True)


def _until_archived(archive: Path) -> None:
    """Wait until the follower has archived the log; a new cluster may be empty."""
    ends = time.monotonic() + SETTLED
    while time.monotonic() < ends and not list(archive.glob("*/.follow.json")):
        time.sleep(0.2)
    time.sleep(1)


def _catch_up(broker: KafkaBroker) -> Iterator[Row]:
    with SyncAdminClient(broker.bootstrap, timeout=600) as admin:
        for start in range(0, TOPICS, 500):
            new = [NewTopic(f"t-{number}", 1, 1, configs=[(KEY, "86400000")]) for number in range(start, start + 500)]
            admin.create_topics(new).raise_for_failures()
    address = broker.address("CONTROLLER")
    began = time.perf_counter()
    with SyncAdminClient(bootstrap_controllers=address) as followed, followed.follow() as log:
        seconds = time.perf_counter() - began
        assert len(log.follower.image.topics) >= TOPICS
    goal = [Goal("most", 0.6, "≤ 0.6 s")]
    yield Row(f"{TOPICS:,} topics, from connect to state", "s", {"kconf": [seconds]}, goal, less_is_better=True)
    directory = broker.directory / "data" / "__cluster_metadata-0"
    assert MetadataDirectory(directory).cluster
    data = b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))
    began = time.perf_counter()
    image, count = MetadataImage(), 0
    for batch in read_batches(data):
        image.apply(batch, report=False)
        count += batch.size
    rate = count / (time.perf_counter() - began)
    yield Row("records decoded and applied", "/s", {"kconf": [rate]}, [Goal("least", 100_000, "≥ 100,000/s")])


if __name__ == "__main__":
    main(rows)
