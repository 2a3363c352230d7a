"""One resource: every key with its value, its precedence and its author; its past; what differs between two times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import time
from typing import TYPE_CHECKING

from kconf.configdef.lookup import known_key, update_mode
from kconf.configdef.sensitive import HIDDEN
from kconf.configdef.units import shown_value, unit_of
from kconf.console.console import NotFound
from kconf.console.history.config_levels import Level, precedence
from kconf.console.history.past import Author, ChangeRow, ResourcePast, TimeDiff
from kconf.console.history.timeline import Lane, Timeline, mini, timeline
from kconf.console.links import DEFAULT_BROKER, KINDS, change_path, docs_link, resource_of, resource_path
from kconf.console.page import BadRequest, Page, PageRequest, PageRoute
from kconf.console.pages.parameters import time_parameter
from kconf.console.pages.resource_facts import (
    Fact,
    FactTable,
    RelatedPage,
    fact_tables,
    facts_of,
    is_known,
    related_pages,
)
from kconf.model.entry import own_source
from kconf.operations.planned_change import SOURCES

if TYPE_CHECKING:
    from kconf.console.cluster.snapshot import ClusterSnapshot
    from kconf.model.entry import Entry
    from kconf.model.resource import Resource

MOST_CHANGES = 100
"""The number of changes in the table, the newest ones."""


@dataclass(frozen=True)
class KeyRow:
    """A key. `shown` is the value with its unit; `author` is None if nothing is set on the resource itself."""

    name: str
    value: str | None
    shown: str
    unit: str | None
    source: str
    update: str
    sensitive: bool
    is_set: bool
    precedence: Sequence[Level]
    author: Author | None
    about: str
    docs: str | None
    path: str
    finding: str | None
    lane: Lane | None


@dataclass(frozen=True)
class PastValueRow:
    """A key at the chosen time, and now. None: not set.

    `is_unknown`: what it was is not recorded. `is_uncertain`: `then` is the nearest recorded value.
    """

    key: str
    then: str | None
    now: str | None
    differs: bool
    is_unknown: bool
    is_uncertain: bool = False


@dataclass(frozen=True)
class Slider:
    """The times that can be chosen (milliseconds), one per change. `at` is the chosen time."""

    begin: int
    end: int
    at: int
    changes: Sequence[int]


@dataclass(frozen=True)
class ResourcePage:
    """`at`, `diff` and `key` come from the address, if given."""

    kind: str
    name: str
    resource: str
    facts: Sequence[Fact]
    keys: Sequence[KeyRow]
    tables: Sequence[FactTable]
    changes: Sequence[ChangeRow]
    change_count: int
    source: str | None
    timeline: Timeline | None
    slider: Slider | None
    at: int | None
    at_rows: Sequence[PastValueRow]
    is_at_known: bool
    begin: int | None
    end: int | None
    diff: TimeDiff | None
    notes: Sequence[str]
    about_record: Sequence[str]
    """What the record does not contain."""
    key: KeyRow | None
    key_changes: Sequence[ChangeRow]
    key_timeline: Timeline | None
    here: str
    change: str | None
    """The form that changes its keys; None if it has none."""
    related: Sequence[RelatedPage]


def _view(word: str) -> Callable[[PageRequest], Page]:
    def view(request: PageRequest) -> Page:
        name = request.parameters.get("name", request.query.get("name", ""))
        resource = resource_of(word, name)
        snapshot = request.cluster.snapshot
        past = ResourcePast(snapshot, resource)
        if not is_known(snapshot, resource) and not past.entries:
            raise NotFound(_absent(request, snapshot, word, name))
        page = _page(request, snapshot, resource, past)
        return Page("resource.html", page, f"{word} {name}", f"{word}s")

    return view


def _absent(request: PageRequest, snapshot: ClusterSnapshot, word: str, name: str) -> str:
    if not snapshot.is_read:
        return f"{request.context} has not been read yet{f': {snapshot.error}' if snapshot.error else ''}"
    return f"{request.context} has no {word} {name!r}, or you are not authorized to describe it"


def _page(request: PageRequest, snapshot: ClusterSnapshot, resource: Resource, past: ResourcePast) -> ResourcePage:
    now = int(time() * 1000)
    at, begin, end = (time_parameter(request, each) for each in ("at", "from", "to"))
    rows = _key_rows(request, snapshot, resource, past, now)
    key = _chosen(request, rows)
    changes = past.changes
    history = snapshot.history
    of_key = [] if key is None else [each for each in changes if each.key == key.name]
    diff = None if begin is None else _checked_diff(past, begin, end)
    then = None if at is None else past.diff(at, None)
    about = [] if history is None else list(history.notes)
    notes = [snapshot.history_error] if snapshot.history_error else []
    notes += [] if then is None else [each for each in then.notes if each not in (*notes, *about)]
    return ResourcePage(
        kind=resource.type.word if resource.type in KINDS.values() else "",
        name=resource.name or DEFAULT_BROKER,
        resource=str(resource),
        facts=facts_of(snapshot, resource),
        keys=rows,
        tables=fact_tables(request, snapshot, resource),
        changes=changes[: -MOST_CHANGES - 1 : -1],
        change_count=len(changes),
        source=None if history is None else history.source,
        timeline=timeline(changes, now, at=at),
        slider=_slider(changes, now, at),
        at=at,
        at_rows=[] if then is None or at is None else _at_rows(rows, then, past, at),
        is_at_known=then is None or then.is_known,
        begin=begin,
        end=end,
        diff=diff,
        notes=notes,
        about_record=about,
        key=key,
        key_changes=of_key[::-1],
        key_timeline=timeline(of_key, now, at=at),
        here=resource_path(str(request.context), resource),
        change=change_path(str(request.context), [resource]) if rows else None,
        related=related_pages(str(request.context), resource),
    )


def _checked_diff(past: ResourcePast, begin: int, end: int | None) -> TimeDiff:
    if end is not None and end < begin:
        raise BadRequest("the first time is after the second")
    return past.diff(begin, end)


def _chosen(request: PageRequest, rows: Sequence[KeyRow]) -> KeyRow | None:
    name = request.query.get("key", "")
    if not name:
        return None
    found = next((each for each in rows if each.name == name), None)
    if found is None:
        raise NotFound(f"this resource has no key {name!r}")
    return found


def _slider(changes: Sequence[ChangeRow], now: int, at: int | None) -> Slider | None:
    if not changes:
        return None
    times = sorted({each.time for each in changes})
    return Slider(times[0] - 1000, now, now if at is None else at, times[-200:])


# -- keys ------------------------------------------------------------------------------------------------------------


def _key_rows(
    request: PageRequest, snapshot: ClusterSnapshot, resource: Resource, past: ResourcePast, now: int
) -> list[KeyRow]:
    """Keys set on the resource itself first, then keys that were changed, then all others."""
    view = snapshot.state.configs.get(resource)
    by_key: dict[str, list[ChangeRow]] = {}
    for each in past.changes:
        by_key.setdefault(each.key, []).append(each)
    begin = past.changes[0].time if past.changes else now
    make = _KeyRows(str(request.context), snapshot, resource, past, by_key, begin, now)
    rows = [make.row(each) for each in (view.entries if view is not None else ())]
    return sorted(rows, key=lambda each: (not each.is_set, each.lane is None, each.name))


@dataclass(frozen=True)
class _KeyRows:
    context: str
    snapshot: ClusterSnapshot
    resource: Resource
    past: ResourcePast
    changes: dict[str, list[ChangeRow]]
    begin: int
    now: int

    def row(self, entry: Entry) -> KeyRow:
        key = known_key(self.resource.type, entry.name)
        unit = unit_of(entry.name)
        is_set = entry.source == own_source(self.resource)
        return KeyRow(
            name=entry.name,
            value=None if entry.sensitive else entry.value,
            shown=HIDDEN if entry.sensitive else shown_value(entry.name, entry.value),
            unit=None if unit is None else unit[0],
            source=SOURCES[entry.source],
            update=update_mode(self.resource, entry),
            sensitive=entry.sensitive,
            is_set=is_set,
            precedence=precedence(entry, key, self.snapshot),
            author=self.past.author(entry.name) if is_set else None,
            about=key.about if key is not None else "",
            docs=docs_link(self.resource.type, entry.name) if key is not None else None,
            path=resource_path(self.context, self.resource, key=entry.name),
            finding=self.snapshot.findings.get((self.resource, entry.name)),
            lane=mini(self.changes.get(entry.name, ()), self.begin, self.now),
        )


def _at_rows(rows: Sequence[KeyRow], then: TimeDiff, past: ResourcePast, at: int) -> list[PastValueRow]:
    """The values that were or are set on the resource itself, those that differ first."""
    different = {each.key: each for each in then.differences}
    now = {each.name: each.shown for each in rows if each.is_set}
    found = [
        PastValueRow(each.key, each.before, now.get(each.key), False, True)
        if each.is_unknown
        else PastValueRow(each.key, each.before, each.after, True, False, each.is_uncertain)
        for each in different.values()
    ]
    for name in now:
        if name not in different:
            is_known = then.is_known and past.is_certain_at(name, at)
            found.append(PastValueRow(name, now[name] if is_known else None, now[name], False, not is_known))
    unsure = sorted(past.unsure_keys(at) - {each.key for each in found})
    return [*found, *(PastValueRow(each, None, None, False, True) for each in unsure)]


PAGES = (
    *(PageRoute(f"/{{context}}/{word}", _view(word)) for word in KINDS),
    *(PageRoute(f"/{{context}}/{word}/{{name:path}}", _view(word)) for word in KINDS),
)
