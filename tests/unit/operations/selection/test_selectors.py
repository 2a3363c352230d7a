"""Which resources an argument selects."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconf.errors import ConfigurationError
from kconf.model.resource import Resource, ResourceType
from kconf.operations.selection.selectors import (
    Selector,
    is_one_resource,
    is_selector,
    parse_selector,
)


@pytest.mark.parametrize(
    ("argument", "resource", "one"),
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
def test_a_name_selects_one_resource(argument: str, resource: Resource, one: bool) -> None:
    selector = parse_selector(argument)
    assert selector.resources == [resource]
    assert is_one_resource([selector]) is one


@pytest.mark.parametrize(
    ("argument", "fits", "fits_not"),
    [
        ("topic:logs.*", "logs.a", "xlogs.a"),
        ("topic:log[sx]?", "logsa", "logs"),
        ("topic:/^a|b$/", "xb", "xa"),
        ("broker:*", "7", None),
    ],
)
def test_a_pattern_selects_resources_by_name(argument: str, fits: str, fits_not: str | None) -> None:
    selector = parse_selector(argument)
    assert not is_one_resource([selector])
    assert selector.matches(fits)
    assert fits_not is None or not selector.matches(fits_not)


def test_names_can_be_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "names"
    file.write_text("a\n\n# no name\nb\na\n")
    assert parse_selector(f"topic:@{file}") == Selector(f"topic:@{file}", ResourceType.TOPIC, ("a", "b"))


@pytest.mark.parametrize(
    "argument", ["orders", "topic:", "topics:x", "broker:x", "broker:-1", "topic:/(/", "topic:@/no/where"]
)
def test_an_invalid_selector_is_refused(argument: str) -> None:
    with pytest.raises(ConfigurationError):
        parse_selector(argument)


def test_a_key_is_not_a_resource() -> None:
    assert not is_selector("retention.ms=7d")
    assert not is_selector("topic")
    assert is_selector("topic:a=b")


def test_names_can_be_read_from_stdin() -> None:
    assert parse_selector("topic:@-", lambda: "a\nb\n").names == ("a", "b")
