"""Records that change the meaning of others after they were read: the history equals a rebuild, for any order of files.

Followed logs with a gap, epochs whose end a later leader truncated, gateways, a client's record that is refuted by a
file without lines, and a cluster with only snapshots that gets its first line of a client. Each has 30 topics.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kconf.lake.schemas import HISTORY, INTEGRITY
from kconf.spark import runner, silver
from kconf.spark.delta_tables import Lake
from kconf.spark.inputs import Inputs, Sources
from tests.spark.followed_clusters import START, Step, _change, _head
from tests.spark.test_incremental_gold import shown
from tests.spark.test_snapshots import override, topic
from tests.support.targets import one_of

Line = dict[str, Any]
Files = dict[str, Sequence[Line]]
"""The files of a cluster, by name."""
TOPICS = 30
HOUR = 3_600_000


def line(
    cluster: str, offset: int, number: int, value: str, epoch: int = 5, origin: str = "log", place: int = 0
) -> Line:
    """A change of one topic; the offset is also its time in seconds."""
    head = _head(cluster, epoch, offset, START + offset * 1000, 1 if origin == "log" else TOPICS, place, origin)
    return {**head, **_change(Step(("topic", f"t{number}", "retention.ms"), None, value))}


def segment(cluster: str, begin: int, end: int, value: str, epoch: int = 5) -> list[Line]:
    return [line(cluster, offset, offset % TOPICS, value, epoch) for offset in range(begin, end)]


def name_of(begin: int, end: int, *, gap: bool = False) -> str:
    return f"log-{'gap-' if gap else ''}{begin:020d}-{end:020d}.jsonl"


def asked(cluster: str, offset: int, topic: str = "t1") -> Line:
    """A change that a client recorded, with its offset."""
    micros = (START + offset * 1000) * 1000
    head = _head(cluster, 0, micros, micros // 1000, 1, 0, "client")
    change = _change(Step(("topic", topic, "segment.ms"), None, "7"))
    caller = {"principal": "User:ann", "answered": micros // 1000 + 5}
    return {**head, **change, **caller, "log_begin": offset, "log_end": offset + 1}


def with_a_gap(cluster: str) -> Files:
    """The changes found after the gap were made after the last line before it, which may come late."""
    gap = [line(cluster, 99, each, "3", origin="snapshot", place=each) for each in range(TOPICS)]
    return {
        name_of(0, 30): segment(cluster, 0, 30, "1"),
        name_of(60, 100, gap=True): gap,
        name_of(100, 110): segment(cluster, 100, 110, "4"),
        name_of(30, 60): segment(cluster, 30, 60, "2"),
    }


def truncated(cluster: str) -> Files:
    """Epoch 6 begins before the end of epoch 5, as one follower has it; epoch 7 begins after both."""
    return {
        name_of(0, 50): segment(cluster, 0, 50, "5"),
        name_of(60, 70): segment(cluster, 60, 70, "7", epoch=7),
        name_of(40, 60): segment(cluster, 40, 43, "6", epoch=6),
    }


def through_a_gateway(cluster: str) -> Files:
    """The lines of a gateway get the epoch that a follower has at their offset."""
    return {
        f"{1:020d}-{10:020d}-{39:020d}.jsonl": segment(cluster, 10, 40, "2", epoch=1),
        name_of(0, 10): segment(cluster, 0, 10, "1", epoch=1),
        name_of(35, 45): segment(cluster, 40, 45, "4", epoch=9),
        name_of(10, 35): [line(cluster, 34, 4, "2", epoch=4)],
    }


def refuted(cluster: str) -> Files:
    """The log does not have the recorded request, which only a file without lines shows."""
    return {
        name_of(0, 30): segment(cluster, 0, 30, "1"),
        "client.jsonl": [asked(cluster, 35)],
        name_of(30, 40): [],
    }


MAKERS: Sequence[Callable[[str], Files]] = (with_a_gap, truncated, through_a_gateway, refuted)


def look(cluster: str, minute: int, facts: Iterable[Line]) -> list[Line]:
    taken = START + minute * 60_000
    head = {"kind": "snapshot", "format": 1, "cluster": cluster, "started": taken - 10, "taken": taken, "missing": []}
    lines = [head, *facts]
    return [*lines, {"kind": "end", "lines": len(lines)}]


def recreated(identity: str) -> Iterable[Line]:
    for number in range(TOPICS):
        yield topic(f"t{number}", f"{identity}{number}")
        yield override(f"t{number}", "retention.ms", "1")


class Records:
    """A lake, and the files that it has read."""

    def __init__(self, lake: Lake, place: Path) -> None:
        self.lake, self.place, self.number = lake, place, 0
        for each in ("archive", "looks"):
            (place / each).mkdir()
        self.sources = Sources([str(place / "archive")], [str(place / "looks")])

    def add(self, folder: str, name: str, lines: Iterable[Line]) -> None:
        path = self.place / folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{json.dumps(each)}\n" for each in lines))

    def read(self) -> bool:
        """Whether the history was updated."""
        runner.read(self.lake, self.sources, lambda _: None)
        return silver.update(self.lake)

    def history(self) -> list[str]:
        return shown(self.lake.read(HISTORY))

    def check(self) -> None:
        before = self.history()
        silver.rebuild(self.lake)
        assert self.history() == before


def test_records_that_change_earlier_ones_give_the_history_of_a_rebuild(lake: Lake, tmp_path: Path) -> None:
    """The last file of each cluster comes late."""
    records = Records(lake, tmp_path)
    made = {each.__name__: each(each.__name__) for each in MAKERS}
    for late in (False, True):
        for cluster, files in made.items():
            for name in list(files)[-1:] if late else list(files)[:-1]:
                if not (late and cluster == "refuted"):
                    records.add(f"archive/{cluster}", name, files[name])
        if late:
            records.add(
                "archive", "client.jsonl", [{**asked("looked", 7000, "t2"), "log_begin": None, "log_end": None}]
            )
        else:
            for minute, identity in ((0, "A"), (10, "B")):
                records.add("looks", f"{minute}.jsonl", look("looked", minute, recreated(identity)))
        assert records.read()
    records.check()

    assert not silver.has_new_ranges(lake)
    name = name_of(30, 40)
    records.add("archive/refuted", name, made["refuted"][name])
    assert not lake.read(HISTORY).where("cluster = 'refuted' AND key = 'segment.ms'").isEmpty()
    runner.read(lake, records.sources, lambda _: None)
    assert silver.has_new_ranges(lake)
    assert silver.update(lake)
    assert not silver.has_new_ranges(lake)
    assert lake.read(HISTORY).where("cluster = 'refuted' AND key = 'segment.ms'").isEmpty()
    records.check()


@pytest.mark.full
@pytest.mark.parametrize("seed", range(3))
def test_files_in_any_order_give_the_history_of_a_rebuild(lake: Lake, tmp_path: Path, seed: int) -> None:
    records, random = Records(lake, tmp_path), Random(seed)
    files = [(f"archive/{each.__name__}", *file) for each in MAKERS for file in each(each.__name__).items()]
    looks = [
        ("looks", f"{at}.jsonl", look("looked", at, recreated(identity))) for at, identity in ((0, "A"), (10, "B"))
    ]
    line = {**asked("looked", 7000, "t2"), "log_begin": None, "log_end": None}
    arrivals: list[tuple[str, str, Sequence[Line]]] = [*files, *looks, ("archive", "client.jsonl", [line])]
    random.shuffle(arrivals)
    while arrivals:
        for _ in range(random.randrange(1, 4)):
            if arrivals:
                records.add(*arrivals.pop())
        records.read()
        records.check()


def test_a_run_with_only_a_file_without_lines_is_not_skipped(lake: Lake, tmp_path: Path) -> None:
    records = Records(lake, tmp_path)
    files = refuted("refuted")
    for name in list(files)[:-1]:
        records.add("archive/refuted", name, files[name])
    say = print
    assert runner.run(lake, records.sources, Inputs(), say).number == 1
    assert runner.run(lake, records.sources, Inputs(), say).number is None

    records.add("archive/refuted", list(files)[-1], [])

    assert runner.run(lake, records.sources, Inputs(), say).number == 2
    assert lake.read(HISTORY).where("key = 'segment.ms'").isEmpty()
    (found,) = lake.read(INTEGRITY).where("kind = 'contradicted'").collect()
    assert (found["resource_name"], found["key"]) == ("t1", "segment.ms")
    assert runner.run(lake, records.sources, Inputs(), say).number is None


@pytest.mark.parametrize("epoch", one_of(1, [0]), ids=["server", "client"])
def test_a_line_with_a_time_in_the_future_makes_only_lines_about_its_resource_late(
    lake: Lake, tmp_path: Path, epoch: int
) -> None:
    records = Records(lake, tmp_path)

    def made(number: int, time: int, value: str | None) -> None:
        revision = records.number = records.number + 1
        head = _head("c", epoch, revision if epoch else time * 1000, time, 1, 0, "kconf" if epoch else "client")
        records.add(
            "archive", f"{revision}.jsonl", [{**head, **_change(Step(("topic", f"t{number}", "k"), None, value))}]
        )

    def late() -> int:
        return int(lake.note(HISTORY).get("late", 0))

    for number in range(3):
        made(number, START + number, "1")
    records.read()
    made(1, START + 400 * 365 * 24 * HOUR // 10, "2")  # forty years later
    records.read()
    for number in (0, 2):
        made(number, START + HOUR + number, "3")
        records.read()
    assert late() == 0
    assert set(lake.note(HISTORY)["ahead"]) == {"c"}

    made(1, START + 2 * HOUR, None)
    records.read()
    assert late() == lake.note(HISTORY)["round"]
    made(1, START + 3 * HOUR, "4")
    records.read()
    records.check()
