"""Lists of topics, brokers, groups and users: searched, filtered, sorted and paged by the address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kconf.configdef.lookup import keys_for
from kconf.console.console import NotFound
from kconf.console.links import change_path, context_path, resource_name, resource_path
from kconf.console.listing.columns import ListColumn
from kconf.console.listing.query import FLAG, FLAGS, ListQuery, QueryError, parse_query
from kconf.console.listing.sources import LISTS, ListKind, resource_of_row
from kconf.console.listing.table import SIZES, ListSlice, matching, sliced
from kconf.console.page import BadRequest, Page, PageRequest, PageRoute, Redirect
from kconf.console.pages.parameters import number_parameter


@dataclass(frozen=True)
class Heading:
    """A column, and the address that sorts by it. `direction` is empty if the list is not sorted by it."""

    name: str
    title: str
    is_number: bool
    direction: str
    sort_path: str


@dataclass(frozen=True)
class ResourceRow:
    """`cells` are the texts, `values` the plain values, in the order of the columns."""

    name: str
    resource: str
    path: str
    cells: Sequence[str]
    values: Sequence[Any]


@dataclass(frozen=True)
class ListPage:
    item: str
    word: str
    query: str
    columns: Sequence[Heading]
    rows: Sequence[ResourceRow]
    matching: int
    total: int
    is_known: bool
    """Whether they could be listed."""
    page: int
    pages: int
    size: int
    sizes: Sequence[int]
    error: str | None
    notes: Sequence[str]
    chosen: str
    sort: str
    keys: Sequence[str]
    others: Sequence[str]
    flags: Sequence[str]
    previous_path: str | None
    next_path: str | None
    here: str
    change: str | None
    """The form that changes selected rows; None if they have no keys."""


def _list_view(kind: ListKind) -> Callable[[PageRequest], Page]:
    def view(request: PageRequest) -> Page:
        return Page("list.html", list_page(request, kind), kind.word.capitalize(), kind.word)

    return view


def list_page(request: PageRequest, kind: ListKind) -> ListPage:
    snapshot = request.cluster.snapshot
    text = request.query.get("q", "")
    size = number_parameter(request, "size", SIZES[0], most=SIZES[-1])
    error, notes = None, _notes(request, kind)
    source = kind.rows(snapshot)
    try:
        columns = _columns(request, kind)
        query = parse_query(text, kind.kind if kind.has_keys else None)
        names = matching(snapshot, source, query)
        columns += [kind.column(snapshot, each) for each in _compared(query, columns)]
    except QueryError as failure:
        error, names = str(failure), []
        columns = [kind.column(snapshot, each) for each in kind.defaults]
    sort, descending = _sort(request, kind)
    found = sliced(
        names,
        len(source.names),
        sort=None if sort is None else kind.column(snapshot, sort),
        descending=descending,
        page=number_parameter(request, "page", 1),
        size=size,
    )
    return ListPage(
        item=kind.item,
        word=kind.word,
        query=text,
        columns=[_heading(request, each, sort, descending) for each in columns],
        rows=[_row(request, kind, columns, each) for each in found.names],
        matching=found.matching,
        total=found.total,
        is_known=snapshot.is_read and not notes,
        page=found.page,
        pages=found.pages,
        size=size,
        sizes=SIZES,
        error=error,
        notes=notes,
        chosen=request.query.get("columns", ""),
        sort=request.query.get("sort", ""),
        keys=sorted(keys_for(kind.kind)) if kind.has_keys else (),
        others=list(kind.columns),
        flags=[FLAG + each for each in FLAGS if each in source.flagged],
        previous_path=_page_path(request, found, -1),
        next_path=_page_path(request, found, 1),
        here=request.url(page=None),
        change=change_path(str(request.context)) if kind.has_keys else None,
    )


def _columns(request: PageRequest, kind: ListKind) -> list[ListColumn]:
    names = request.query.get("columns", "").replace(" ", ",").split(",")
    chosen = list(dict.fromkeys(each for each in names if each)) or kind.defaults
    return [kind.column(request.cluster.snapshot, each) for each in chosen]


def _compared(query: ListQuery, columns: Sequence[ListColumn]) -> list[str]:
    """Keys in conditions that are not columns yet."""
    shown = {each.name for each in columns}
    return [each for each in dict.fromkeys(one.key.name for one in query.conditions) if each not in shown]


def _sort(request: PageRequest, kind: ListKind) -> tuple[str | None, bool]:
    given = request.query.get("sort", "")
    name = given.removeprefix("-")
    if name in ("", "name"):
        return None, given.startswith("-")
    try:
        kind.column(request.cluster.snapshot, name)
    except QueryError as error:
        raise BadRequest(str(error)) from None
    return name, given.startswith("-")


def _heading(request: PageRequest, column: ListColumn, sort: str | None, descending: bool) -> Heading:
    is_sorted = column.name == sort
    direction = ("descending" if descending else "ascending") if is_sorted else ""
    following = column.name if is_sorted and descending else f"-{column.name}"
    if not column.is_number:
        following = f"-{column.name}" if is_sorted and not descending else column.name
    return Heading(column.name, column.title, column.is_number, direction, request.url(sort=following, page=None))


def _row(request: PageRequest, kind: ListKind, columns: Sequence[ListColumn], name: str) -> ResourceRow:
    resource = resource_of_row(kind, name)
    path = resource_path(str(request.context), resource)
    cells, values = [each.text(name) for each in columns], [each.cell(name) for each in columns]
    return ResourceRow(name or "(default of all brokers)", resource_name(resource), path, cells, values)


def _page_path(request: PageRequest, found: ListSlice, step: int) -> str | None:
    page = found.page + step
    return request.url(page=None if page == 1 else page) if 1 <= page <= found.pages else None


def _notes(request: PageRequest, kind: ListKind) -> list[str]:
    snapshot = request.cluster.snapshot
    notes = [
        f"{each.what} could not be read: {each.failure.message or each.failure.code.name}"
        for each in snapshot.state.missing
        if each.what == kind.part and not each.is_absent
    ]
    if kind.word == "groups" and snapshot.groups_error:
        notes.append(f"running groups could not be listed: {snapshot.groups_error}")
    return notes


def home(request: PageRequest) -> Redirect:
    """The start page of a context: its topics."""
    name = request.parameters["context"]
    if name not in request.console.contexts:
        raise NotFound(f"no context {name!r}")
    return Redirect(f"{context_path(name)}/topics")


PAGES = (
    *(PageRoute(f"/{{context}}/{word}", _list_view(kind)) for word, kind in LISTS.items()),
    PageRoute("/{context}", home),
)
