"""DescribeConfigsAt (30001): the overrides that resources had at a revision or a time.

Starts from the current state and undoes every later change, newest first, one revision at a time, so that memory use
does not grow with the length of the history. Requires DESCRIBE_CONFIGS on the cluster, like reading the journal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kconf.errors import ErrorCode, InvalidRequest, JournalTrimmed, KafkaError, StoreError
from kconf.model.journal import Change, ChangeKind
from kconf.model.resource import Resource, ResourceType
from kconf.model.snapshot import Snapshot
from kconf.protocol.messages.describe_configs_at import (
    DescribeConfigsAtRequest,
    DescribeConfigsAtResponse,
    OverrideAt,
    ResourceAt,
    ResultAt,
)
from kconf.server.api.list_config_changes import REFUSED, may_read_journal
from kconf.server.context import ApiRequest, ServerContext, journal_error
from kconf.service import State
from kconf.store.base import MAX_RESOURCES_PER_QUERY, JournalReader, UnknownParts
from kconf.util.slices import in_slices

_WITH_HISTORY = frozenset(ResourceType) - {ResourceType.UNKNOWN, ResourceType.BROKER_LOGGER}  # loggers have no history


class StateAt:
    """The state of one resource while changes are undone."""

    def __init__(self, resource: Resource, state: State) -> None:
        snapshot = state.snapshot
        self.values: dict[str, str] = dict(snapshot.overrides(resource))
        self.existed = resource.type != ResourceType.TOPIC or resource.name in snapshot.topics
        self.hidden = {key for key in self.values if _is_sensitive(state, resource, key)}

    def undo(self, change: Change) -> None:
        if change.kind is ChangeKind.TOPIC:
            self.existed = change.before is not None
        elif change.before is None:
            self.values.pop(change.key, None)
        else:
            self.values[change.key] = change.before
            if change.sensitive:
                self.hidden.add(change.key)

    @property
    def overrides(self) -> list[OverrideAt]:
        return [
            OverrideAt(key, None if key in self.hidden else value, key in self.hidden)
            for key, value in sorted(self.values.items())
        ]


async def handle(
    context: ServerContext, request: DescribeConfigsAtRequest, call: ApiRequest
) -> DescribeConfigsAtResponse:
    if not may_read_journal(call):
        return DescribeConfigsAtResponse(error_code=REFUSED.code, error_message=REFUSED.message)
    oldest = 1
    try:
        oldest = context.service.store.oldest()
        revision = await _revision(context, request)
        states = await _states(context, _known(request.resources), revision)
    except JournalTrimmed as error:
        return DescribeConfigsAtResponse(
            error_code=ErrorCode.OFFSET_OUT_OF_RANGE, error_message=str(error), oldest=error.oldest
        )
    except KafkaError as error:
        return DescribeConfigsAtResponse(error_code=error.code, error_message=error.message, oldest=oldest)
    except StoreError as error:
        failure = journal_error(error)
        return DescribeConfigsAtResponse(error_code=failure.code, error_message=failure.message)
    unknown = context.service.store.unknown
    results = [_result(each, states, unknown) for each in in_slices(request.resources)]
    return DescribeConfigsAtResponse(revision=revision, oldest=oldest, results=results)


async def _revision(context: ServerContext, request: DescribeConfigsAtRequest) -> int:
    current = context.feed.current
    if request.revision >= 0:
        if request.revision > current:
            raise InvalidRequest(f"revision {request.revision} does not exist yet; the last is {current}")
        return request.revision
    if request.time_ms < 0:
        raise InvalidRequest("specify a revision or a time")
    if request.time_ms >= context.service.now():
        return current  # even if the clock was ahead at commit time and was set back later
    found = await context.feed.read(lambda reader: reader.revision_at(request.time_ms))
    return min(found, current)  # ignore commits that are not visible yet


def _known(resources: Sequence[ResourceAt]) -> list[Resource]:
    wanted = {(each.resource_type, each.resource_name) for each in in_slices(resources)}
    return [Resource(ResourceType(kind), name) for kind, name in in_slices(wanted) if kind in _WITH_HISTORY]


async def _states(context: ServerContext, resources: Sequence[Resource], revision: int) -> Mapping[Resource, StateAt]:
    states: dict[Resource, StateAt] = {}
    for start in range(0, len(resources), MAX_RESOURCES_PER_QUERY):
        state = context.service.state
        some = {each: StateAt(each, state) for each in in_slices(resources[start : start + MAX_RESOURCES_PER_QUERY])}
        await context.feed.read(lambda reader: undo_changes(reader, some, state.snapshot, revision))  # noqa: B023 – awaited
        states.update(some)
    return states


def undo_changes(reader: JournalReader, states: Mapping[Resource, StateAt], now: Snapshot, revision: int) -> None:
    """Undo the changes of resources from `now` back to a revision."""
    for each in reader.reverse_changes(states.keys(), revision):
        if each.number > now.revision:
            continue
        for change in reversed(each.changes):
            state_at = states.get(change.resource)
            if state_at is not None:
                state_at.undo(change)


def _result(wanted: ResourceAt, states: Mapping[Resource, StateAt], unknown: UnknownParts) -> ResultAt:
    kind, name = wanted.resource_type, wanted.resource_name
    state_at = states.get((kind, name))  # type: ignore[call-overload]  # a Resource is such a tuple
    if state_at is None:
        why = f"resources of type {kind} have no history"
        return ResultAt(ErrorCode.INVALID_REQUEST, why, kind, name, False, ())
    failure = unknown.of(Resource(ResourceType(kind), name))
    if failure is not None:
        return ResultAt(failure.code, failure.message, kind, name, False, ())
    return ResultAt(0, None, kind, name, state_at.existed, state_at.overrides)


def _is_sensitive(state: State, resource: Resource, key: str) -> bool:
    """Whether the value must not be shown. It may also be a placeholder, if a gateway does not know the value."""
    match resource.type:
        case ResourceType.TOPIC | ResourceType.BROKER | ResourceType.GROUP | ResourceType.CLIENT_METRICS:
            return state.resolver.sensitive_keys(resource.type)(key)
        case ResourceType.SCRAM:
            return True
        case _:
            return False
