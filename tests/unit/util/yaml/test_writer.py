"""Written values are read back unchanged by kconf's reader and by PyYAML."""

from __future__ import annotations

import yaml
from hypothesis import given
from hypothesis import strategies as st

from kconf.util.yaml.reader import YamlNode, compose
from kconf.util.yaml.writer import Flow, YamlValue, to_yaml, to_yaml_scalar

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["null", "Yes", "a: b", "a\nb", "a\x85b"]
)
trees = st.recursive(
    texts, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=12
)


def plain(node: YamlNode) -> object:
    if node.id == "mapping":
        return {key.value: plain(value) for key, value in node.value}
    if node.id == "sequence":
        return [plain(each) for each in node.value]
    assert not node.is_null
    return node.value


@given(trees)
def test_written_values_are_read_back_unchanged(value: str | list[object] | dict[str, object]) -> None:
    root = compose(to_yaml({"tree": value}), "f.yaml")  # type: ignore[dict-item]

    assert root is not None
    assert plain(root) == {"tree": value}


@given(texts)
def test_a_scalar_is_on_the_line_of_its_key(text: str) -> None:
    written = to_yaml_scalar(text)
    root = compose(f"current: {written}  # a comment\nnext: x\n", "f.yaml")

    assert "\n" not in written
    assert root is not None
    assert plain(root) == {"current": text, "next": "x"}


def test_written_yaml_is_idiomatic() -> None:
    topic: YamlValue = {"retention.ms": "7d", "segment.bytes": "1048576", "tags": "a,b", "secret": Flow({"set": True})}
    limited: YamlValue = {"user": "yes", "limits": Flow({"producer_byte_rate": "1MiB"})}
    rated: YamlValue = {"user": "a: b", "rates": Flow([1, 2.5])}
    value: YamlValue = {"version": 1, "topics": {"orders": topic}, "quotas": [limited, rated], "none": []}

    assert (
        to_yaml(value)
        == """\
version: 1
topics:
  orders:
    retention.ms: 7d
    segment.bytes: 1048576
    tags: a,b
    secret: {set: true}
quotas:
- user: "yes"
  limits: {producer_byte_rate: 1MiB}
- user: 'a: b'
  rates: [1, 2.5]
none: []
"""
    )
    assert yaml.safe_load(to_yaml(value))["quotas"][0]["user"] == "yes"
