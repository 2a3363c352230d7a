"""What new files of followed logs change about the known offsets."""

from __future__ import annotations

from typing import Any

import pytest

from kconf.spark.incremental.covered import news

Row = dict[str, Any]


def file(begin: int, end: int, number: int, *, gap: bool = False, name: str = "", read: bool = True) -> Row:
    place = {"source": "archive", "file": name or f"{begin}-{end}", "read": read, "round": number, "cluster": "c"}
    return {**place, "first_offset": begin, "end_offset": end, "gap": gap}


KNOWN = [file(0, 10, 1), file(20, 30, 1)]
OTHER = {**file(0, 10, 1), "cluster": None, "first_offset": None, "end_offset": None}


@pytest.mark.parametrize(
    ("new", "rearranged", "longer"),
    [
        pytest.param([], set(), {}, id="nothing"),
        pytest.param([{**OTHER, "round": 3}], set(), {}, id="a file that is not of a log"),
        pytest.param([file(30, 35, 3)], set(), {"c": 30}, id="the next segment"),
        pytest.param([file(20, 35, 3)], set(), {"c": 30}, id="a controller's log that has grown"),
        pytest.param([file(22, 28, 3)], set(), {}, id="a segment of another follower"),
        pytest.param([file(10, 20, 3)], {"c"}, {}, id="the missing segment"),
        pytest.param([file(40, 45, 3)], {"c"}, {}, id="a segment after a missing one"),
        pytest.param([file(30, 40, 3, gap=True)], {"c"}, {}, id="a gap"),
        pytest.param([file(30, 40, 3, read=False)], set(), {}, id="a skipped file"),
        pytest.param([file(20, 25, 3, name="20-30")], {"c"}, {}, id="a file that was replaced"),
    ],
)
def test_new_files_rearrange_a_log_or_only_make_it_longer(
    new: list[Row], rearranged: set[str], longer: dict[str, int]
) -> None:
    found = news([*KNOWN, OTHER, *new], since=2)

    assert found.rearranged == rearranged
    assert found.longer == longer
    assert bool(found) is bool(rearranged or longer)


def test_the_first_files_of_a_cluster_are_news() -> None:
    assert news(KNOWN, since=0).rearranged == {"c"}
    assert news(KNOWN, since=0).round == 1
    assert not news([], since=0)
