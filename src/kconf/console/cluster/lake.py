"""Results of the last pipeline run for a cluster: topic owners, drift, policy violations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from kconf.console.cluster.snapshot import LakeFacts
from kconf.errors import KconfError
from kconf.model.resource import Resource, ResourceType
from kconf.util.iso_time import EPOCH

if TYPE_CHECKING:
    from kconf.operations.target import Target

_TYPES: Final = {each.word: each for each in ResourceType}


def read_lake(target: Target, cluster: str) -> LakeFacts | None:
    """None if the context has no lake. If the lake cannot be read, the result has only an `error`."""
    if target.context.lake is None:
        return None
    try:
        return _facts(target.context.lake, cluster)
    except (KconfError, OSError, ImportError) as error:
        return LakeFacts(error=str(error))


def _facts(uri: str, cluster: str) -> LakeFacts:
    from kconf.lake.coverage import is_declared
    from kconf.lake.lookup import LakeTables, LookupFilter
    from kconf.lake.schemas import DRIFT, EFFECTIVE_QUOTA, TOPICS, VIOLATIONS

    tables = LakeTables(uri)
    conditions = LookupFilter([cluster]).conditions()
    owned = tables.rows(TOPICS, [*conditions, '"exists"', "owner IS NOT NULL"], columns="topic, owner")
    names = "resource_type, resource_name"
    drift = tables.rows(DRIFT, conditions, columns=names) if is_declared(tables, cluster) else None
    is_judged = tables.has_policy and cluster in tables.clusters()
    broken = tables.rows(VIOLATIONS, [*conditions, "open"], columns=names) if is_judged else None
    used = tables.rows(EFFECTIVE_QUOTA, [*conditions, "used IS NOT NULL"], columns='"user", client_id, key, used')
    finished = tables.run["finished"]
    return LakeFacts(
        int((finished - EPOCH).total_seconds() * 1000) if isinstance(finished, datetime) else None,
        {row["topic"]: row["owner"] for row in owned},
        None if drift is None else _counted(drift),
        None if broken is None else _counted(broken),
        {(row["user"], row["client_id"], row["key"]): row["used"] for row in used},
    )


def _counted(rows: Iterable[dict[str, Any]]) -> dict[Resource, int]:
    return dict(Counter(Resource(_TYPES[row["resource_type"]], row["resource_name"]) for row in rows))
