"""DescribeConfigs (32): any number of resources, answered from one snapshot.

Each entry is encoded once and cached. The entries of a resource are joined once per View and cached there, so that a
topic costs a few appends, and topics with the same overrides share their bytes (protocol/describe_configs_encoding.py).
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from kconf.engine.configs.alter import check_node
from kconf.engine.topics.names import name_problem
from kconf.errors import (
    ApiError,
    ErrorCode,
    GroupNotAuthorized,
    InvalidRequest,
    InvalidTopic,
    KafkaError,
    NotAuthorized,
    TopicNotAuthorized,
    UnknownTopic,
)
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.model.entry import View
from kconf.model.resource import Resource, ResourceType
from kconf.protocol.describe_configs_encoding import Form, response_parts, result_head, result_tail, success_head
from kconf.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kconf.server.api.encoded_entries import entry_bytes, tail_of
from kconf.server.context import ApiRequest, ServerContext
from kconf.service import State
from kconf.util.slices import in_slices
from kconf.util.visible_text import visible

_OF_BROKERS = (ResourceType.BROKER, ResourceType.BROKER_LOGGER)
_TYPES = {int(kind): kind for kind in ResourceType if kind is not ResourceType.UNKNOWN}
_SHOWN_CHARACTERS = 60


def handle(
    context: ServerContext, request: DescribeConfigsRequest, call: ApiRequest
) -> list[bytes] | Coroutine[Any, Any, list[bytes]]:
    """The encoded body of the response, in parts. A coroutine if brokers have to be queried."""
    form = Form(call.version, request.include_synonyms, request.include_documentation)
    state = context.service.state
    types = _TYPES if state.resolver.catalog.has_groups else _TYPES.keys() - {int(ResourceType.GROUP)}
    unknown = next((each for each in in_slices(request.resources) if each.resource_type not in types), None)
    if unknown is not None:
        # As in Kafka, one unknown type fails every resource of the request.
        failure = _refusal(unknown)
        failed = [_failed(form, each, failure) for each in in_slices(request.resources)]
        return response_parts(form, failed, state.snapshot.revision, stale=context.service.is_stale)
    description = _Description(context, state, form, call)
    wanted = _once(request.resources)
    if context.brokers.members.brokers and any(each.resource_type in _OF_BROKERS for each in wanted):
        return _ask_brokers(description, wanted, context)
    description.add(wanted)
    return description.parts()


def _refusal(unknown: DescribeConfigsResource) -> ApiError:
    """The error of all resources. The name is shortened, because every result contains the message."""
    name = unknown.resource_name
    shown = visible(name if len(name) <= _SHOWN_CHARACTERS else f"{name[:_SHOWN_CHARACTERS]}…")
    return ApiError(
        ErrorCode.INVALID_REQUEST,
        f"the whole request is refused: resource '{shown}' has type {unknown.resource_type}, which cannot be described",
    )


async def _ask_brokers(
    description: _Description, wanted: Sequence[DescribeConfigsResource], context: ServerContext
) -> list[bytes]:
    """Read static configs and loggers from the real brokers, then describe."""
    named = [(each.resource_type, context.brokers.find(each.resource_name)) for each in wanted]
    description.unknown_brokers = await context.brokers.load_static(
        {number for kind, number in named if kind == ResourceType.BROKER and number is not None}
    )
    for kind, number in named:
        if kind == ResourceType.BROKER_LOGGER and number is not None:
            description.levels[number] = await _levels(context, number)
    description.add(wanted)
    return description.parts()


async def _levels(context: ServerContext, number: int) -> View | KafkaError:
    try:
        return await context.brokers.describe_loggers(number)
    except KafkaError as error:
        return error


class _Description:
    """Builds a response from one state."""

    def __init__(self, context: ServerContext, state: State, form: Form, call: ApiRequest) -> None:
        self._context, self._state, self._form, self._call = context, state, form, call
        self._stale = context.service.is_stale
        unknown = context.service.store.unknown
        self._unknown = unknown if unknown.kinds or unknown.resources else None
        self._results: list[tuple[bytes, bytes]] = []
        self._refused: list[tuple[bytes, bytes]] = []  # these come last, as in Kafka
        self.levels: dict[int, View | KafkaError] = {}  # logger levels of real brokers
        self.unknown_brokers: Mapping[int, ApiError] = {}  # brokers that cannot be asked

    def add(self, wanted: Sequence[DescribeConfigsResource]) -> None:
        for each in in_slices(wanted):
            try:
                self._results.append(self._described(each))
            except NotAuthorized as error:
                self._refused.append(_failed(self._form, each, error.failure()))
            except KafkaError as error:
                self._results.append(_failed(self._form, each, error.failure()))

    def _described(self, wanted: DescribeConfigsResource) -> tuple[bytes, bytes]:
        resource = Resource(_TYPES[wanted.resource_type], wanted.resource_name)
        _authorize(resource, self._call)
        if self._unknown is not None and (failure := self._unknown.of(resource)) is not None:
            raise failure.error()
        view = self._view(resource)
        head = success_head(self._form, resource.type, resource.name)
        names = wanted.configuration_keys
        if resource.type == ResourceType.CLIENT_METRICS and not self._state.resolver.catalog.client_metrics_defaults:
            names = None  # these releases ignore them
        return head, _encoded_entries(view, names, self._form)

    def _view(self, resource: Resource) -> View:
        """The View of a resource: of this server, or of the broker that it answers for."""
        if resource.type in _OF_BROKERS:
            if self._call.node is not None:  # a gateway answers for the addressed broker
                check_node(resource.name, self._call.node, "", empty=resource.type == ResourceType.BROKER)
            number = self._context.brokers.find(resource.name)
            if number is not None and resource.type == ResourceType.BROKER:
                if number in self.unknown_brokers:
                    raise self.unknown_brokers[number].error()
                return self._context.brokers.resolver(self._state, number).broker()
            if number is not None and number in self.levels:
                levels = self.levels[number]
                if isinstance(levels, KafkaError):
                    raise levels
                return levels
        return _view(self._context, self._state, resource)

    def parts(self) -> list[bytes]:
        results = [*self._results, *self._refused]
        return response_parts(self._form, results, self._state.snapshot.revision, stale=self._stale)


def _once(resources: Sequence[DescribeConfigsResource]) -> Sequence[DescribeConfigsResource]:
    """Remove repeated resources, since clients refuse a response that contains a resource twice."""
    if len(resources) == 1:
        return resources
    first: dict[tuple[int, str], DescribeConfigsResource] = {}
    for each in in_slices(resources):
        first.setdefault((each.resource_type, each.resource_name), each)
    return list(first.values())


def _failed(form: Form, wanted: DescribeConfigsResource, failure: ApiError) -> tuple[bytes, bytes]:
    head = result_head(form, failure.code, failure.message, wanted.resource_type, wanted.resource_name)
    return head, result_tail(form, ())


def _authorize(resource: Resource, call: ApiRequest) -> None:
    match resource.type:
        case ResourceType.TOPIC:
            if not call.authorize(Operation.DESCRIBE_CONFIGS, AclType.TOPIC, resource.name):
                raise TopicNotAuthorized(TopicNotAuthorized.stock)
        case ResourceType.GROUP:
            if not call.authorize(Operation.DESCRIBE_CONFIGS, AclType.GROUP, resource.name):
                raise GroupNotAuthorized(GroupNotAuthorized.stock)
        case _:
            if not call.authorize(Operation.DESCRIBE_CONFIGS, AclType.CLUSTER, CLUSTER_NAME):
                raise NotAuthorized(NotAuthorized.stock)


def _view(context: ServerContext, state: State, resource: Resource) -> View:
    kind, name = resource
    resolver = state.resolver
    if kind == ResourceType.TOPIC:
        if name not in state.snapshot.topics:
            problem = name_problem(name)
            raise UnknownTopic("") if problem is None else InvalidTopic(problem)
        return resolver.topic(state.snapshot.overrides(resource))
    if kind == ResourceType.BROKER:
        check_node(name, context.broker_id, "or be empty for all brokers", empty=True)
        return resolver.broker() if name else resolver.brokers()
    if kind == ResourceType.BROKER_LOGGER:
        check_node(name, context.broker_id, "")
        return context.loggers.describe()
    if not name:
        raise InvalidRequest(f"a {kind.word} needs a name")
    if kind == ResourceType.CLIENT_METRICS:
        return resolver.client_metrics(state.snapshot.overrides(resource))
    return resolver.group(state.snapshot.overrides(resource))


def _encoded_entries(view: View, names: Sequence[str] | None, form: Form) -> bytes:
    if names:
        wanted = frozenset(in_slices(names))
        return result_tail(form, [entry_bytes(entry, form) for entry in view.entries if entry.name in wanted])
    return tail_of(view, form)
