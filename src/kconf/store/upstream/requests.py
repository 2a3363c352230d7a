"""Converts changes to requests to the cluster: as few as Kafka's APIs allow, with a result for each resource.

Changes of many callers are merged into one request (merging.py), because Kafka processes a thousand resources about as
fast as one. If a merged request is refused as a whole, or cannot be encoded, the changes of each caller are sent apart,
because those of one can be the cause: in Kafka 3.9, an exception in a policy class fails all topics of a request with
error -1. A request that may have been carried out is never sent again, except `may_repeat` changes after this error.
Such a change stays unknown unless its second request is successful, or refused because of its content. An unexpected
error of a request makes its own changes unknown, not those of other requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from logging import getLogger
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kconf.client.calls.acls import CreateAcls, DeleteAcls
from kconf.client.calls.base import ANY, Call, Unanswered, Unsent, failure_of
from kconf.client.calls.client_quotas import AlterClientQuotas
from kconf.client.calls.configs import IncrementalAlterConfigs, node_of
from kconf.client.calls.scram import AlterUserScramCredentials
from kconf.client.calls.topics import CreatePartitions, CreateTopics, DeleteTopics
from kconf.engine.access.acls import key_of, pattern_of
from kconf.engine.access.scram_credentials import user_resource
from kconf.errors import ApiError, ErrorCode, KafkaError, KconfError, LocalProtocolError
from kconf.model.acl import AclFilter
from kconf.model.alteration import (
    DeletedAcl,
    DeletedTopic,
    NewAcl,
    NewPartitions,
    NewTopic,
    ResourceAlterations,
)
from kconf.model.journal import Change
from kconf.model.plan import Place, places_of
from kconf.model.quota import ClientQuotaAlteration
from kconf.model.resource import Resource
from kconf.model.results import Results
from kconf.model.scram import UserScramCredentialDeletion, UserScramCredentialUpsertion
from kconf.store.upstream.merging import groups_of, is_refused_by_content, may_repeat

if TYPE_CHECKING:
    from kconf.model.alteration import RequestedChange

log = getLogger(__name__)

TIMEOUT: Final = 25.0
"""Seconds to wait for the cluster. Clients usually give up on a request after 30 s; before that, they should learn that
the outcome is unknown."""

_UNCERTAIN: Final = frozenset(
    {ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NETWORK_EXCEPTION, ErrorCode.UNKNOWN_SERVER_ERROR}
)
"""Errors after which a change may have been made."""
_OF_WHOLE: Final = frozenset({ErrorCode.POLICY_VIOLATION, ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_SERVER_ERROR})
"""Errors with which the controller refuses a whole request, such as one with too many records."""
UNAVAILABLE: Final = ApiError(
    ErrorCode.REQUEST_TIMED_OUT, "the cluster is unavailable; the request was not sent to it; try again later"
)
"""The error for a change that was not sent."""
_CHECK: Final = "whether the change was made is unknown; check before you try again"
_UNKNOWN: Final = ApiError(ErrorCode.REQUEST_TIMED_OUT, f"the cluster did not respond: {_CHECK}")
_NOT_VALIDATED: Final = ApiError(
    ErrorCode.REQUEST_TIMED_OUT, "the cluster did not respond; a dry run changes nothing; try again later"
)

Transmit = Callable[[Call[Any, Any, Results[Any, Any]]], Results[Any, Any]]
"""Executes a call with the identity of the changes' author."""


class SendResult(NamedTuple):
    """The results of requests: what the cluster refused, and what has no response."""

    refused: dict[Place, ApiError]
    unknown: set[Place]

    def add(self, other: SendResult) -> None:
        self.refused.update(other.refused)
        self.unknown.update(other.unknown)

    def forget(self, places: Iterable[Place]) -> None:
        for place in places:
            self.refused.pop(place, None)
            self.unknown.discard(place)

    def is_unknown(self, change: Change) -> bool:
        place, resource = places_of(change.resource, change.key)
        return place in self.unknown or (resource in self.unknown and place not in self.refused)


class _Kind(NamedTuple):
    """One kind of request: which changes it contains, how to create it, and the resource of each item.

    `place` is what the cluster accepts or refuses on its own, if that is not the resource. `node` is the broker that
    gets the change: changes for several brokers are several requests.
    """

    types: tuple[type, ...]
    call: Callable[[Sequence[Any], bool], Call[Any, Any, Results[Any, Any]]]
    resource: Callable[[Any], Resource]
    item: Callable[[Any], Any]
    can_validate: bool = True
    place: Callable[[Any], Place] | None = None
    node: Callable[[Any], int] = lambda _: ANY

    def place_of(self, change: Any) -> Place:
        return (self.place or self.resource)(change)


def _kind_of(change: RequestedChange) -> _Kind:
    return next(kind for kind in _KINDS if isinstance(change, kind.types))


def resource_of(change: RequestedChange) -> Resource:
    """The resource that a requested change is about."""
    return _kind_of(change).resource(change)


def place_of(change: RequestedChange) -> Place:
    """What the cluster accepts or refuses on its own."""
    return _kind_of(change).place_of(change)


def send(
    transmit: Transmit, callers: Iterable[Sequence[RequestedChange]], *, validate_only: bool = False
) -> SendResult:
    """Send the changes of several callers. No two may be about the same resource, except credentials and ACLs."""
    sent = SendResult({}, set())
    wanted = list(callers)
    for kind in _KINDS:
        of_kind = [[each for each in changes if isinstance(each, kind.types)] for changes in wanted]
        if kind.can_validate or not validate_only:
            for group in groups_of(filter(None, of_kind)):
                sent.add(_send_merged(transmit, kind, group, validate_only))
    return sent


def _send_merged(
    transmit: Transmit, kind: _Kind, group: Sequence[Sequence[RequestedChange]], validate_only: bool
) -> SendResult:
    sent = _send(transmit, kind, [change for changes in group for change in changes], validate_only)
    for merged in _by_node(kind, group) if sent.refused else ():
        places = {kind.place_of(change) for changes in merged for change in changes}
        failure = _failure_of_whole(sent, places)
        if len(merged) > 1 and failure is not None:
            sent.forget(places)
            for changes in merged:
                sent.add(_send_apart(transmit, kind, changes, failure, validate_only))
    return sent


def _by_node(kind: _Kind, group: Iterable[Sequence[RequestedChange]]) -> Iterable[list[list[RequestedChange]]]:
    """The changes of each caller that were in one request, by the broker that got it."""
    found: dict[int, list[list[RequestedChange]]] = {}
    for changes in group:
        of_caller: dict[int, list[RequestedChange]] = {}
        for each in changes:
            of_caller.setdefault(kind.node(each), []).append(each)
        for node, part in of_caller.items():
            found.setdefault(node, []).append(part)
    return found.values()


def _failure_of_whole(sent: SendResult, places: set[Place]) -> ApiError | None:
    """The error with which a request was refused as a whole, if any."""
    failures = {sent.refused.get(place) for place in places}
    failure = failures.pop()
    return failure if not failures and failure is not None and failure.code in _OF_WHOLE else None


def _send_apart(
    transmit: Transmit, kind: _Kind, changes: Sequence[RequestedChange], failure: ApiError, validate_only: bool
) -> SendResult:
    """Send the changes of one caller after `failure` of a merged request."""
    if validate_only or failure.code not in _UNCERTAIN:  # nothing was changed
        return _send(transmit, kind, changes, validate_only)
    if all(map(may_repeat, changes)):
        return _send_again(transmit, kind, changes, failure)
    places = set(map(kind.place_of, changes))
    return SendResult(dict.fromkeys(places, _possibly_made(failure)), places)


def _send_again(transmit: Transmit, kind: _Kind, changes: Sequence[RequestedChange], failure: ApiError) -> SendResult:
    """Send changes again that may have been made. They stay unknown unless the second request makes them, or shows
    that they cannot have been made.
    """
    sent = _send(transmit, kind, changes, validate_only=False)
    for change in changes:
        place = kind.place_of(change)
        refusal = None if place in sent.unknown else sent.refused.get(place)
        if refusal is not None and not is_refused_by_content(change, refusal.code):
            sent.refused[place] = _possibly_made(failure)
            sent.unknown.add(place)
    return sent


def _possibly_made(failure: ApiError) -> ApiError:
    return failure._replace(message="; ".join(filter(None, (failure.message, _CHECK))))


def _send(transmit: Transmit, kind: _Kind, changes: Sequence[Any], validate_only: bool) -> SendResult:
    """Send changes in one request, or one for each broker. An error is the result of these changes only."""
    by_item = {kind.item(each): kind.place_of(each) for each in changes}
    try:
        call = kind.call(changes, validate_only)
        call.forwarded, call.repeatable = True, validate_only
        failures = transmit(call).failures
    except Exception as error:  # also unexpected ones, which must not affect the changes of others
        failures = dict.fromkeys(by_item, _whole_failure(error))
    result = SendResult({}, set())
    for item, failure in failures.items():
        place = by_item[item]
        match failure:
            case Unsent():
                result.refused[place] = UNAVAILABLE
                continue
            case Unanswered():
                result.refused[place] = _NOT_VALIDATED if validate_only else _UNKNOWN
            case _:
                result.refused[place] = failure
        if not validate_only and result.refused[place].code in _UNCERTAIN:
            result.unknown.add(place)
    return result


def _whole_failure(error: Exception) -> ApiError:
    """The error for a request that failed as a whole. After an unexpected error, it may have been carried out."""
    is_expected = isinstance(error, KafkaError | LocalProtocolError)
    if not is_expected:
        is_bug = not isinstance(error, KconfError)
        log.error("a request to the cluster failed unexpectedly: %s", error, exc_info=error if is_bug else None)
    return failure_of(error, sent=getattr(error, "sent", not is_expected))


def _alter_configs(changes: Sequence[ResourceAlterations], validate_only: bool) -> Call[Any, Any, Any]:
    alterations = {each.resource: each.alterations for each in changes}
    return IncrementalAlterConfigs(alterations, validate_only=validate_only, has_units=False)


def _create_topics(changes: Sequence[NewTopic], validate_only: bool) -> Call[Any, Any, Any]:
    return CreateTopics(changes, timeout_ms=_timeout_ms(), validate_only=validate_only, has_units=False)


def _create_partitions(changes: Sequence[NewPartitions], validate_only: bool) -> Call[Any, Any, Any]:
    return CreatePartitions(
        {each.name: each.partitions for each in changes},
        timeout_ms=_timeout_ms(),
        assignments={each.name: each.assignment for each in changes if each.assignment is not None},
        validate_only=validate_only,
    )


def _delete_topics(changes: Sequence[DeletedTopic], _validate_only: bool) -> Call[Any, Any, Any]:
    return DeleteTopics([each.id for each in changes], timeout_ms=_timeout_ms())


def _alter_quotas(changes: Sequence[ClientQuotaAlteration], validate_only: bool) -> Call[Any, Any, Any]:
    alterations = {each.entity: {op.key: op.value for op in each.alterations} for each in changes}
    return AlterClientQuotas(alterations, validate_only=validate_only)


def _alter_scram(
    changes: Sequence[UserScramCredentialUpsertion | UserScramCredentialDeletion], _validate_only: bool
) -> Call[Any, Any, Any]:
    return AlterUserScramCredentials(changes)


def _create_acls(changes: Sequence[NewAcl], _validate_only: bool) -> Call[Any, Any, Any]:
    return CreateAcls([each.binding for each in changes])


def _delete_acls(changes: Sequence[DeletedAcl], _validate_only: bool) -> Call[Any, Any, Any]:
    return DeleteAcls([_exactly(each) for each in changes])


def _exactly(change: DeletedAcl) -> AclFilter:
    each = change.binding
    return AclFilter(
        each.resource_type, each.name, each.principal, each.operation, each.permission, each.pattern, each.host
    )


def _acl_resource(change: NewAcl | DeletedAcl) -> Resource:
    return pattern_of(change.binding).resource


def _acl_place(change: NewAcl | DeletedAcl) -> Place:
    return _acl_resource(change), key_of(change.binding)


def _timeout_ms() -> int:
    return int(TIMEOUT * 1000)


_KINDS: Final = (
    _Kind((DeletedTopic,), _delete_topics, lambda each: Resource.topic(each.name), lambda each: each.id, False),
    _Kind((NewTopic,), _create_topics, lambda each: Resource.topic(each.name), lambda each: each.name),
    _Kind((NewPartitions,), _create_partitions, lambda each: Resource.topic(each.name), lambda each: each.name),
    _Kind(
        (ResourceAlterations,),
        _alter_configs,
        lambda each: each.resource,
        lambda each: each.resource,
        node=lambda each: node_of(each.resource),
    ),
    _Kind((ClientQuotaAlteration,), _alter_quotas, lambda each: each.entity.resource, lambda each: each.entity),
    _Kind(
        (UserScramCredentialUpsertion, UserScramCredentialDeletion),
        _alter_scram,
        lambda each: user_resource(each.user),
        lambda each: each.user,
        False,
    ),
    _Kind((NewAcl,), _create_acls, _acl_resource, lambda each: each.binding, False, _acl_place),
    _Kind((DeletedAcl,), _delete_acls, _acl_resource, _exactly, False, _acl_place),
)
