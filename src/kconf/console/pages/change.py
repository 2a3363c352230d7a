"""Change keys: a form, a dry run, the result, and its undo. One resource, or the selection of a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kconf.configdef.lookup import keys_for
from kconf.console.changes.form import KeyField, filled_in, key_fields, named_resources, read_fields
from kconf.console.changes.run import Moved, apply, dry_run
from kconf.console.console import NotFound
from kconf.console.history.activity import resource_text
from kconf.console.links import change_path, resource_name, resource_path
from kconf.console.page import BadRequest, Page, PageRequest, PageRoute, Redirect
from kconf.console.pending import ChangeReport, PendingChange, new_id
from kconf.errors import ConfigurationError
from kconf.model.resource import ResourceType
from kconf.operations.errors import Aborted
from kconf.operations.risks.allowed import parse_risks

if TYPE_CHECKING:
    from kconf.model.resource import Resource
    from kconf.operations.configs import Assignments

MAX_REASON = 500
_SHOWN = 20


@dataclass(frozen=True)
class ResourceLink:
    name: str
    path: str


@dataclass(frozen=True)
class EditPage:
    """The form. `keys` are all keys of the resource type."""

    resources: Sequence[ResourceLink]
    count: int
    fields: Sequence[KeyField]
    keys: Sequence[str]
    error: str | None
    here: str
    names: Sequence[str]


@dataclass(frozen=True)
class DryRunPage:
    """A dry run, and the result after it was applied. `risks` must be accepted by name."""

    id: str
    here: str
    count: int
    changed: int
    report: ChangeReport
    is_applied: bool
    can_apply: bool
    can_undo: bool
    undoes: bool
    risks: Sequence[str]
    reason: str
    error: str | None
    edit: str
    is_protected: bool
    context_name: str


def edit(request: PageRequest) -> Page | Redirect:
    """Show the form, or handle what it sent."""
    cluster = request.cluster
    cluster.check_writable()
    sent = request.method == "POST"
    resources = named_resources((request.form if sent else request.query).getlist("resource"))
    error = None
    if sent:
        try:
            return start_change(request, read_fields(request.form, resources))
        except ConfigurationError as failure:
            error = str(failure)
    views = cluster.snapshot.state.configs
    form = request.form if sent else filled_in(request.query)
    fields = key_fields(resources, views, request.query.getlist("key"), form)
    page = EditPage(
        [ResourceLink(str(each), resource_path(cluster.name, each)) for each in resources[:_SHOWN]],
        len(resources),
        fields,
        sorted(keys_for(resources[0].type)),
        error,
        _path(request),
        [resource_name(each) for each in resources],
    )
    return Page(
        "change_edit.html", page, f"Change {_title(resources)}", _section(resources), _status(request, error, 400)
    )


def start_change(request: PageRequest, assignments: Assignments, undoes: str | None = None) -> Redirect:
    """Start a dry run, and redirect to its page."""
    cluster = request.cluster
    change = PendingChange(new_id(), cluster.name, assignments, dry_run(cluster, assignments), undoes=undoes)
    request.session.changes.put(change)
    return Redirect(f"{_path(request)}/{change.id}")


def show(request: PageRequest) -> Page:
    """Show a dry run or a result."""
    return _page(request, _pending(request))


def decide(request: PageRequest) -> Page | Redirect:
    """Apply the changes of a dry run, or undo applied changes."""
    change = _pending(request)
    if request.form.get("do") == "undo":
        if change.undo is None or not change.undo:
            raise BadRequest("there is nothing to undo")
        return start_change(request, change.undo, undoes=change.id)
    return _apply(request, change)


def _apply(request: PageRequest, change: PendingChange) -> Page | Redirect:
    cluster, changes = request.cluster, request.session.changes
    here = f"{_path(request)}/{change.id}"
    if change.result is not None:
        return Redirect(here)  # the form was sent twice
    reason = request.form.get("reason", "").strip()
    context = cluster.target.context
    if len(reason) > MAX_REASON:
        return _page(request, change, f"the reason has more than {MAX_REASON} characters")
    if context.protected and request.form.get("confirm", "").strip() != context.name:
        return _page(request, change, f"{context.name} is protected: type its name to confirm")
    if changes.take(cluster.name, change.id) is None:
        raise BadRequest("this change is already being applied")
    try:
        risks = parse_risks(request.form.getlist("risk"))
        result, undo = apply(cluster, change.assignments, change.dry_run, reason, risks)
        change = replace(change, result=result, undo=undo, reason=reason)
        cluster.monitor.touch(list(change.assignments))
    except Moved as moved:
        change = replace(change, dry_run=moved.report)
        return _page(request, change, str(moved))
    except Aborted as refused:
        return _page(request, change, str(refused).partition(": pass ")[0])
    finally:
        changes.put(change)
    return Redirect(here)


def _pending(request: PageRequest) -> PendingChange:
    found = request.session.changes.find(request.cluster.name, request.parameters["change"])
    if found is None:
        raise NotFound("this change has expired; fill in the form again")
    return found


def _page(request: PageRequest, change: PendingChange, error: str | None = None) -> Page:
    report = change.dry_run if change.result is None else change.result
    resources = list(change.assignments)
    context = request.cluster.target.context
    risks = sorted({risk.name for row in report.rows for risk in row.risks if not risk.allowed and row.error is None})
    pending = [each for each in report.rows if each.error is None and each.status != "unchanged"]
    page = DryRunPage(
        id=change.id,
        here=f"{_path(request)}/{change.id}",
        count=len(resources),
        changed=len(pending),
        report=report,
        is_applied=change.result is not None,
        can_apply=change.result is None and bool(pending) and request.cluster.can_change,
        can_undo=bool(change.undo) and request.cluster.can_change,
        undoes=change.undoes is not None,
        risks=risks,
        reason=request.form.get("reason", change.reason),
        error=error,
        edit=_edit_path(request, resources),
        is_protected=context.protected,
        context_name=context.name or "",
    )
    word = "Changed" if change.result is not None else "Undo" if change.undoes else "Dry run:"
    title = f"{word} {_title(resources)}"
    return Page("change.html", page, title, _section(resources), _status(request, error, 409))


def _status(request: PageRequest, error: str | None, status: int) -> int:
    """The status of a form with an error: 200 for a browser, an error for a script."""
    return status if error is not None and request.wants_json else 200


def _path(request: PageRequest, resources: Sequence[Resource] = ()) -> str:
    return change_path(str(request.context), resources)


def _edit_path(request: PageRequest, resources: Sequence[Resource]) -> str:
    if resources[0].type is ResourceType.QUOTA:
        return resource_path(str(request.context), resources[0])
    return _path(request, resources)


def _title(resources: Sequence[Resource]) -> str:
    first = resources[0]
    return resource_text(first) if len(resources) == 1 else f"{len(resources):,} {first.type.word}s"


def _section(resources: Sequence[Resource]) -> str:
    return f"{resources[0].type.word}s"


PAGES = (
    PageRoute("/{context}/change", edit, ("GET", "POST")),
    PageRoute("/{context}/change/{change}", show),
    PageRoute("/{context}/change/{change}", decide, ("POST",)),
)
