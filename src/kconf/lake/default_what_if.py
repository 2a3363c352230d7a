"""What would happen to topics if a cluster's default had another value: from the tables, nothing is asked of a cluster.

The ladder is the engine's own. What server.properties holds is known where a snapshot of the cluster is in the lake.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kconf.configdef.catalog import kafka_43
from kconf.configdef.validate import validate
from kconf.engine.configs.resolver import ConfigResolver
from kconf.errors import ConfigurationError, InvalidConfig
from kconf.lake.lookup import LakeTables, LookupFilter, Row
from kconf.lake.schemas import SNAPSHOT
from kconf.model.resource import Resource


@dataclass(frozen=True, slots=True)
class Shift:
    """A topic key of a cluster whose inherited value would be another one, and for whom."""

    cluster: str
    key: str
    before: str | None
    after: str | None
    moved: Sequence[str]  # the topics that inherit it
    kept: int  # how many have a value of their own


def check_wishes(wishes: Mapping[str, str]) -> None:
    """Refuse what no cluster default can be."""
    known = kafka_43().broker
    for key, value in wishes.items():
        if key not in known:
            raise ConfigurationError(f"there is no broker key {key}")
        try:
            validate(known[key], value)
        except InvalidConfig as error:
            raise ConfigurationError(str(error)) from None


def shifts(tables: LakeTables, clusters: Sequence[str], wishes: Mapping[str, str]) -> Iterator[Shift]:
    """What setting these keys at `broker:default` would change, cluster by cluster."""
    check_wishes(wishes)
    for cluster in clusters:
        everywhere = {
            row["key"]: row["value"] or "" for row in tables.state(LookupFilter([cluster], [Resource.brokers()]))
        }
        before = ConfigResolver(kafka_43(), _static(tables, cluster), everywhere, {})
        after = before.with_level({**everywhere, **wishes}, everywhere=True)
        yield from _moved(tables, cluster, before, after)


def _moved(tables: LakeTables, cluster: str, before: ConfigResolver, after: ConfigResolver) -> Iterator[Shift]:
    affected = {
        key: (entry.value, after.inherited[key].value)
        for key, entry in before.inherited.items()
        if entry.value != after.inherited[key].value
    }
    if not affected:
        return
    rows = tables.state(LookupFilter([cluster]))
    topics = {row["resource_name"] for row in rows if row["kind"] == "topic"}
    own = {(row["resource_name"], row["key"]) for row in rows if row["resource_type"] == "topic"}
    for key, (old, new) in affected.items():
        moved = sorted(name for name in topics if (name, key) not in own)
        yield Shift(cluster, key, old, new, moved, len(topics) - len(moved))


def _static(tables: LakeTables, cluster: str) -> dict[str, str]:
    """What server.properties held at the last look at a cluster; of several brokers the first one's."""
    conditions = [*LookupFilter([cluster]).conditions(), "kind = 'config'", "resource_type = 'broker'"]
    columns = "taken, resource_name, key, value, source, gone, sensitive"
    last: dict[tuple[str, str], Row] = {}
    for row in tables.rows(SNAPSHOT, conditions, columns=columns, order="taken"):
        last[row["resource_name"], row["key"]] = row
    found: dict[str, str] = {}
    for (_, key), row in sorted(last.items()):
        if row["source"] == "STATIC_BROKER_CONFIG" and not row["gone"] and row["value"] is not None:
            found.setdefault(key, row["value"])
    return found
