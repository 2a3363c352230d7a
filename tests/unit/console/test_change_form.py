"""The fields of the form of a change."""

from __future__ import annotations

import pytest
from starlette.datastructures import QueryParams

from kconf.console.changes.form import key_fields, named_resources, read_fields
from kconf.console.page import BadRequest
from kconf.errors import ConfigurationError
from kconf.model.alteration import AlterConfigOp, OpType
from kconf.model.resource import Resource, ResourceType
from tests.unit.console.world import view

ORDERS = Resource.topic("orders")
NO_FORM = QueryParams()


def read(fields: dict[str, str], *resources: Resource) -> list[AlterConfigOp]:
    found = resources or (ORDERS,)
    assignments = read_fields(QueryParams(fields), found)
    assert list(assignments) == list(found)
    return list(assignments[found[0]])


def test_a_value_that_was_edited_is_set_with_its_unit_converted() -> None:
    fields = {"key.0": "retention.ms", "op.0": "leave", "was.0": "3d", "value.0": "7d"}
    assert read(fields) == [AlterConfigOp(OpType.SET, "retention.ms", "604800000")]


def test_an_unmodified_field_is_not_a_change() -> None:
    untouched = {"key.0": "retention.ms", "op.0": "leave", "was.0": "3d", "value.0": "3d"}
    fields = {**untouched, "key.1": "flush.ms", "op.1": "unset", "value.1": "", "was.1": ""}
    assert read(fields) == [AlterConfigOp(OpType.DELETE, "flush.ms", "")]
    with pytest.raises(ConfigurationError, match="the form contains no changes"):
        read(untouched)


def test_all_resources_get_the_same_changes() -> None:
    fields = {"key.0": "cleanup.policy", "op.0": "append", "value.0": "compact", "was.0": ""}
    assert read(fields, ORDERS, Resource.topic("payments")) == [
        AlterConfigOp(OpType.APPEND, "cleanup.policy", "compact")
    ]


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("retention.mss", "1d", "did you mean retention.ms"),
        ("retention.ms", "1 fortnight", "retention.ms"),
    ],
)
def test_invalid_arguments_are_reported_before_anything_is_sent(key: str, value: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        read({"key.0": key, "op.0": "set", "value.0": value, "was.0": ""})


def test_a_key_that_is_given_twice_is_refused() -> None:
    twice = {f"{part}.{number}": value for number in (0, 1) for part, value in (("key", "flush.ms"), ("op", "unset"))}
    with pytest.raises(ConfigurationError, match="twice"):
        read(twice)


@pytest.mark.parametrize("names", [[], ["orders"], ["user:alice"], ["topic:a", "broker:1"]])
def test_resources_that_cannot_be_changed_together_are_refused(names: list[str]) -> None:
    with pytest.raises(BadRequest):
        named_resources(names)


def test_default_is_the_default_of_all_brokers() -> None:
    assert named_resources(["broker:default"]) == [Resource(ResourceType.BROKER, "")]


def test_the_form_has_set_keys_chosen_keys_and_an_empty_one() -> None:
    views = {ORDERS: view(ORDERS, {"retention.ms": "86400000"}, {"segment.bytes": "1073741824"})}
    fields = key_fields([ORDERS], views, ["segment.bytes"], NO_FORM)
    assert [(each.key, each.op, each.value, each.effective) for each in fields] == [
        ("retention.ms", "leave", "1d", "1d"),
        ("segment.bytes", "set", "", "1GiB"),
        ("", "set", "", None),
    ]
    assert fields[0].hint == "at least -1; 7d, 12h, 500ms or a number"


def test_no_field_contains_a_secret() -> None:
    broker = Resource.broker(1)
    key = "listener.name.sasl.ssl.key.password"
    sent = QueryParams({"key.0": key, "op.0": "set", "value.0": "tiger", "was.0": ""})
    (field, _) = key_fields([broker], {broker: view(broker, {})}, [], sent)
    assert (field.key, field.is_secret, field.value) == (key, True, "")
