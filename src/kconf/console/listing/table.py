"""A page of a list: the rows that match a query, sorted, with links to the other pages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kconf.configdef.units import FOLLOWS
from kconf.console.cluster.snapshot import ClusterSnapshot
from kconf.console.listing.columns import ListColumn
from kconf.console.listing.query import ListQuery, QueryError
from kconf.model.entry import own_source
from kconf.model.resource import Resource, ResourceType
from kconf.operations.where import WhereCondition

SIZES: Final = (50, 100, 500)


@dataclass(frozen=True)
class ListSource:
    """The resources of a list. `facts` are numbers other than keys that conditions may use: partitions."""

    kind: ResourceType
    names: Sequence[str]  # sorted
    flagged: Mapping[str, Collection[str] | None]
    """Names by flag; None if unknown."""
    owners: Mapping[str, str] | None = None
    facts: Mapping[str, Mapping[str, str]] | None = None


@dataclass(frozen=True)
class ListSlice:
    """`names` are the rows of this page, `matching` the number of matching rows, `total` the number of all rows."""

    names: Sequence[str]
    matching: int
    total: int
    page: int
    pages: int


def matching(snapshot: ClusterSnapshot, source: ListSource, query: ListQuery) -> list[str]:
    names = (
        [each for each in source.names if query.matches_name(each)] if query.words or query.patterns else source.names
    )
    for flag in sorted(query.flags):
        known = source.flagged.get(flag)
        if known is None:
            raise QueryError(f"is:{flag} cannot be used here: {_NEEDS.get(flag, 'this list does not have it')}")
        names = [each for each in names if each in known]
    if query.owner is not None:
        if source.owners is None:
            raise QueryError("owners are unknown: the context needs a lake that was built with an owners file")
        names = [each for each in names if source.owners.get(each, "") == query.owner]
    for condition in query.conditions:
        holds = _Holding(snapshot, source, condition)
        names = [each for each in names if holds.of(each)]
    return list(names)


class _Holding:
    """Whether a condition holds for a name. Each distinct value is compared only once."""

    def __init__(self, snapshot: ClusterSnapshot, source: ListSource, condition: WhereCondition) -> None:
        self._condition, self._key = condition, condition.key.name
        self._values = (source.facts or {}).get(self._key) or snapshot.column(source.kind, self._key)
        self._follows = FOLLOWS.get(self._key)
        self._followed = {} if self._follows is None else snapshot.column(source.kind, self._follows)
        self._known: dict[tuple[str, str | None], bool] = {}

    def of(self, name: str) -> bool:
        value = self._values.get(name)
        if value is None:
            return False
        followed = self._followed.get(name)
        found = self._known.get((value, followed))
        if found is None:
            also = {} if self._follows is None or followed is None else {self._follows: followed}
            found = self._known[value, followed] = self._condition.holds({self._key: value, **also})
        return found


_NEEDS: Final = {
    "drifted": "the context needs a lake that was built with declared files",
    "violating": "the context needs a lake that was built with a policy",
}


def sliced(
    names: Sequence[str], total: int, *, sort: ListColumn | None, descending: bool, page: int, size: int
) -> ListSlice:
    """One page. Rows without a value are last in both directions."""
    found = list(names)  # a source is sorted by name
    if sort is None:
        found = found[::-1] if descending else found
    else:
        known = [each for each in found if sort.cell(each) is not None]
        unknown = [each for each in found if sort.cell(each) is None]
        found = sorted(known, key=lambda each: sort.rank(sort.cell(each)), reverse=descending) + unknown
    pages = max(1, -(-len(found) // size))
    page = min(max(page, 1), pages)
    return ListSlice(found[(page - 1) * size : page * size], len(found), total, page, pages)


def resources_set(snapshot: ClusterSnapshot, kind: ResourceType) -> dict[str, int]:
    """The number of keys set on each resource of a type; resources without any are left out."""
    return snapshot.derived(("set", kind), lambda each: _resources_set(each, kind))


def _resources_set(snapshot: ClusterSnapshot, kind: ResourceType) -> dict[str, int]:
    found: dict[str, int] = {}
    for resource, view in snapshot.state.configs.items():
        if resource.type is not kind:
            continue
        own = own_source(resource)
        count = view.memo.get(("own", own))
        if count is None:
            count = view.memo["own", own] = sum(each.source == own for each in view.entries)
        if count:
            found[resource.name] = count
    return found


def names_counted(counted: Mapping[Resource, int] | None, kind: ResourceType) -> set[str] | None:
    return None if counted is None else {each.name for each in counted if each.type is kind}
