"""Evaluates what a new cluster-wide default would change for topics, from the tables only.

No cluster is contacted. Values are resolved by the engine. The contents of server.properties are known if the lake has
a snapshot of the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, NamedTuple

from kconf.configdef.catalog import kafka_43
from kconf.configdef.dynamic import CLUSTER_WIDE, PER_BROKER
from kconf.configdef.validate import validate
from kconf.engine.configs.resolver import ConfigResolver
from kconf.errors import ConfigurationError, InvalidConfig
from kconf.lake.lookup import LakeTables, LookupFilter, Row
from kconf.lake.schemas import SNAPSHOT
from kconf.model.entry import Source

_IN_FILES: Final = ("STATIC_BROKER_CONFIG", "DEFAULT_CONFIG")


class _Move(NamedTuple):
    key: str
    before: str | None
    after: str | None
    is_assumed: bool


@dataclass(frozen=True, slots=True)
class Shift:
    """A topic key of a cluster whose inherited value would change, and the affected topics.

    `brokers` are those on which it would change, if not all: a value set on a broker takes precedence there. With
    `is_assumed`, `before` is Kafka's default, because the lake has no snapshot that shows server.properties.
    """

    cluster: str
    key: str
    before: str | None
    after: str | None
    moved: Sequence[str]  # the topics that inherit it
    kept: int  # how many have a value of their own
    brokers: Sequence[str] = ()
    is_assumed: bool = False


def check_proposed(proposed: Mapping[str, str]) -> None:
    """Reject keys that cannot be a cluster-wide default."""
    known = kafka_43().broker
    for key, value in proposed.items():
        if key not in known:
            near = get_close_matches(key, known, 1)
            raise ConfigurationError(f"unknown broker key {key}" + (f"; did you mean {near[0]}?" if near else ""))
        if key in PER_BROKER:
            raise ConfigurationError(f"{key} can only be set for each broker, not at broker:default")
        if key not in CLUSTER_WIDE:
            raise ConfigurationError(f"{key} cannot be set at broker:default, only in server.properties")
        try:
            validate(known[key], value)
        except InvalidConfig as error:
            raise ConfigurationError(str(error)) from None


def shifts(tables: LakeTables, clusters: Sequence[str], proposed: Mapping[str, str]) -> Iterator[Shift]:
    """What setting these keys at `broker:default` would change, cluster by cluster."""
    check_proposed(proposed)
    for cluster in clusters:
        rows = tables.state(LookupFilter([cluster]))
        set_at: dict[str, dict[str, str]] = {}
        for row in rows:
            if row["resource_type"] == "broker":
                set_at.setdefault(row["resource_name"], {})[row["key"]] = row["value"] or ""
        everywhere = set_at.pop("", {})
        files = _files(tables, cluster)
        brokers = sorted({*set_at, *files}, key=lambda each: (len(each), each)) or [""]
        moved: dict[_Move, list[str]] = {}
        for broker in brokers:
            before = ConfigResolver(kafka_43(), files.get(broker, {}), everywhere, set_at.get(broker, {}))
            after = before.with_level({**everywhere, **proposed}, everywhere=True)
            for key, entry in before.inherited.items():
                if entry.value != after.inherited[key].value:
                    is_assumed = not files and entry.source is Source.DEFAULT
                    move = _Move(key, entry.value, after.inherited[key].value, is_assumed)
                    moved.setdefault(move, []).append(broker)
        yield from _shifts(cluster, rows, moved, len(brokers))


def without_files(tables: LakeTables, clusters: Sequence[str]) -> list[str]:
    """The clusters of which no snapshot shows server.properties."""
    return [cluster for cluster in clusters if not _files(tables, cluster)]


def _shifts(cluster: str, rows: Sequence[Row], moved: Mapping[_Move, Sequence[str]], count: int) -> Iterator[Shift]:
    topics = {row["resource_name"] for row in rows if row["kind"] == "topic"}
    own = {(row["resource_name"], row["key"]) for row in rows if row["resource_type"] == "topic"}
    for (key, old, new, is_assumed), brokers in moved.items():
        inheriting = sorted(name for name in topics if (name, key) not in own)
        some = tuple(brokers) if len(brokers) < count else ()
        yield Shift(cluster, key, old, new, inheriting, len(topics) - len(inheriting), some, is_assumed)


def _files(tables: LakeTables, cluster: str) -> dict[str, dict[str, str]]:
    """The contents of each broker's server.properties in the last snapshot.

    A dynamic value that overrides one does not mean that it was removed from the file.
    """
    conditions = [*LookupFilter([cluster]).conditions(), "kind = 'config'", "resource_type = 'broker'"]
    columns = "taken, resource_name, key, value, source, gone"
    found: dict[str, dict[str, str]] = {}
    for row in tables.rows(SNAPSHOT, conditions, columns=columns, order="taken"):
        broker = found.setdefault(row["resource_name"], {})
        if row["gone"] or row["source"] in _IN_FILES:
            broker.pop(row["key"], None)
        if not row["gone"] and row["source"] == _IN_FILES[0] and row["value"] is not None:
            broker[row["key"]] = row["value"]
    found.pop("", None)
    return {broker: keys for broker, keys in found.items() if keys}
