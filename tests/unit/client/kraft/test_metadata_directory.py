"""A controller's metadata directory, read offline."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconf.client.kraft.follower import LogChanges, LogGap
from kconf.client.kraft.metadata_directory import MetadataDirectory
from kconf.errors import ConfigurationError
from tests.unit.client.kraft.log import batch, new_topic, snapshot, topic_config


def folder(tmp_path: Path, name: str = "__cluster_metadata-0") -> Path:
    made = tmp_path / name
    made.mkdir()
    return made


def test_segments_are_read_in_order_and_zeros_end_them(tmp_path: Path) -> None:
    place = folder(tmp_path)
    (place / f"{0:020}.log").write_bytes(batch(0, new_topic("orders", 1)) + bytes(100))
    (place / f"{2:020}.log").write_bytes(batch(2, [topic_config("orders", "retention.ms", "5")]))
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=abc\n")

    log = MetadataDirectory(tmp_path)
    found = [each for event in log.events() if isinstance(event, LogChanges) for each in event.revisions]

    assert [each.number for each in found] == [0, 2]
    assert (log.cluster, log.end) == ("abc", 3)


def test_the_time_before_the_oldest_snapshot_is_a_gap(tmp_path: Path) -> None:
    place = folder(tmp_path)
    (place / f"{10:020}-{3:010}.checkpoint").write_bytes(snapshot(new_topic("orders", 1)))
    (place / f"{10:020}.log").write_bytes(batch(10, [topic_config("orders", "retention.ms", "5")]))

    gap, changes = MetadataDirectory(place).events()

    assert isinstance(gap, LogGap)
    assert (gap.begin, gap.end, [each.op for each in gap.changes]) == (0, 10, ["create"])
    assert isinstance(changes, LogChanges)


def test_gaps_and_damage_are_reported(tmp_path: Path) -> None:
    place = folder(tmp_path)
    (place / f"{0:020}.log").write_bytes(batch(0, new_topic("orders", 1)))
    (place / f"{9:020}.log").write_bytes(batch(9, [topic_config("orders", "retention.ms", "5")]))
    with pytest.raises(ConfigurationError, match="offsets 2 to 8 are missing"):
        list(MetadataDirectory(place).events())
    (place / f"{9:020}.log").write_bytes(batch(9, new_topic("x", 2))[:-1] + b"!")
    with pytest.raises(ConfigurationError, match="damaged"):
        list(MetadataDirectory(place).events())


def test_the_directory_of_another_topic_is_not_a_metadata_log(tmp_path: Path) -> None:
    place = folder(tmp_path, "payments-0")
    (place / f"{0:020}.log").write_bytes(b"")

    with pytest.raises(ConfigurationError, match="no metadata log"):
        MetadataDirectory(place)
