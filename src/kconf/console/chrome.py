"""The frame of every page: navigation, user, and the age of the state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kconf.console.pages.login import login_path
from kconf.console.pages.navigation import navigation
from kconf.errors import KconfError
from kconf.util.iso_time import iso_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kconf.console.console import Cluster
    from kconf.console.page import Page, PageRequest


def state_of(request: PageRequest) -> dict[str, Any] | None:
    """The age of the cluster's state; None for a page without a cluster, or if it may not be shown."""
    cluster = _cluster(request)
    if cluster is None:
        return None
    snapshot = cluster.monitor.snapshot
    return {
        "context": cluster.name,
        "cluster": snapshot.state.cluster or None,
        "status": snapshot.status.value,
        "taken": iso_time(snapshot.taken),
        "age": snapshot.age(),
        "feed": snapshot.feed.value,
        "feed_error": snapshot.feed_error or None,
        "stale": snapshot.is_stale(),
        "error": snapshot.error or None,
        "not_read": [
            f"{each.what}: {each.failure.message or each.failure.code.name}"
            for each in snapshot.state.missing
            if not each.is_absent
        ],
    }


def changes_seen(request: PageRequest) -> int:
    """The number of changes of the cluster that a page with its present state shows."""
    cluster = _cluster(request)
    return 0 if cluster is None else cluster.monitor.snapshot.changes


def chrome_of(request: PageRequest, page: Page, state: Mapping[str, Any] | None, seen: int) -> dict[str, Any]:
    cluster, settings = _cluster(request), request.console.settings
    return {
        "state": state,
        "seen": seen,
        "contexts": request.console.contexts,
        "context": None if cluster is None else cluster.name,
        "user": _user(request) if cluster is None else cluster.user,
        "read_only": cluster is not None and not cluster.can_change,
        "look_only": "" if cluster is None else cluster.look_only,
        "other_login": None if cluster is None or not settings.login else login_path(cluster.name, request.url()),
        "protected": cluster is not None and cluster.target.context.protected,
        "navigation": [] if cluster is None else navigation(cluster.name),
        "section": page.section,
        "token": request.session.form_token(),
        "here": request.url(),
    }


def _user(request: PageRequest) -> str | None:
    """The user to show on a page without a cluster."""
    identity = request.session.identity
    return None if identity is None else identity.user


def _cluster(request: PageRequest) -> Cluster | None:
    if request.context is None:
        return None
    try:
        return request.cluster
    except KconfError:
        return None
