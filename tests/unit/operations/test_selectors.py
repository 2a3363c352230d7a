"""Which resources a word on the command line means."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from kconf.errors import ConfigurationError
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource, ResourceType
from kconf.operations.selectors import (
    Selector,
    add_quota_entity,
    is_one_resource,
    is_selector,
    parse_selector,
    quota_entity,
)


@pytest.mark.parametrize(
    ("word", "resource", "one"),
    [
        ("topic:orders", Resource.topic("orders"), True),
        ("broker:1", Resource.broker(1), True),
        ("broker:01", Resource.broker(1), True),
        ("broker:default", Resource.brokers(), False),
        ("group:my:group", Resource.group("my:group"), True),
        ("client-metrics:cm", Resource.client_metrics("cm"), True),
        ("broker-logger:2", Resource.logger(2), True),
    ],
)
def test_a_name(word: str, resource: Resource, one: bool) -> None:
    selector = parse_selector(word)
    assert selector.resources == [resource]
    assert is_one_resource([selector]) is one


@pytest.mark.parametrize(
    ("word", "fits", "fits_not"),
    [
        ("topic:logs.*", "logs.a", "xlogs.a"),
        ("topic:log[sx]?", "logsa", "logs"),
        ("topic:/^a|b$/", "xb", "xa"),
        ("broker:*", "7", None),
    ],
)
def test_a_pattern(word: str, fits: str, fits_not: str | None) -> None:
    selector = parse_selector(word)
    assert not is_one_resource([selector])
    assert selector.matches(fits)
    assert fits_not is None or not selector.matches(fits_not)


def test_names_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "names"
    file.write_text("a\n\n# no name\nb\na\n")
    assert parse_selector(f"topic:@{file}") == Selector(f"topic:@{file}", ResourceType.TOPIC, ("a", "b"))


@pytest.mark.parametrize(
    "word", ["orders", "topic:", "topics:x", "broker:x", "broker:-1", "topic:/(/", "topic:@/no/where"]
)
def test_what_names_nothing_is_refused(word: str) -> None:
    with pytest.raises(ConfigurationError):
        parse_selector(word)


def test_a_key_is_no_resource() -> None:
    assert not is_selector("retention.ms=7d")
    assert not is_selector("topic")
    assert is_selector("topic:a=b")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("--user u", {"user": "u"}),
        ("--user-default --client-id c", {"user": None, "client-id": "c"}),
        ("--ip 10.0.0.1", {"ip": "10.0.0.1"}),
        ("", None),
    ],
)
def test_quota_entities_are_named_by_flags(words: str, parts: dict[str, str | None] | None) -> None:
    parser = argparse.ArgumentParser()
    add_quota_entity(parser)
    expected = None if parts is None else QuotaEntity.of(parts)
    assert quota_entity(parser.parse_args(words.split())) == expected


@pytest.mark.parametrize("words", [["--ip", "1.1.1.1", "--user", "u"], ["--user", ""]])
def test_flags_that_do_not_go_together(words: list[str]) -> None:
    parser = argparse.ArgumentParser()
    add_quota_entity(parser)
    with pytest.raises(ConfigurationError):
        quota_entity(parser.parse_args(words))
