"""Which quota entity the options name."""

from __future__ import annotations

import argparse

import pytest

from kconf.cli.common.options.quota_entity import add_quota_entity, quota_entity
from kconf.errors import ConfigurationError
from kconf.model.quota import QuotaEntity


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("--user u", {"user": "u"}),
        ("--user-default --client-id c", {"user": None, "client-id": "c"}),
        ("--ip 10.0.0.1", {"ip": "10.0.0.1"}),
        ("", None),
    ],
)
def test_flags_name_a_quota_entity(words: str, parts: dict[str, str | None] | None) -> None:
    parser = argparse.ArgumentParser()
    add_quota_entity(parser)
    expected = None if parts is None else QuotaEntity.of(parts)
    assert quota_entity(parser.parse_args(words.split())) == expected


@pytest.mark.parametrize("words", [["--ip", "1.1.1.1", "--user", "u"], ["--user", ""]])
def test_contradictory_flags_are_refused(words: list[str]) -> None:
    parser = argparse.ArgumentParser()
    add_quota_entity(parser)
    with pytest.raises(ConfigurationError):
        quota_entity(parser.parse_args(words))
