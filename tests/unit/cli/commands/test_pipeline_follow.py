"""The intervals of `kconf pipeline follow`."""

from __future__ import annotations

import argparse

import pytest

from kconf.cli.commands.pipeline_follow import _schedule, add_follow
from kconf.errors import ConfigurationError
from kconf.spark.following.follower import Schedule


def schedule(*words: str) -> Schedule:
    parser = argparse.ArgumentParser()
    add_follow(parser)
    return _schedule(parser.parse_args(words))


def test_the_intervals_that_the_help_names_are_those_of_the_follower() -> None:
    assert schedule() == Schedule()


@pytest.mark.parametrize(
    ("text", "seconds"), [("30", 30), ("30s", 30), ("500ms", 0.5), ("1.5m", 90), ("2h", 7200), ("1d", 86_400), ("0", 0)]
)
def test_an_interval_has_a_unit_or_is_in_seconds(text: str, seconds: float) -> None:
    assert schedule("--interval", text, "--snapshot-interval", text) == Schedule(seconds, seconds)


def test_an_interval_of_0_means_never_for_maintenance() -> None:
    assert schedule("--compact-interval", "0", "--vacuum-interval", "0s", "--hours", "200") == Schedule(
        compactions=None, vacuums=None, hours=200
    )
    assert schedule("--compact-interval", "1m", "--vacuum-interval", "1w") == Schedule(compactions=60, vacuums=604_800)


@pytest.mark.parametrize("option", ["--interval", "--snapshot-interval", "--compact-interval", "--vacuum-interval"])
@pytest.mark.parametrize("text", ["", "s", "soon", "-1s", "5x", "nan", "inf", "1e9", "1 h m"])
def test_an_invalid_duration_is_refused_with_the_name_of_its_option(option: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{option} takes a duration such as 30s or 5m, not"):
        schedule(f"{option}={text}")
