"""Quota files: every invalid line is reported, not only the first."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconf.errors import ConfigurationError
from kconf.operations.quotas.file import read_pairs, read_quotas

BAD_LINES = 250


def mistakes(path: Path, text: str) -> list[str]:
    path.write_text(text)
    with pytest.raises(ConfigurationError) as refused:
        read_quotas(str(path), None)
    return [line.removeprefix(f"{path} ") for line in str(refused.value).splitlines()]


def test_every_bad_line_of_a_csv_file_is_reported(tmp_path: Path) -> None:
    found = mistakes(tmp_path / "q.csv", 'user,producer_byte_rate\na,1\nb\nc,fast\n,1\na,2\n"d"e,1\nf,1\n')

    assert [line.split(":")[0] for line in found] == [
        *("line 3 has 1 cells, but the first line has 2", "line 4", "line 5"),
        *("lines 2 and 6 set quotas for the same entity", "line 7 is not CSV"),
    ]
    assert found[2] == "line 5: a row needs a user, a client-id, an ip, or one of their defaults"


def test_every_bad_column_is_reported(tmp_path: Path) -> None:
    found = mistakes(tmp_path / "q.csv", "user,rate,speed,user\na,1,1,1\n")

    assert [line.split(";")[0] for line in found] == [
        "line 1 has the column 'user' twice",
        "line 1: unknown column 'rate'",
        "line 1: unknown column 'speed'",
    ]


def test_every_bad_entry_of_a_yaml_file_is_reported(tmp_path: Path) -> None:
    text = "quotas:\n  - {user: b}\n  - {user: c, limits: {producer_byte_rate: 1}}\n  - d\n  - {usr: e}\n"

    found = mistakes(tmp_path / "q.yaml", text)

    assert [line.split(",")[0] for line in found] == [
        "line 2: a row needs a quota",
        "line 4: expected names and values here",
        "line 5: 'usr' is not one of user",
    ]


def test_the_errors_of_a_file_are_limited_in_number(tmp_path: Path) -> None:
    found = mistakes(tmp_path / "q.csv", "user,producer_byte_rate\n" + "a\n" * BAD_LINES)

    assert (len(found), found[-1]) == (101, "… and 150 more errors")


def test_every_bad_pair_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("user,client-id\n,\nann,app\nbob\n")

    with pytest.raises(ConfigurationError) as refused:
        read_pairs(str(path))
    assert str(refused.value).splitlines() == [
        f"{path} line 2 has neither a user nor a client ID",
        f"{path} line 4 has 1 cells, but the first line has 2",
    ]
