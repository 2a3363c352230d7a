"""Small runs interpret Spark's plans in one partition; runs of unknown size never count as small."""

from __future__ import annotations

import argparse
import re
from math import inf
from pathlib import Path

import pytest

from kconf.cli.common.pipeline import spark_session as spark
from kconf.errors import ConfigurationError


@pytest.fixture
def places(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "a.jsonl").write_bytes(b"x" * 100)
    return str(tmp_path / "lake"), str(tmp_path / "archive")


def test_the_size_of_local_directories_is_known(places: tuple[str, str]) -> None:
    assert spark.input_size("local[*]", places) == 100
    assert spark.input_size("local[2]", [f"file://{each}" for each in places]) == 100


def test_the_size_is_unknown_on_hdfs_and_for_several_machines(places: tuple[str, str]) -> None:
    assert spark.input_size("local[*]", (*places, "hdfs://host/lake")) == inf
    assert spark.input_size("spark://127.0.0.1:7077", places) == inf


@pytest.mark.parametrize(
    ("limits", "more", "quick", "little"),
    [
        ((101, 101), False, True, True),
        ((101, 101), True, True, False),
        ((101, 100), False, True, False),
        ((100, 100), False, False, False),
    ],
)
def test_only_small_input_of_known_size_is_processed_in_memory(
    places: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    limits: tuple[int, int],
    more: bool,
    quick: bool,
    little: bool,
) -> None:
    monkeypatch.setattr(spark, "_LITTLE", limits[0])
    monkeypatch.setattr(spark, "_IN_MEMORY", limits[1])
    found: list[bool] = []
    monkeypatch.setattr("kconf.spark.session.start", lambda *_, quick, **__: found.append(quick))
    monkeypatch.setattr("kconf.spark.session.stop", lambda _: None)
    monkeypatch.setattr("kconf.spark.delta_tables.Lake", lambda *_, little: found.append(little))
    options = argparse.Namespace(conf=[], master="local[*]", log=None)

    with spark.lake_at(places[0], options, [places[1]], more=more):
        pass

    assert found == [quick, little]


def test_settings_of_spark_are_passed_on_and_the_last_of_a_name_counts() -> None:
    words = ["spark.executor.memory=2g", "spark.x=a=b", "spark.executor.memory=4g"]

    assert spark.spark_settings(words) == {"spark.executor.memory": "4g", "spark.x": "a=b"}


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("spark.executor.memory", "--conf takes K=V, such as spark.executor.memory=2g; the argument contains no ="),
        ("executor.memory=2g", "--conf takes K=V with a key that starts with spark., not 'executor.memory'"),
        ("spark.master=local[1]", "set the Spark master with --master"),
    ],
)
def test_an_invalid_spark_setting_is_refused(word: str, sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(sentence)):
        spark.spark_settings([word])
