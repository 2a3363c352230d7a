"""What DeleteTopics would do: by name, or from version 6 by id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from kconf.engine.topics.create import Charge, deletion
from kconf.errors import ApiError, ErrorCode
from kconf.model.acl import CLUSTER_NAME, AclType, Authorize, Operation, allow_all
from kconf.model.journal import Change
from kconf.model.plan import Plan
from kconf.model.resource import Resource
from kconf.model.snapshot import Snapshot

NO_ID = UUID(int=0)


@dataclass(frozen=True, slots=True)
class TopicDeletion:
    """A topic to be deleted: a name, or an id."""

    name: str | None = None
    id: UUID = NO_ID


@dataclass(frozen=True, slots=True)
class Deleted:
    """What happened to one of them; `failure` None: it is gone."""

    name: str | None
    id: UUID
    failure: ApiError | None = None


_UNKNOWN_NAME = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server has no such topic.")
_UNKNOWN_ID = ApiError(ErrorCode.UNKNOWN_TOPIC_ID, "This server has no topic with this id.")
_TOO_FAST = ApiError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
_REFUSED = ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "The principal may not do this to the topic.")


def plan_delete_topics(
    snapshot: Snapshot,
    wishes: Sequence[TopicDeletion],
    *,
    authorize: Authorize = allow_all,
    charge: Charge | None = None,
) -> Plan[list[Deleted]]:
    """Decide which topics go. What is said twice fails once; what a caller may not see is not told apart."""
    names, ids = _counted(wishes)
    results: list[Deleted] = []
    told: set[TopicDeletion] = set()
    found: dict[str, list[TopicDeletion]] = {}
    everywhere = authorize(Operation.DELETE, AclType.CLUSTER, CLUSTER_NAME)
    for wish in wishes:
        problem = _malformed(wish)
        if problem is None and _is_repeated(wish, names, ids):
            problem = "the name or the id stands in the request more than once"
            if wish in told:
                continue
            told.add(wish)
        if problem is not None:
            results.append(Deleted(wish.name, wish.id, ApiError(ErrorCode.INVALID_REQUEST, problem)))
            continue
        refused = _refusal(snapshot, wish, everywhere, authorize)
        if refused is not None:
            results.append(refused)
            continue
        name = wish.name if wish.name is not None else snapshot.topic_ids[wish.id]
        found.setdefault(name, []).append(wish)
    changes: list[Change] = []
    guards: dict[Resource, int] = {}
    for name, twice in found.items():
        topic = snapshot.topics[name]
        if len(twice) > 1:
            results.append(
                Deleted(name, topic.id, ApiError(ErrorCode.INVALID_REQUEST, "named by its name and by its id"))
            )
            continue
        if charge is not None and not charge(name, topic.partitions):
            results.append(Deleted(name, topic.id, _TOO_FAST))
            continue
        results.append(Deleted(name, topic.id))
        guards[topic.resource] = snapshot.changed.get(topic.resource, 0)
        changes += deletion(snapshot, topic)
    return Plan(results, changes, guards)


def well_formed(wishes: Sequence[TopicDeletion]) -> Iterator[TopicDeletion]:
    """The wishes that name one topic, once."""
    names, ids = _counted(wishes)
    return (wish for wish in wishes if _malformed(wish) is None and not _is_repeated(wish, names, ids))


def _counted(wishes: Sequence[TopicDeletion]) -> tuple[Counter[str], Counter[UUID]]:
    """How often each name and each id stands there alone; what has both, or neither, is no repetition of another."""
    return (
        Counter(wish.name for wish in wishes if wish.name is not None and wish.id == NO_ID),
        Counter(wish.id for wish in wishes if wish.name is None and wish.id != NO_ID),
    )


def _malformed(wish: TopicDeletion) -> str | None:
    if wish.name is not None and wish.id != NO_ID:
        return "give a name or an id, not both"
    if wish.name is None and wish.id == NO_ID:
        return "give a name or an id"
    return None


def _is_repeated(wish: TopicDeletion, names: Counter[str], ids: Counter[UUID]) -> bool:
    return names[wish.name] > 1 if wish.name is not None else ids[wish.id] > 1


def _refusal(snapshot: Snapshot, wish: TopicDeletion, everywhere: bool, authorize: Authorize) -> Deleted | None:
    by_name = wish.name is not None
    name = wish.name if by_name else snapshot.topic_ids.get(wish.id)
    if name is None:
        return Deleted(None, wish.id, _UNKNOWN_ID)
    visible = everywhere or authorize(Operation.DESCRIBE, AclType.TOPIC, name)
    if not visible:
        return Deleted(name if by_name else None, wish.id, _REFUSED)
    if name not in snapshot.topics:
        return Deleted(name, wish.id, _UNKNOWN_NAME)
    if not everywhere and not authorize(Operation.DELETE, AclType.TOPIC, name):
        return Deleted(name, snapshot.topics[name].id, _REFUSED)
    return None
