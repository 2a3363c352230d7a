"""Drift: differences between a cluster and the files that declare it.

The cluster is read with the credential of the person, once per snapshot. So it is compared again when the cluster or a
file has changed, and after each interval. The page shows the age of the comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Final

from kconf.configdef.units import shown_value
from kconf.console.changes.form import CHANGEABLE
from kconf.console.history.activity import resource_text
from kconf.console.history.past import ResourcePast
from kconf.console.links import page_path, promote_path
from kconf.console.page import Page, PageRequest, PageRoute, Redirect
from kconf.console.pages.parameters import Paging, paging
from kconf.errors import KconfError
from kconf.model.resource import ResourceType
from kconf.operations.declarative.changes import changes_of
from kconf.operations.declarative.plan import plan_files

if TYPE_CHECKING:
    from kconf.console.cluster.snapshot import ClusterSnapshot
    from kconf.console.history.past import Author
    from kconf.model.resource import Resource
    from kconf.operations.declarative.plan import DifferencePlan
    from kconf.operations.planned_change import PlannedChange

SIZE: Final = 100
FIELDS: Final = ("kind", "q")
KINDS_OF_DRIFT: Final = ("differs", "missing", "undeclared")
NO_FILES: Final = (
    "No files that declare this cluster were passed to the console: its drift is unknown. Start it with "
    "`--declared [CONTEXT=]DIR`."
)


@dataclass(frozen=True)
class DriftRow:
    """`kind` is `differs`, `missing` (declared, but not in the cluster) or `undeclared` (in the cluster, but in no
    file).

    `declared` and `actual` are None if there is no value. `author` set the actual value; None if unknown.
    """

    kind: str
    resource: str
    path: str | None
    key: str
    declared: str | None
    actual: str | None
    place: str | None
    author: Author | None
    problem: str | None
    apply: str | None


@dataclass(frozen=True)
class DriftPage:
    """`total` is None if the drift is unknown. `taken` is when it was compared, `again` compares it now."""

    files: Sequence[str]
    fields: dict[str, str]
    kinds: Sequence[str]
    counts: dict[str, int]
    rows: Sequence[DriftRow]
    matching: int
    total: int | None
    paging: Paging
    unread: Sequence[str]
    taken: int | None
    age: float | None
    again: str
    error: str | None
    notes: Sequence[str]


@dataclass(frozen=True)
class _Drifted:
    kind: str
    change: PlannedChange
    place: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class _DriftResult:
    plan: DifferencePlan
    taken: int  # milliseconds


def drift(request: PageRequest) -> Page | Redirect:
    cluster = request.cluster
    files = request.console.settings.files.get(cluster.name, ())
    found, error = None, None
    if files:
        name = ("drift", _stamp(files))
        if request.query.get("again"):
            cluster.snapshot.forget(name)
            return Redirect(request.url(again=None))
        try:
            found = cluster.snapshot.derived(
                name, lambda _: _DriftResult(plan_files(files, cluster.target, None), int(time() * 1000))
            )
        except (KconfError, OSError) as failure:
            error = f"The drift is unknown: {failure}"
    return Page("drift.html", _page(request, files, found, error), "Drift", "drift")


def _stamp(files: Sequence[str]) -> tuple[object, ...]:
    """Changes with the files."""
    found: list[tuple[str, int, int]] = []
    for each in files:
        for path in sorted([Path(each), *Path(each).glob("**/*")]):
            with suppress(OSError):
                status = path.stat()
                found.append((str(path), status.st_mtime_ns, status.st_size))
    return tuple(found)


def _page(request: PageRequest, files: Sequence[str], compared: _DriftResult | None, error: str | None) -> DriftPage:
    plan = None if compared is None else compared.plan
    fields = {each: request.query.get(each, "").strip() for each in FIELDS}
    found = [] if plan is None else _drifted(plan)
    word = fields["q"].lower()
    chosen = [
        each
        for each in found
        if fields["kind"] in ("", each.kind) and word in f"{resource_text(each.change.resource)} {_key(each)}".lower()
    ]
    place, part = paging(request, len(chosen), SIZE)
    author = _authors(request.cluster.snapshot)
    return DriftPage(
        files=files,
        fields=fields,
        kinds=KINDS_OF_DRIFT,
        counts={kind: sum(each.kind == kind for each in found) for kind in KINDS_OF_DRIFT},
        rows=[_row(request, each, author) for each in chosen[part]],
        matching=len(chosen),
        total=None if plan is None else len(found),
        paging=place,
        unread=[]
        if plan is None
        else [f"{each.what}: {each.failure.message or each.failure.code.name}" for each in plan.unread],
        taken=None if compared is None else compared.taken,
        age=None if compared is None else max(0.0, time() - compared.taken / 1000),
        again=request.url(again="yes", page=None),
        error=error,
        notes=[NO_FILES]
        if not files
        else []
        if plan is None
        else [each for each in plan.notes if "--prune" not in each],
    )


def _drifted(plan: DifferencePlan) -> list[_Drifted]:
    places = {(each.resource, each.key): str(each.place) for each in plan.differences if each.place is not None}
    troubles = {(each.resource, each.key): each.trouble for each in plan.differences if each.trouble}
    found = []
    for each in changes_of(plan.differences):
        failure = plan.failures.get(each.resource)
        problem = troubles.get((each.resource, each.key)) or (failure and (failure.message or failure.code.name))
        kind = "missing" if each.op == "create" else "differs"
        found.append(_Drifted(kind, each, places.get((each.resource, each.key)), problem or None))
    return [*found, *(_Drifted("undeclared", each) for each in changes_of(plan.undeclared))]


def _key(drifted: _Drifted) -> str:
    change = drifted.change
    return str(change.shown.get("key") or change.key)


def _authors(snapshot: ClusterSnapshot) -> Callable[[Resource, str], Author | None]:
    known: dict[Resource, ResourcePast] = {}

    def author(resource: Resource, key: str) -> Author | None:
        if resource.type is ResourceType.ACL:
            return None
        if resource not in known:
            known[resource] = ResourcePast(snapshot, resource)
        return known[resource].author(key)

    return author


def _row(request: PageRequest, drifted: _Drifted, author: Callable[[Resource, str], Author | None]) -> DriftRow:
    change = drifted.change
    resource, key = change.resource, change.key
    is_undeclared = drifted.kind == "undeclared"
    return DriftRow(
        drifted.kind,
        resource_text(resource) if resource.type is not ResourceType.ACL else str(change.shown.get("resource")),
        page_path(str(request.context), resource),
        _key(drifted),
        None if is_undeclared else _shown(change, change.new if change.after is None else change.after),
        _shown(change, change.before if is_undeclared else change.old),
        drifted.place,
        author(resource, key) if change.before is not None else None,
        drifted.problem,
        _apply(request, drifted),
    )


def _shown(change: PlannedChange, value: str | None) -> str | None:
    if value is None or change.sensitive or not change.key or change.resource.type is ResourceType.ACL:
        return value
    return shown_value(change.key, value)


def _apply(request: PageRequest, drifted: _Drifted) -> str | None:
    """The form of a change that makes the cluster match the files; None if only `kconf apply` can do it."""
    change = drifted.change
    if not request.cluster.can_change or change.sensitive or not change.key or drifted.problem:
        return None
    if change.resource.type not in CHANGEABLE:
        return None
    value = None if drifted.kind == "undeclared" else change.after
    return promote_path(str(request.context), change.resource, change.key, value)


PAGES = (PageRoute("/{context}/drift", drift),)
