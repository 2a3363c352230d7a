"""Compare two clusters, or two times of one. A difference can be promoted: a link opens the form of a change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kconf.console.changes.form import CHANGEABLE
from kconf.console.history.comparison import Comparison, ValueDifference, compare_clusters, compare_times
from kconf.console.links import page_path, promote_path
from kconf.console.page import Page, PageRequest, PageRoute
from kconf.console.pages.parameters import Paging, paging, time_range
from kconf.console.words import time_cell
from kconf.errors import ConfigurationError
from kconf.model.journal import ChangeKind
from kconf.model.resource import ResourceType

if TYPE_CHECKING:
    from kconf.console.cluster.snapshot import ClusterSnapshot
    from kconf.console.console import Cluster

SIZE: Final = 100
MOST_UNKNOWN: Final = 20
FIELDS: Final = ("with", "from", "to", "resource", "key")


@dataclass(frozen=True)
class Promotion:
    """A link to the form of a change that copies a value to a cluster."""

    title: str
    path: str


@dataclass(frozen=True)
class ComparedRow:
    """`one` is this cluster or the first time, `other` the other cluster or the second time. None if not set."""

    resource: str
    path: str | None
    key: str
    one: str | None
    other: str | None
    is_secret: bool
    author: str
    time: int | None
    reason: str | None
    promotions: Sequence[Promotion]


@dataclass(frozen=True)
class ComparePage:
    """`matching` is None if no comparison was requested."""

    fields: dict[str, str]
    others: Sequence[str]
    titles: Sequence[str]
    rows: Sequence[ComparedRow]
    matching: int | None
    total: int | None
    unknown: Sequence[str]
    unknown_count: int
    paging: Paging
    error: str | None
    notes: Sequence[str]


def compare(request: PageRequest) -> Page:
    fields = {each: request.query.get(each, "").strip() for each in FIELDS}
    error, found, titles, other = None, None, ("", ""), None
    begin, end = time_range(request)
    cluster = request.cluster
    try:
        if fields["with"] and begin is not None:
            raise ConfigurationError("compare with a cluster or with a time, not with both")
        if fields["with"]:
            other = request.console.cluster(fields["with"], request.session)
            found, titles = _with_cluster(cluster, other), (cluster.name, other.name)
        elif begin is not None:
            found = compare_times(cluster.snapshot, begin, end)
            titles = time_cell(begin), "now" if end is None else time_cell(end)
        elif end is not None:
            raise ConfigurationError("also enter the first time")
    except ConfigurationError as failure:
        error = str(failure)
    return Page("compare.html", _page(request, fields, found, titles, other, error), "Compare", "compare")


def _page(
    request: PageRequest,
    fields: dict[str, str],
    found: Comparison | None,
    titles: tuple[str, str],
    other: Cluster | None,
    error: str | None,
) -> ComparePage:
    chosen = () if found is None else found.differences
    if fields["resource"] or fields["key"]:
        chosen = [each for each in chosen if _is_wanted(each, fields)]
    place, part = paging(request, len(chosen), SIZE)
    unknown = [] if found is None else found.unknown
    return ComparePage(
        fields=fields,
        others=[each for each in request.console.contexts if each != request.context],
        titles=titles,
        rows=[_row(request, each, other) for each in chosen[part]],
        matching=None if found is None else len(chosen),
        total=None if found is None else len(found.differences),
        unknown=unknown[:MOST_UNKNOWN],
        unknown_count=len(unknown),
        paging=place,
        error=error,
        notes=[] if found is None else found.notes,
    )


def _with_cluster(one: Cluster, other: Cluster) -> Comparison:
    """Compare with another cluster. What cannot be read on either side is unknown, not absent."""
    snapshots = one.snapshot, other.snapshot
    for cluster, snapshot in zip((one, other), snapshots, strict=True):
        if not snapshot.is_read:
            raise ConfigurationError(
                f"{cluster.name} has not been read yet{f': {snapshot.error}' if snapshot.error else ''}"
            )
    found = compare_clusters(*snapshots, other.name)
    notes = [
        f"{cluster.name}: {each.what} cannot be read, so it is unknown whether they differ"
        for cluster, snapshot in zip((one, other), snapshots, strict=True)
        for each in snapshot.state.missing
        if not each.is_absent
    ]
    return Comparison(found.differences, notes)


def _is_wanted(each: ValueDifference, fields: dict[str, str]) -> bool:
    resource, key = fields["resource"].lower(), fields["key"].lower()
    return (not key or key in each.key.lower()) and (not resource or resource in each.resource.lower())


def _row(request: PageRequest, each: ValueDifference, other: Cluster | None) -> ComparedRow:
    resource = each.change.resource
    one, two = each.shown
    path = page_path(str(request.context), resource)
    promotions = [] if each.change.sensitive else _promotions(request, each, other)
    return ComparedRow(
        each.resource, path, each.key, one, two, each.change.sensitive, each.author, each.time, each.reason, promotions
    )


def _promotions(request: PageRequest, each: ValueDifference, other: Cluster | None) -> list[Promotion]:
    """Links for keys of existing resources that may be changed. Topics, quotas and ACLs cannot be promoted."""
    if each.change.kind is not ChangeKind.CONFIG or each.change.resource.type not in CHANGEABLE or not each.key:
        return []
    sides = [(request.cluster, each.other if other is not None else each.one)]
    if other is not None:
        sides.append((other, each.one))
    return [
        Promotion(
            f"to {cluster.name}" if other is not None else "restore",
            promote_path(cluster.name, each.change.resource, each.change.key, value),
        )
        for cluster, value in sides
        if cluster.can_change and _is_there(cluster.snapshot, each)
    ]


def _is_there(snapshot: ClusterSnapshot, each: ValueDifference) -> bool:
    resource = each.change.resource
    if resource.type is ResourceType.TOPIC:
        return resource.name in snapshot.state.topics
    return resource in snapshot.state.configs


PAGES = (PageRoute("/{context}/compare", compare),)
