"""DescribeConfigs: any number of resources, answered from one snapshot.

The bytes of an entry are made once and live with it; a resource's entries are joined once per View and live with that,
so that a topic costs a few appends, and topics with the same overrides share their bytes (wire/describe_configs.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.engine.alter import check_node
from kconf.engine.names import name_problem
from kconf.errors import (
    ErrorCode,
    Failure,
    GroupNotAuthorized,
    InvalidRequest,
    InvalidTopic,
    KafkaError,
    NotAuthorized,
    TopicNotAuthorized,
    UnknownTopic,
)
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.model.entry import Entry, View
from kconf.model.resource import Resource, ResourceType
from kconf.server.context import Call, Context
from kconf.service import State
from kconf.wire.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    Form,
    encode_entry,
    response_parts,
    result_head,
    result_tail,
)

_TYPES = frozenset(kind for kind in ResourceType if kind is not ResourceType.UNKNOWN)


def handle(context: Context, request: DescribeConfigsRequest, call: Call) -> list[bytes]:
    """The answer's body, in parts."""
    form = Form(call.version, request.include_synonyms, request.include_documentation)
    state = context.service.state
    if any(each.resource_type not in _TYPES for each in request.resources):
        # As in Kafka: one unknown type fails every resource of the request.
        failure = Failure(ErrorCode.INVALID_REQUEST, "a resource of this request has a type that cannot be described")
        return response_parts(
            form, [_failed(form, each, failure) for each in request.resources], state.snapshot.revision
        )
    results: list[tuple[bytes, bytes]] = []
    refused: list[tuple[bytes, bytes]] = []  # these come last, as in Kafka
    for each in _once(request.resources):
        try:
            results.append(_described(context, state, each, form, call))
        except NotAuthorized as error:
            refused.append(_failed(form, each, error.failure()))
        except KafkaError as error:
            results.append(_failed(form, each, error.failure()))
    return response_parts(form, [*results, *refused], state.snapshot.revision)


def _once(resources: Sequence[DescribeConfigsResource]) -> Sequence[DescribeConfigsResource]:
    """Clients refuse an answer that speaks of a resource twice, so a repeated one is answered once."""
    if len(resources) == 1:
        return resources
    first: dict[tuple[int, str], DescribeConfigsResource] = {}
    for each in resources:
        first.setdefault((each.resource_type, each.resource_name), each)
    return list(first.values())


def _described(
    context: Context, state: State, wanted: DescribeConfigsResource, form: Form, call: Call
) -> tuple[bytes, bytes]:
    resource = Resource(ResourceType(wanted.resource_type), wanted.resource_name)
    _authorise(resource, call)
    view = _view(context, state, resource)
    return result_head(form, 0, "", resource.type, resource.name), _tail(view, wanted.configuration_keys, form)


def _failed(form: Form, wanted: DescribeConfigsResource, failure: Failure) -> tuple[bytes, bytes]:
    head = result_head(form, failure.code, failure.message, wanted.resource_type, wanted.resource_name)
    return head, result_tail(form, ())


def _authorise(resource: Resource, call: Call) -> None:
    match resource.type:
        case ResourceType.TOPIC:
            if not call.authorise(Operation.DESCRIBE_CONFIGS, AclType.TOPIC, resource.name):
                raise TopicNotAuthorized(TopicNotAuthorized.stock)
        case ResourceType.GROUP:
            if not call.authorise(Operation.DESCRIBE_CONFIGS, AclType.GROUP, resource.name):
                raise GroupNotAuthorized(GroupNotAuthorized.stock)
        case _:
            if not call.authorise(Operation.DESCRIBE_CONFIGS, AclType.CLUSTER, CLUSTER_NAME):
                raise NotAuthorized(NotAuthorized.stock)


def _view(context: Context, state: State, resource: Resource) -> View:
    kind, name = resource
    ladder = state.ladder
    if kind == ResourceType.TOPIC:
        if name not in state.snapshot.topics:
            problem = name_problem(name)
            raise UnknownTopic("") if problem is None else InvalidTopic(problem)
        return ladder.topic(state.snapshot.overrides(resource))
    if kind == ResourceType.BROKER:
        check_node(name, context.node_id, "or be empty for all brokers", empty=True)
        return ladder.broker() if name else ladder.brokers()
    if kind == ResourceType.BROKER_LOGGER:
        check_node(name, context.node_id, "")
        return context.loggers.describe()
    if not name:
        raise InvalidRequest(f"a {kind.word} needs a name")
    if kind == ResourceType.CLIENT_METRICS:
        return ladder.client_metrics(state.snapshot.overrides(resource))
    return ladder.group(state.snapshot.overrides(resource))


def _tail(view: View, names: Sequence[str] | None, form: Form) -> bytes:
    if names:
        wanted = frozenset(names)
        return result_tail(form, [_entry(entry, form) for entry in view.entries if entry.name in wanted])
    return tail_of(view, form)


def tail_of(view: View, form: Form) -> bytes:
    """All entries of a View, joined; made once."""
    tail: bytes | None = view.memo.get(form)
    if tail is None:
        tail = view.memo[form] = result_tail(form, [_entry(entry, form) for entry in view.entries])
    return tail


def _entry(entry: Entry, form: Form) -> bytes:
    known: bytes | None = entry.memo.get(form)
    if known is None:
        known = entry.memo[form] = encode_entry(
            form,
            entry.name,
            entry.value,
            read_only=entry.read_only,
            source=entry.source,
            sensitive=entry.sensitive,
            synonyms=entry.synonyms,
            value_type=entry.type,
            documentation=entry.documentation,
        )
    return known
