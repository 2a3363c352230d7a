"""The clusters: whether they are reachable, their version, and the age of their state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import time

from kconf.console.cluster.snapshot import DAY, ClusterSnapshot
from kconf.console.console import LoginRequired
from kconf.console.links import context_path
from kconf.console.page import Page, PageRequest, PageRoute, Redirect
from kconf.util.iso_time import iso_time


@dataclass(frozen=True)
class ClusterRow:
    """A context. None means unknown or not read yet.

    `changes_today` is the number of recorded changes; `has_all_changes`: there were no others today. `lake_run` is when
    the pipeline run ended that found the drift and the violations.
    """

    context: str
    path: str
    login_required: bool
    status: str
    error: str | None
    cluster: str | None
    product: str | None
    topics: int | None
    brokers: int | None
    drifted: int | None
    violations: int | None
    changes_today: int | None
    has_all_changes: bool
    lake_run: str | None
    feed: str | None
    feed_error: str | None
    taken: str | None
    age: float | None
    stale: bool
    read_only: bool
    protected: bool
    labels: dict[str, str]


@dataclass(frozen=True)
class ClustersPage:
    clusters: Sequence[ClusterRow]
    warning: str | None


def clusters(request: PageRequest) -> Page | Redirect:
    settings = request.console.settings
    rows = [_row(request, name) for name in request.console.contexts]
    warning = None
    if not settings.has_logins:
        warning = "Login is off: everybody who can reach this address uses the credentials of the contexts."
    return Page("clusters.html", ClustersPage(rows, warning), "Clusters")


def _row(request: PageRequest, name: str) -> ClusterRow:
    context = request.console.monitors.targets[name].context
    snapshot, login_required = ClusterSnapshot(), False
    try:
        snapshot = request.console.cluster(name, request.session, wait=0).monitor.snapshot
    except LoginRequired:
        login_required = True
    is_read, lake = snapshot.is_read, snapshot.lake
    return ClusterRow(
        context=name,
        path=f"{context_path(name)}/topics",
        login_required=login_required,
        status="login required" if login_required else snapshot.status.value,
        error=snapshot.error or None,
        cluster=snapshot.state.cluster or None,
        product=_product(snapshot) if is_read else None,
        topics=len(snapshot.state.topics) if is_read and not _is_missing(snapshot, "topics") else None,
        brokers=len(snapshot.nodes) if is_read else None,
        drifted=None if lake is None or lake.drifted is None else sum(lake.drifted.values()),
        violations=None if lake is None or lake.violations is None else sum(lake.violations.values()),
        changes_today=None if snapshot.history is None else snapshot.history.number_since(_midnight()),
        has_all_changes=snapshot.history is not None and snapshot.history.has_all_since(_midnight()),
        lake_run=None if lake is None else iso_time(lake.finished),
        feed=snapshot.feed.value if is_read else None,
        feed_error=snapshot.feed_error or None,
        taken=iso_time(snapshot.taken),
        age=snapshot.age(),
        stale=snapshot.is_stale(),
        read_only=context.read_only,
        protected=context.protected,
        labels={} if login_required else dict(context.labels),
    )


def _product(snapshot: ClusterSnapshot) -> str:
    return f"kconf (Kafka {snapshot.release})" if snapshot.is_kconf else f"Kafka {snapshot.release}"


def _is_missing(snapshot: ClusterSnapshot, part: str) -> bool:
    return any(each.what == part for each in snapshot.state.missing)


def _midnight() -> int:
    """The start of the day in UTC, in milliseconds."""
    now = int(time() * 1000)
    return now - now % DAY


PAGES = (PageRoute("/", clusters),)
