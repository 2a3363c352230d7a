"""Followed clusters with few records: a log of which a later leader cut off the end, and a controller's directory."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from kconf.protocol.records import metadata
from kconf.spark import bronze, silver
from kconf.spark.delta_tables import Lake
from tests.spark.followed_clusters import BROKER, Cluster, Commit, Follower, Step
from tests.unit.client.kraft.log import batch, new_topic, snapshot, topic_config

LONE = ((5, 1, None, "1"), (9, 1, "1", "never"))
WHOLE = ((5, 1, None, "1"), (8, 2, "1", "2"))
"""Offset, epoch, and the values before and after, as two followers of one cluster have them."""


def write_tail(archives: Path) -> None:
    """The directory of one controller may have uncommitted records; another follower has the committed log."""
    for name, records in (("first", LONE), ("second", WHOLE)):
        cluster = Cluster("tail", Random(1))
        cluster.commits = [Commit(at, epoch, at, (Step(BROKER, was, now),)) for at, epoch, was, now in records]
        ((file, lines),) = Follower(cluster, [(0, cluster.end, False)]).files()
        path = archives / name / "tail" / file
        path.parent.mkdir(parents=True)
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def read_directory(lake: Lake, home: Path, *, each_time: bool = False) -> list[tuple[int, int]]:
    """Read the metadata directory of a controller three times; it has changed before the last time.

    Returns the number of changes and notes. `each_time`: update the history each time.
    """
    place = home / "data" / "__cluster_metadata-0"
    place.mkdir(parents=True)
    (home / "data" / "meta.properties").write_text("version=1\ncluster.id=abc\n")
    head = snapshot([*new_topic("orders", 1), topic_config("orders", "segment.ms", "7")], time=500)
    (place / f"{10:020}-{3:010}.checkpoint").write_bytes(head)
    segment = place / f"{10:020}.log"
    threads = metadata.ConfigRecord(4, "", "log.cleaner.threads", "2")
    segment.write_bytes(batch(10, [topic_config("orders", "retention.ms", "5"), threads, threads, threads], epoch=3))
    result = []
    for more in (b"", b"", batch(14, [topic_config("orders", "retention.ms", "6")], epoch=4, time=2000)):
        if more:
            segment.write_bytes(segment.read_bytes() + more)
        read = bronze.Read()
        bronze.read_metadata_log(lake, str(home / "data"), silver.next_round(lake), read)
        if each_time:
            silver.update(lake)
        result.append((read.journal, len(read.notes)))
    return result
