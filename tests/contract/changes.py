"""Small changes and pending commits like those of a planner."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource, Topic
from kconf.model.snapshot import topic_to_json
from kconf.store.base import Store

ALICE = RequestContext("User:alice", "tool-1", "10.0.0.1", "INCREMENTAL_ALTER_CONFIGS", 7, "because")


def topic(name: str, *, number: int = 1, partitions: int = 1) -> Topic:
    return Topic(name, UUID(int=number), ((1, 2),) * partitions)


def put(
    resource: Resource, key: str, after: str | None, *, before: str | None = None, sensitive: bool = False
) -> Change:
    return Change(ChangeKind.CONFIG, resource, key, before, after, "SET" if after is not None else "DELETE", sensitive)


def turned(before: Topic | None, after: Topic | None) -> Change:
    """A topic created, extended or deleted."""
    known = after or before
    assert known is not None
    before_text, after_text = (None if each is None else topic_to_json(each) for each in (before, after))
    return Change(ChangeKind.TOPIC, known.resource, "", before_text, after_text, "CREATE" if after else "DELETE")


def pending(
    *changes: Change, guards: Mapping[Resource, int] | None = None, caller: RequestContext = ALICE, time: int = 1000
) -> PendingCommit:
    return PendingCommit(caller, time, changes, guards or {})


def commit(store: Store, *changes: Change, guards: Mapping[Resource, int] | None = None, time: int = 1000) -> Revision:
    """Commit changes; this must succeed."""
    (result,) = store.commit([pending(*changes, guards=guards, time=time)])
    assert isinstance(result, Revision)
    return result
