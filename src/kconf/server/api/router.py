"""Routes a request: decodes it, calls the handler of the API, and encodes the response.

To add an API, add its message to protocol/messages, a handler to this package, and a line to `HANDLERS`. The handlers
of the most frequent requests are imported at the start, the others when the server is ready, or at their first request.
All exceptions are caught here: a request that cannot be decoded closes the connection. If a handler fails unexpectedly,
the error is logged, and the response is UNKNOWN_SERVER_ERROR without details (error_responses.py).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cached_property
from importlib import import_module
from logging import getLogger
from time import sleep
from types import CoroutineType
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from kconf.errors import LocalProtocolError, RemoteProtocolError
from kconf.model.journal import RequestContext
from kconf.protocol.apis import API_VERSIONS, APIS, LIST_CONFIG_CHANGES, Api
from kconf.protocol.codec.fields import fields_of
from kconf.protocol.codec.serde import decode_part, encode, encode_in_parts
from kconf.protocol.headers import HEAD, LENGTH, Header, ResponseTags, read_header, response
from kconf.protocol.messages.api_versions import ApiVersion
from kconf.server.api import api_versions, describe_configs, incremental_alter_configs, metadata
from kconf.server.api.data_plane.beside_brokers import Handler, unless_beside_brokers
from kconf.server.api.freshness import FreshnessGate
from kconf.server.connection_context import ConnectionContext
from kconf.server.context import ApiRequest, ServerContext
from kconf.server.error_responses import error_response
from kconf.server.request_handler import Response
from kconf.util.rate_limited_log import RateLimitedLogger
from kconf.util.slice_scheduler import is_sliced
from kconf.util.slices import discard

if TYPE_CHECKING:
    from kconf.server.api.relay import Relay

log = getLogger(__name__)
_too_long: Final = RateLimitedLogger(log)

Result = Any
"""What a handler returns: the response message or its encoded body as a list of parts, or a coroutine of either."""


class DeferredHandler:
    """A handler `module.function` of this package, imported by `import_deferred` or with its first request."""

    all: ClassVar[list[DeferredHandler]] = []

    def __init__(self, name: str) -> None:
        self.name: Final = name
        self.all.append(self)

    @cached_property
    def function(self) -> Handler:
        module, _, function = self.name.rpartition(".")
        return cast(Handler, getattr(import_module(f"kconf.server.api.{module}"), function))

    def __call__(self, context: ServerContext, request: Any, call: ApiRequest) -> Any:
        return self.function(context, request, call)


def import_deferred() -> None:
    """Import what a start leaves out: no request waits for it, and an upgrade on disk does not mix two versions."""
    is_reported = False
    while True:
        try:
            from kconf.server import control_plane_errors, data_plane_errors  # noqa: F401  (see error_responses.py)

            for each in DeferredHandler.all:
                _ = each.function
        except OSError as error:  # such as no file descriptor left
            if not is_reported:
                log.warning("cannot import a module of kconf; trying again every second: %s", error)
            is_reported = True
            sleep(1)
        except ImportError as error:
            log.error("cannot import a module of kconf: %s; if kconf was just upgraded, restart the server", error)
            return
        else:
            return


DATA_PLANE: Final[dict[int, Handler]] = {
    0: DeferredHandler("data_plane.messages.handle_produce"),
    1: DeferredHandler("data_plane.messages.handle_fetch"),
    2: DeferredHandler("data_plane.offsets.handle_list"),
    9: DeferredHandler("data_plane.group_offsets.handle_fetch"),
    10: DeferredHandler("data_plane.coordinators.handle"),
    15: DeferredHandler("data_plane.groups.handle_describe"),
    21: DeferredHandler("data_plane.offsets.handle_delete"),
    35: DeferredHandler("data_plane.log_dirs.handle"),
    41: DeferredHandler("data_plane.delegation_tokens.handle"),
    42: DeferredHandler("data_plane.groups.handle_delete"),
    43: DeferredHandler("data_plane.elections.handle"),
    45: DeferredHandler("data_plane.reassignments.handle_alter"),
    46: DeferredHandler("data_plane.reassignments.handle_list"),
    47: DeferredHandler("data_plane.group_offsets.handle_delete"),
    61: DeferredHandler("data_plane.transactions.handle_producers"),
    65: DeferredHandler("data_plane.transactions.handle_describe"),
    66: DeferredHandler("data_plane.transactions.handle_list"),
    69: DeferredHandler("data_plane.groups.handle_consumer_groups"),
}
"""APIs about messages, groups and replicas, for a cluster without messages."""

HANDLERS: Final[dict[int, Handler]] = {
    **{key: unless_beside_brokers(key, handler) for key, handler in DATA_PLANE.items()},
    3: metadata.handle,
    # Also with real brokers: tools that list groups with configs call it first.
    16: DeferredHandler("data_plane.groups.handle_list"),
    17: DeferredHandler("unexpected_sasl.handle_handshake"),
    API_VERSIONS: api_versions.handle,
    19: DeferredHandler("create_topics.handle"),
    20: DeferredHandler("delete_topics.handle"),
    29: DeferredHandler("acls.handle_describe"),
    30: DeferredHandler("acls.handle_create"),
    31: DeferredHandler("acls.handle_delete"),
    32: describe_configs.handle,
    33: DeferredHandler("alter_configs.handle"),
    36: DeferredHandler("unexpected_sasl.handle_authenticate"),
    37: DeferredHandler("create_partitions.handle"),
    44: incremental_alter_configs.handle,
    48: DeferredHandler("client_quotas.handle_describe"),
    49: DeferredHandler("client_quotas.handle_alter"),
    50: DeferredHandler("scram_credentials.handle_describe"),
    51: DeferredHandler("scram_credentials.handle_alter"),
    57: unless_beside_brokers(57, DeferredHandler("update_features.handle")),
    60: DeferredHandler("describe_cluster.handle"),
    74: DeferredHandler("list_config_resources.handle"),
    75: DeferredHandler("describe_topic_partitions.handle"),
    2100: DeferredHandler("kip21.handle_alter"),
    2101: DeferredHandler("kip21.handle_describe"),
    24800: DeferredHandler("kip248_quotas.handle_describe"),
    24801: DeferredHandler("kip248_quotas.handle_alter"),
    24802: DeferredHandler("list_config_entities.handle"),
    LIST_CONFIG_CHANGES: DeferredHandler("list_config_changes.handle"),
    30001: DeferredHandler("describe_configs_at.handle"),
    30002: DeferredHandler("list_attempts.handle"),
}

LARGE: Final = 4 << 10  # bytes; larger requests are processed in slices (util/slice_scheduler.py)
MANY: Final = 1000  # resources; longer lists are built and freed in slices
LISTS: Final = frozenset({3, 29, 43, 48, 50, 74, 75, 24802})
"""APIs for which a small request can have a large response."""

api_versions.SERVED.extend(ApiVersion(key, APIS[key].min, APIS[key].max) for key in sorted(HANDLERS))


class Router:
    """Calls the handler of a request."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._gate = FreshnessGate(context.service)
        self._handlers = HANDLERS
        self._relay: Relay | None = None
        if context.upstream is not None:
            from kconf.server.api import gateway, unknown_state  # imported here, since it doubles the import time
            from kconf.server.api.relay import Relay

            self._handlers = unknown_state.guarded(HANDLERS | gateway.HANDLERS)
            self._relay = Relay(context)

    def is_served(self, api_key: int, version: int) -> bool:
        """Whether this API key and version can be answered. ApiVersions can, in any version."""
        if api_key == API_VERSIONS:
            return True
        if self._relay is not None:
            return self._relay.may_serve(api_key, version)
        return api_key in HANDLERS and APIS[api_key].serves(version)

    def handle(
        self, connection: ConnectionContext, data: bytes, start: int, stop: int
    ) -> Response | Awaitable[Response]:
        frame = data[start:stop]
        key = HEAD.unpack_from(frame, 0)[0]
        if self._relay is not None and (relayed := self._relay.handle(connection, frame)) is not None:
            return relayed
        if len(frame) > LARGE and key != API_VERSIONS:  # also answered before authentication, and never waits
            return self._in_slices(connection, frame)
        if key in LISTS and self._context.upstream is None and self._has_much():
            # These handlers never wait.
            answer = cast(Callable[[], Response], lambda: self._answer(connection, frame))
            return self._context.scheduler.call(connection.principal, answer)
        return self._answer(connection, frame)

    def _has_much(self) -> bool:
        """Whether a list may be long. Starting work in slices takes 20 µs, so it is not done for short ones."""
        snapshot = self._context.service.state.snapshot
        return len(snapshot.topics) + len(snapshot.configs) > MANY

    async def _in_slices(self, connection: ConnectionContext, frame: bytes) -> Response:
        """Decode, handle and encode a large request without blocking others."""
        scheduler = self._context.scheduler
        async with scheduler.admitted(connection.principal, len(frame), connection.wait_for_turn) as leave:
            connection.long_poll.on_wait = leave
            return await scheduler.run(connection.principal, self._awaited(connection, frame))

    async def _awaited(self, connection: ConnectionContext, frame: bytes) -> Response:
        made = self._answer(connection, frame)
        return made if isinstance(made, tuple) else await made

    def _answer(self, connection: ConnectionContext, frame: bytes) -> Response | Awaitable[Response]:
        key, version, correlation = HEAD.unpack_from(frame, 0)
        api = APIS.get(key)
        if api is None or not api.serves(version) or key not in self._handlers:
            return _not_served(key, version, correlation)
        if self._relay is not None and not self._relay.serves(connection, key, version):
            return _not_served(key, version, correlation)
        context = self._context
        flexible = api.is_flexible(version)
        header = read_header(frame, flexible)
        request, end = decode_part(api.request, version, flexible, frame, header.body)
        context.counters.count_request(frame)
        context.quotas.record_client(connection.principal, header.client_id)
        call = _api_request(connection, api, header, len(frame) - end)
        dispatch = _Dispatch(api, header, request, context)
        handler = self._handlers[key]
        try:
            if self._gate.is_open(header):
                result = handler(context, request, call)
            else:
                result = self._gate.answer(api, header, request, lambda: handler(context, request, call))
            if type(result) is CoroutineType:
                return dispatch.later(result)
            return dispatch.respond(result)
        except Exception as error:
            return dispatch.failed(error)


def _not_served(key: int, version: int, correlation: int) -> Response:
    """The response to an unsupported version of ApiVersions. Any other request raises RemoteProtocolError."""
    if key != API_VERSIONS:
        raise RemoteProtocolError(f"API {key} version {version} is not supported")
    return _whole(response(APIS[key], 0, correlation, encode(api_versions.unsupported(), 0, False)))


def _api_request(connection: ConnectionContext, api: Api, header: Header, surplus: int) -> ApiRequest:
    return ApiRequest(
        header.version,
        RequestContext(connection.principal, header.client_id, connection.host, api.name, header.correlation),
        connection.advertised_host,
        connection.advertised_port,
        connection.authorize,
        connection.long_poll,
        connection.listener,
        surplus,
        connection,
    )


class _Dispatch:
    """One call of a handler. Converts its result or exception to the response."""

    __slots__ = ("_api", "_counters", "_header", "_request", "_service", "_was_stale")

    def __init__(self, api: Api, header: Header, request: Any, context: ServerContext) -> None:
        self._api, self._header, self._request = api, header, request
        self._counters, self._service = context.counters, context.service
        self._was_stale = header.required_revision >= 0 and self._service.is_stale

    async def later(self, result: Awaitable[Result]) -> Response:
        try:
            return self.respond(await result)
        except Exception as error:
            return self.failed(error)

    def failed(self, error: Exception) -> Response:
        """The response to a request whose handler failed. RemoteProtocolError is raised again.

        Raises LocalProtocolError if the request has a text that is too long for any response.
        """
        if isinstance(error, RemoteProtocolError):
            raise error
        facts = self._api.name, self._header.version
        if isinstance(error, LocalProtocolError):  # bytes that are not UTF-8 get longer when they are decoded
            _too_long.log("a text of a request is too long api=%s version=%d: %s", *facts, error)
        else:
            log.error("internal error in a request api=%s version=%d", *facts, exc_info=error)
        self._counters.failed_requests += 1
        return self.respond(error_response(self._api, self._request))

    def respond(self, result: Result) -> Response:
        api, version, correlation = self._api, self._header.version, self._header.correlation
        flexible = api.is_flexible(version)
        tags = b"\x00" if self._header.required_revision < 0 else self._tags()
        if type(result) is list:
            return _in_parts(result, correlation, tags if flexible else b"")
        if not is_sliced():
            return _whole(response(api, version, correlation, encode(result, version, flexible), tags))
        body = encode_in_parts(result, version, flexible)
        _discard(self._request)
        _discard(result)
        if len(body) > 1:
            return _in_parts(body, correlation, tags if flexible else b"")
        return _whole(response(api, version, correlation, b"".join(body), tags))

    def _tags(self) -> bytes:
        """kconf's tags in the response header, for clients that sent one in the request."""
        service = self._service
        return ResponseTags(service.state.snapshot.revision, self._was_stale or service.is_stale).encoded()


def _discard(message: Any) -> None:
    """Free a large message in slices: freeing 250,000 elements at once takes 100 ms. Short lists may be shared."""
    for field in fields_of(type(message)):
        value = getattr(message, field.name)
        if isinstance(value, list) and len(value) > MANY:
            discard(value)


def _whole(frame: bytes) -> Response:
    return len(frame), (frame,)


def _in_parts(body: list[bytes], correlation: int, tags: bytes) -> Response:
    length = 4 + len(tags) + sum(map(len, body))
    return length, (LENGTH.pack(length), LENGTH.pack(correlation), tags, *body)
