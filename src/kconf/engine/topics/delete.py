"""Plans DeleteTopics: by name, or from version 6 by id. Has no side effects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from kconf.engine.configs.resolver import ConfigResolver
from kconf.engine.topics.placement import Charge
from kconf.errors import ApiError, ErrorCode
from kconf.model.acl import CLUSTER_NAME, AclType, Authorize, Operation, allow_all
from kconf.model.alteration import DeletedTopic
from kconf.model.journal import Change, ChangeKind
from kconf.model.plan import Plan, Refusals
from kconf.model.resource import Resource, ResourceType, Topic
from kconf.model.snapshot import Snapshot, topic_to_json
from kconf.util.slices import in_slices

NO_ID = UUID(int=0)


@dataclass(frozen=True, slots=True)
class TopicDeletion:
    """A topic to be deleted: a name, or an id."""

    name: str | None = None
    id: UUID = NO_ID


@dataclass(frozen=True, slots=True)
class Deleted:
    """The result for one topic; `failure` None: it is deleted."""

    name: str | None
    id: UUID
    failure: ApiError | None = None


_UNKNOWN_NAME = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server has no such topic.")
_UNKNOWN_ID = ApiError(ErrorCode.UNKNOWN_TOPIC_ID, "This server has no topic with this id.")
_TOO_FAST = ApiError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
_REFUSED = ApiError(
    ErrorCode.TOPIC_AUTHORIZATION_FAILED, "The principal is not authorized for this operation on the topic."
)


def plan_delete_topics(
    snapshot: Snapshot,
    deletions: Sequence[TopicDeletion],
    resolver: ConfigResolver,
    *,
    authorize: Authorize = allow_all,
    charge: Charge | None = None,
) -> Plan[list[Deleted]]:
    """Decide which topics are deleted. Duplicates fail once; topics that the caller cannot see are indistinguishable
    from missing ones."""
    names, ids = _counted(deletions)
    results: list[Deleted] = []
    told: set[TopicDeletion] = set()
    found: dict[str, list[TopicDeletion]] = {}
    everywhere = authorize(Operation.DELETE, AclType.CLUSTER, CLUSTER_NAME)
    for wanted in in_slices(deletions):
        problem = _malformed(wanted)
        if problem is None and _is_repeated(wanted, names, ids):
            problem = "the name or ID occurs more than once in the request"
            if wanted in told:
                continue
            told.add(wanted)
        if problem is not None:
            results.append(Deleted(wanted.name, wanted.id, ApiError(ErrorCode.INVALID_REQUEST, problem)))
            continue
        refused = _refusal(snapshot, wanted, everywhere, authorize)
        if refused is not None:
            results.append(refused)
            continue
        name = wanted.name if wanted.name is not None else snapshot.topic_ids[wanted.id]
        found.setdefault(name, []).append(wanted)
    changes: list[Change] = []
    sensitive = resolver.sensitive_keys(ResourceType.TOPIC)
    guards: dict[Resource, int] = {}
    granted: list[DeletedTopic] = []
    for name, twice in in_slices(found.items()):
        topic = snapshot.topics[name]
        if len(twice) > 1:
            results.append(
                Deleted(
                    name, topic.id, ApiError(ErrorCode.INVALID_REQUEST, "the topic is given both by name and by ID")
                )
            )
            continue
        if charge is not None and not charge(name, topic.partitions):
            results.append(Deleted(name, topic.id, _TOO_FAST))
            continue
        results.append(Deleted(name, topic.id))
        guards[topic.resource] = snapshot.changed.get(topic.resource, 0)
        changes += _changes(snapshot, topic, sensitive)
        granted.append(DeletedTopic(name, topic.id))
    return Plan(results, changes, guards, granted, _with_refusals)


def _with_refusals(results: list[Deleted], refusals: Refusals, _after: Snapshot) -> list[Deleted]:
    return [
        each
        if each.failure is not None or each.name is None or Resource.topic(each.name) not in refusals
        else Deleted(each.name, each.id, refusals[Resource.topic(each.name)])
        for each in results
    ]


def well_formed(deletions: Sequence[TopicDeletion]) -> Iterator[TopicDeletion]:
    """The deletions that name one topic, once."""
    names, ids = _counted(deletions)
    return (
        wanted for wanted in in_slices(deletions) if _malformed(wanted) is None and not _is_repeated(wanted, names, ids)
    )


def _counted(deletions: Sequence[TopicDeletion]) -> tuple[Counter[str], Counter[UUID]]:
    """How many times each name and each ID occurs alone; an element with both or neither is not a duplicate."""
    return (
        Counter(wanted.name for wanted in in_slices(deletions) if wanted.name is not None and wanted.id == NO_ID),
        Counter(wanted.id for wanted in in_slices(deletions) if wanted.name is None and wanted.id != NO_ID),
    )


def _malformed(wanted: TopicDeletion) -> str | None:
    if wanted.name is not None and wanted.id != NO_ID:
        return "pass a name or an ID, not both"
    if wanted.name is None and wanted.id == NO_ID:
        return "pass a name or an ID"
    return None


def _is_repeated(wanted: TopicDeletion, names: Counter[str], ids: Counter[UUID]) -> bool:
    return names[wanted.name] > 1 if wanted.name is not None else ids[wanted.id] > 1


def _refusal(snapshot: Snapshot, wanted: TopicDeletion, everywhere: bool, authorize: Authorize) -> Deleted | None:
    by_name = wanted.name is not None
    name = wanted.name if by_name else snapshot.topic_ids.get(wanted.id)
    if name is None:
        return Deleted(None, wanted.id, _UNKNOWN_ID)
    visible = everywhere or authorize(Operation.DESCRIBE, AclType.TOPIC, name)
    if not visible:
        return Deleted(name if by_name else None, wanted.id, _REFUSED)
    if name not in snapshot.topics:
        return Deleted(name, wanted.id, _UNKNOWN_NAME)
    if not everywhere and not authorize(Operation.DELETE, AclType.TOPIC, name):
        return Deleted(name, snapshot.topics[name].id, _REFUSED)
    return None


def _changes(snapshot: Snapshot, topic: Topic, sensitive: Callable[[str], bool]) -> list[Change]:
    """The changes that delete a topic and its overrides."""
    resource = topic.resource
    overrides = snapshot.overrides(resource)
    lines = [
        Change(ChangeKind.CONFIG, resource, key, value, None, "delete", sensitive(key))
        for key, value in sorted(overrides.items())
    ]
    return [*lines, Change(ChangeKind.TOPIC, resource, "", topic_to_json(topic), None, "delete")]
