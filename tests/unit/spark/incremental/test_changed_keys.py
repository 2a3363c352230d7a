"""Which keys of which resources new lines change."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kconf.spark.delta_tables import Lake
from kconf.spark.incremental.affected import Part
from kconf.spark.incremental.changed_keys import ChangedKeys
from kconf.spark.incremental.recent import Recent
from kconf.spark.transforms.history import KEY

CATALOG = [{"resource_type": "topic", "key": each} for each in ("a", "b")] + [{"resource_type": "group", "key": "g"}]


def state(kind: str, resource: str, key: str = "", value: str = "1") -> dict[str, Any]:
    of, _, name = resource.partition(":")
    row = {"cluster": "c", "kind": kind, "resource_type": of, "resource_name": name, "key": key, "value": value}
    return row | {"sensitive": False}


def changed(now: list[dict[str, Any]], lines: list[tuple[str, str, str]], shaped: set[str]) -> ChangedKeys:
    """After lines about these types, names and keys; the topics in `shaped` were created, deleted or extended."""
    lake = Lake("unused", None)  # type: ignore[arg-type]  # nothing is read
    names = {("c", of, name) for of, name, _ in lines}
    part = Part(lake, names, (), topics={each for each in names if each[2] in shaped})
    single = [dict(zip(KEY, ("c", *each), strict=True)) for each in lines if each[2]]
    keys = pa.Table.from_pylist(single, pa.schema([(name, pa.string()) for name in KEY]))
    none = keys.schema.empty_table()
    return ChangedKeys.of(part, Recent(pa.Table.from_pylist(now), none, none, {}, keys))


def test_of_a_topic_that_exists_only_the_changed_keys_are_computed_again() -> None:
    now = [state("topic", "topic:t"), state("config", "topic:t", "a", "5")]
    found = changed(now, [("topic", "t", "a"), ("topic", "t", "b")], set())

    rows = pa.table({name: ["c", "topic", "t", "a"][at : at + 1] * 2 for at, name in enumerate(KEY)})
    other = rows.set_column(3, "key", pa.array(["a", "z"]))
    wanted = {row["key"]: (row["is_set"], row["own_value"]) for row in found.wanted(CATALOG).to_pylist()}
    assert wanted == {"a": (True, "5"), "b": (None, None)}
    assert found.rest(other)["key"].to_pylist() == ["z"]


def test_of_new_and_unknown_resources_all_keys_are_computed_again() -> None:
    now = [
        *(state("topic", "topic:new"), state("config", "topic:new", "b", "7")),
        *(state("config", "topic:unlisted", "a"), state("config", "group:g1", "g"), state("config", "quota:", "x")),
    ]
    lines = [("topic", "new", ""), ("topic", "gone", ""), ("topic", "unlisted", "a"), ("group", "g1", "g")]
    found = changed(now, [*lines, ("quota", "", "x")], {"new", "gone"})

    wanted = sorted((row["resource_name"], row["key"], row["own_value"]) for row in found.wanted(CATALOG).to_pylist())
    assert not found.single.num_rows
    assert wanted == [
        ("g1", "g", "1"),
        ("new", "a", None),
        ("new", "b", "7"),
        ("unlisted", "a", "1"),
        ("unlisted", "b", None),
    ]
