"""A console on hand-written snapshots, without connections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from starlette.testclient import TestClient

from kconf.client.contexts.context import Context
from kconf.console.app import create_app
from kconf.console.cluster.history import HistoryIndex
from kconf.console.cluster.monitor import ClusterMonitor
from kconf.console.cluster.snapshot import ClusterSnapshot, Feed, Status
from kconf.console.console import Console
from kconf.console.security.login import LoginMethod
from kconf.console.settings import ConsoleSettings, ListenAddress
from kconf.model.cluster import Node
from kconf.model.cluster_state import ClusterState, TopicShape
from kconf.model.entry import Entry, Source, Synonym, ValueType, View, own_source
from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.resource import Resource, ResourceType
from kconf.operations.history.entries import RecordedHistory, entries_of
from kconf.operations.target import Target, UserCredential

JSON = {"accept": "application/json"}
BASE = "http://127.0.0.1:8080"
DAY = 86_400_000
WEEK = 7 * DAY
START = 1_790_000_000_000
"""When the first revision was made."""


class FixedMonitors:
    """Replaces `Monitors`: one snapshot per context, for everybody."""

    def __init__(self, targets: Sequence[Target], snapshots: Mapping[str, ClusterSnapshot]) -> None:
        self.targets = {each.name: each for each in targets}
        self._snapshots = snapshots
        self.retained: set[tuple[str, UserCredential]] | None = None

    def __enter__(self) -> FixedMonitors:
        return self

    def __exit__(self, *_: object) -> None: ...

    def monitor(self, context: str, credential: UserCredential | None) -> ClusterMonitor:
        monitor = ClusterMonitor(self.targets[context]._replace(credential=credential), 30.0)
        monitor._publish(self._snapshots[context])
        return monitor

    def retain(self, used: set[tuple[str, UserCredential]]) -> None:
        self.retained = used


def client(
    snapshots: Mapping[str, ClusterSnapshot],
    contexts: Sequence[Context] = (),
    *,
    login: LoginMethod | None = None,
    files: Mapping[str, Sequence[str]] | None = None,
) -> TestClient:
    """A test client of a console with these clusters. With `login`, people must log in."""
    named = {each.name: each for each in contexts}
    targets = [Target(named.get(name, Context(name, "127.0.0.1:1"))) for name in snapshots]
    settings = ConsoleSettings(
        ListenAddress("127.0.0.1", 8080), targets, login=login is not None, files=dict(files or {})
    )
    console = Console(settings, login)
    console.monitors = FixedMonitors(targets, snapshots)  # type: ignore[assignment]
    return TestClient(create_app(console), base_url=BASE, follow_redirects=False)


def view(resource: Resource, own: Mapping[str, str], inherited: Mapping[str, str] | None = None) -> View:
    """The entries of a resource: overrides and defaults."""
    source = own_source(resource)
    entries = [
        Entry(key, value, source, ValueType.STRING, synonyms=(Synonym(key, value, source),))
        for key, value in own.items()
    ]
    entries += [
        Entry(key, value, Source.DEFAULT, ValueType.STRING, synonyms=(Synonym(key, value, Source.DEFAULT),))
        for key, value in (inherited or {}).items()
        if key not in own
    ]
    return View(tuple(sorted(entries, key=lambda each: each.name)))


def topics(configs: Mapping[str, Mapping[str, str]]) -> ClusterState:
    """Topics with their overrides; other keys have defaults."""
    defaults = {"retention.ms": str(WEEK), "cleanup.policy": "delete"}
    resources = {name: Resource.topic(name) for name in configs}
    return ClusterState(
        "cluster-1",
        topics={name: TopicShape(UUID(int=place + 1), 6, 3) for place, name in enumerate(configs)},
        configs={resources[name]: view(resources[name], own, defaults) for name, own in configs.items()},
    )


def revision(number: int, change: Change, *, by: str = "User:ana", reason: str | None = None) -> Revision:
    return Revision(number, START + number * 60_000, RequestContext(by, reason=reason), (change,))


def set_key(topic: str, key: str, before: str | None, after: str | None) -> Change:
    op = "delete" if after is None else "set"
    return Change(ChangeKind.CONFIG, Resource(ResourceType.TOPIC, topic), key, before, after, op)


def history(*revisions: Revision) -> HistoryIndex:
    """The journal of a kconf server."""
    return HistoryIndex.of(
        RecordedHistory("feed", "cluster-1", [e for each in revisions for e in entries_of(each)], [])
    )


def snapshot(state: ClusterState, recorded: HistoryIndex | None = None, **fields: object) -> ClusterSnapshot:
    """A cluster that was read just now."""
    from time import time

    values: dict[str, object] = {
        "status": Status.REACHABLE,
        "state": state,
        "nodes": {1: Node(1, "127.0.0.1", 9092)},
        "release": "4.3",
        "is_kconf": True,
        "feed": Feed.LIVE,
        "history": recorded,
        "taken": int(time() * 1000),
        **fields,
    }
    return ClusterSnapshot(**values)  # type: ignore[arg-type]
