"""A page of a list: the rows that match a query, in an order, and where the other pages are."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kconf.configdef.units import FOLLOWS
from kconf.console.cluster.snapshot import ClusterSnapshot
from kconf.console.listing.columns import Column
from kconf.console.listing.query import ListQuery, QueryError
from kconf.model.entry import own_source
from kconf.model.resource import Resource, ResourceType

SIZES: Final = (50, 100, 500)


@dataclass(frozen=True)
class ListSource:
    """The resources of a list. `facts` are numbers that conditions may be about, beside keys: partitions."""

    kind: ResourceType
    names: Sequence[str]  # sorted
    flagged: Mapping[str, Collection[str] | None]
    """Names by flag; None: unknown."""
    owners: Mapping[str, str] | None = None
    facts: Mapping[str, Mapping[str, str]] | None = None


@dataclass(frozen=True)
class ListSlice:
    """`names` are the rows of this page, `matching` the number of all that match, `total` of all there are."""

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
            raise QueryError(f"is:{flag} cannot be decided here: {_NEEDS.get(flag, 'this list has no such thing')}")
        names = [each for each in names if each in known]
    if query.owner is not None:
        if source.owners is None:
            raise QueryError("owners are not known: they come from the lake of the context, made with an owners file")
        names = [each for each in names if source.owners.get(each, "") == query.owner]
    for condition in query.conditions:
        key = condition.key.name
        values = (source.facts or {}).get(key) or snapshot.column(source.kind, key)
        followed = snapshot.column(source.kind, FOLLOWS[key]) if key in FOLLOWS else {}
        names = [
            each
            for each in names
            if each in values and condition.holds({key: values[each], **_also(FOLLOWS.get(key), followed.get(each))})
        ]
    return list(names)


def _also(key: str | None, value: str | None) -> dict[str, str]:
    return {} if key is None or value is None else {key: value}


_NEEDS: Final = {
    "drifted": "it takes the lake of the context, made with declared files",
    "violating": "it takes the lake of the context, made with a policy",
}


def sliced(
    names: Sequence[str], total: int, *, sort: Column | None, descending: bool, page: int, size: int
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
    """How many keys are set on each resource of a type itself; those with none are left out."""
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
