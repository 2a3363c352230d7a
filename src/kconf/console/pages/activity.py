"""Activity: changes with author and reason, newest first, and refused requests. Filters are in the address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kconf.console.history.activity import (
    ActivityFilter,
    change_resource_text,
    matching_attempts,
    matching_changes,
    resource_text,
)
from kconf.console.history.past import change_row
from kconf.console.links import KINDS, page_path, resource_path
from kconf.console.page import BadRequest, Page, PageRequest, PageRoute
from kconf.console.pages.parameters import FIRST_PAGE, Paging, paging, time_range
from kconf.errors import ErrorCode, KafkaError, KconfError, UnsupportedVersion
from kconf.operations.history.attempts import latest_attempts

if TYPE_CHECKING:
    from kconf.console.cluster.snapshot import ClusterSnapshot
    from kconf.console.history.past import ChangeRow
    from kconf.model.journal import AuditEntry
    from kconf.operations.history.entries import HistoryEntry

SIZE: Final = 50
MOST_REFUSALS: Final = 5000
"""The number of attempts that are read, the newest ones."""
FIELDS: Final = ("q", "resource", "key", "who", "from", "to")
UNKNOWN_REFUSALS: Final = "Refused requests are unknown here: only a kconf server or a gateway records them."


@dataclass(frozen=True)
class ActivityRow:
    """A recorded change. `path` is the page of its resource; None if it has none."""

    resource: str
    path: str | None
    at_path: str | None
    change: ChangeRow


@dataclass(frozen=True)
class RefusalRow:
    """A refused request. `is_dry_run`: it requested validation only."""

    time: int
    resource: str
    path: str | None
    keys: Sequence[str]
    error: str
    is_dry_run: bool
    who: str
    reason: str | None
    client_id: str
    host: str
    api: str


@dataclass(frozen=True)
class ActivityPage:
    """`rows` are changes, `refusals` refused requests; one of them is shown. `matching` is None if unknown."""

    show: str
    fields: dict[str, str]
    rows: Sequence[ActivityRow]
    refusals: Sequence[RefusalRow]
    matching: int | None
    total: int | None
    paging: Paging
    changes_path: str
    refusals_path: str
    source: str | None
    is_live: bool
    notes: Sequence[str]
    here: str


def activity(request: PageRequest) -> Page:
    show = request.query.get("show", "changes")
    if show not in ("changes", "refusals"):
        raise BadRequest(f"show must be changes or refusals, not {show!r}")
    wanted = _filter(request)
    snapshot = request.cluster.snapshot
    value = _changes(request, snapshot, wanted) if show == "changes" else _refusals(request, snapshot, wanted)
    return Page("activity.html", value, "Activity", "activity")


def _changes(request: PageRequest, snapshot: ClusterSnapshot, wanted: ActivityFilter) -> ActivityPage:
    history = snapshot.history
    notes = [*([snapshot.history_error] if snapshot.history_error else []), *(history.notes if history else ())]
    if history is None:
        if not notes:
            notes.append("The recorded changes have not been read yet.")
        return _page(request, "changes", notes=notes, matching=None, total=None)
    found = matching_changes(history, wanted)
    place, part = paging(request, len(found), SIZE)
    rows = [_row(request, each) for each in found[part]]
    return _page(
        request,
        "changes",
        rows=rows,
        place=place,
        matching=len(found),
        total=history.count,
        source=history.source,
        is_live=place.page == 1,
        notes=notes,
    )


def _refusals(request: PageRequest, snapshot: ClusterSnapshot, wanted: ActivityFilter) -> ActivityPage:
    """The refused requests, read from the cluster now: the console has no copy."""
    if snapshot.is_read and not snapshot.is_kconf:
        return _page(request, "refusals", notes=[UNKNOWN_REFUSALS], matching=None, total=None)
    try:
        with request.cluster.target.open() as admin:
            attempts = latest_attempts(admin, MOST_REFUSALS)
    except UnsupportedVersion:
        return _page(request, "refusals", notes=[UNKNOWN_REFUSALS], matching=None, total=None)
    except (KconfError, OSError) as error:
        code = f"{error.failure().code.name}: " if isinstance(error, KafkaError) else ""
        return _page(request, "refusals", notes=[f"Refused requests are unknown: {code}{error}"])
    refused = [each for each in attempts if each.code]
    found = matching_attempts(refused, wanted)
    place, part = paging(request, len(found), SIZE)
    notes = []
    if len(attempts) >= MOST_REFUSALS:
        notes.append(f"Only the last {MOST_REFUSALS:,} entries of the audit log were read.")
    return _page(
        request,
        "refusals",
        refusals=[_refusal(request, each) for each in found[part]],
        place=place,
        matching=len(found),
        total=len(refused),
        notes=notes,
    )


def _page(
    request: PageRequest,
    show: str,
    *,
    rows: Sequence[ActivityRow] = (),
    refusals: Sequence[RefusalRow] = (),
    place: Paging = FIRST_PAGE,
    matching: int | None = None,
    total: int | None = None,
    source: str | None = None,
    is_live: bool = False,
    notes: Sequence[str] = (),
) -> ActivityPage:
    return ActivityPage(
        show=show,
        fields={each: request.query.get(each, "") for each in FIELDS},
        rows=rows,
        refusals=refusals,
        matching=matching,
        total=total,
        paging=place,
        changes_path=request.url(show=None, page=None),
        refusals_path=request.url(show="refusals", page=None),
        source=source,
        is_live=is_live,
        notes=notes,
        here=request.url(),
    )


def _row(request: PageRequest, entry: HistoryEntry) -> ActivityRow:
    resource = entry.change.resource
    path = page_path(str(request.context), resource)
    at_path = resource_path(str(request.context), resource, at=entry.time) if resource.type in KINDS.values() else None
    return ActivityRow(change_resource_text(entry.change), path, at_path, change_row(entry))


def _refusal(request: PageRequest, entry: AuditEntry) -> RefusalRow:
    caller = entry.caller
    return RefusalRow(
        entry.time,
        resource_text(entry.resource),
        page_path(str(request.context), entry.resource),
        list(entry.keys),
        _code_name(entry.code),
        entry.dry_run,
        caller.principal,
        caller.reason,
        caller.client_id,
        caller.host,
        caller.api,
    )


def _code_name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"


def _filter(request: PageRequest) -> ActivityFilter:
    resource, key, who, text = (request.query.get(each, "").strip() for each in ("resource", "key", "who", "q"))
    return ActivityFilter(resource, key, who, text, *time_range(request))


PAGES = (PageRoute("/{context}/activity", activity),)
