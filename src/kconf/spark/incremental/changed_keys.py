"""Finds the keys whose effective values new lines change, so that the other keys of their resources are kept.

A new line about a key of a topic changes that key only, if the topic existed before and still exists. Of all other
resources that are affected, all keys are computed again: the resource may be new or gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kconf.spark.incremental.affected import Part
from kconf.spark.incremental.recent import Recent
from kconf.spark.transforms.effective import OWN
from kconf.spark.transforms.history import KEY, RESOURCE


@dataclass(frozen=True)
class ChangedKeys:
    """Keys in memory: all of the resources in `whole`, and `single` ones of other resources."""

    whole: Part
    single: pa.Table
    open: pa.Table
    """The current state of these resources."""

    @classmethod
    def of(cls, part: Part, recent: Recent) -> ChangedKeys:
        is_topic = pc.and_(pc.equal(recent.open["kind"], "topic"), pc.equal(recent.open["resource_type"], "topic"))
        topics = recent.open.filter(is_topic)
        there = set(zip(*(topics[name].to_pylist() for name in RESOURCE), strict=True)) - set(part.topics)
        whole = replace(part, names=set(part.names) - there, topics=(), is_most=False)
        return cls(whole, whole.rest(recent.keys), recent.open)

    def rest(self, rows: pa.Table) -> pa.Table:
        """The rows of other keys."""
        has_name = pc.is_in(rows["resource_name"], value_set=pc.unique(self.single["resource_name"])).combine_chunks()
        found = rows.select(KEY).filter(has_name)  # looking up all four parts of a row takes longer
        is_single = pc.is_in(_joined(found), value_set=_joined(self.single))
        is_single = pc.replace_with_mask(has_name, has_name, is_single)
        return rows.filter(pc.invert(pc.or_(is_single, self.whole.has(rows))))

    def wanted(self, keys: Iterable[Mapping[str, Any]]) -> pa.Table:
        """The keys whose resources exist, with what is set on the resource: see `effective.of_keys`.

        `keys` is the catalog.
        """
        catalog = pa.Table.from_pylist([{name: row[name] for name in ("resource_type", "key")} for row in keys])
        configs = self.open.filter(pc.equal(self.open["kind"], "config"))
        configs = configs.filter(pc.is_in(configs["resource_type"], value_set=pa.array(OWN)))
        topics = self.open.filter(pc.equal(self.open["kind"], "topic"))
        there = pa.concat_tables([self.whole.within(each).select(RESOURCE) for each in (configs, topics)])
        every = there.group_by(list(RESOURCE)).aggregate([]).join(catalog, "resource_type", join_type="inner")
        own = configs.select([*KEY, "value", "sensitive"]).rename_columns([*KEY, "own_value", "own_sensitive"])
        own = own.append_column("is_set", pa.repeat(pa.scalar(True), own.num_rows))
        wanted = pa.concat_tables([self.single, every.select(KEY)])
        return wanted.join(own, list(KEY), join_type="left outer")


def _joined(rows: pa.Table) -> pa.Array:
    return pc.binary_join_element_wise(*(rows[name] for name in KEY), "\n").combine_chunks()
