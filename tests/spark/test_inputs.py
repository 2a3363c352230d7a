"""The input files of a run are checked before Spark starts, and all invalid lines are reported together."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconf.errors import ConfigurationError
from kconf.spark.inputs import Inputs


def test_every_bad_line_of_owners_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "owners.csv"
    path.write_text("topic,owner\norders\n/(/,search\nt1,search\n,shop\n")

    with pytest.raises(ConfigurationError) as refused:
        Inputs(owners=path).check()
    assert [line.split(":")[1] for line in str(refused.value).splitlines()] == ["2", "3", "5"]


def test_every_bad_line_of_usage_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "usage.csv"
    path.write_text(
        "user,client_id,key,rate\nann,app,producer_byte_rate,1.5\nbob,app,x\nbob,,producer_byte_rate,fast\n"
    )

    with pytest.raises(ConfigurationError) as refused:
        Inputs(usage=path).check()
    assert str(refused.value).splitlines() == [
        f"{path}:3: 3 cells, but the first line has 4",
        f"{path}:4: the rate is not a number",
    ]


def test_usage_without_its_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "usage.csv"
    path.write_text("user,rate\nann,1\n")

    with pytest.raises(ConfigurationError, match="expected the columns"):
        Inputs(usage=path).check()
