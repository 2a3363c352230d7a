"""Which declarative files are read, each only once."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconf.client.contexts.context import Context
from kconf.errors import ConfigurationError
from kconf.operations.declarative.files import load_declared


def test_a_file_that_is_named_in_two_ways_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "topics.yaml"
    file.write_text("topics: {orders: }\n")
    (tmp_path / "link").symlink_to(tmp_path)

    found = load_declared([str(tmp_path), f"{tmp_path}/link/topics.yaml", f"{tmp_path}/./topics.yaml"], Context())

    assert found.topics["orders"].place.file == str(file)


def test_two_directories_that_declare_one_topic_are_refused_with_both_places(tmp_path: Path) -> None:
    for team in ("a", "b"):
        (tmp_path / team).mkdir()
        (tmp_path / team / "topics.yaml").write_text("topics:\n  orders: {}\n")

    with pytest.raises(ConfigurationError) as refused:
        load_declared([str(tmp_path / "a"), str(tmp_path / "b")], Context())

    places = [f"{tmp_path}/{team}/topics.yaml:2:3" for team in ("b", "a")]
    assert str(refused.value) == f"{places[0]}: the topic 'orders' is already declared at {places[1]}"
