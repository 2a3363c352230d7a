"""From a frame to its answer: find the handler, read the request, call it, write the answer.

The one place that catches everything: a request that cannot be read closes the line; one whose handler fails inside is
logged and answered by UNKNOWN_SERVER_ERROR without detail (failures.py).
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from logging import getLogger
from typing import Any, Final

from kconf.errors import RemoteProtocolError
from kconf.model.acl import Authorize, allow_all
from kconf.model.journal import RequestContext
from kconf.protocol.apis import API_VERSIONS, APIS, LIST_CONFIG_CHANGES, Api
from kconf.protocol.codec.serde import decode, encode
from kconf.protocol.headers import HEAD, LENGTH, Header, read_header, response
from kconf.protocol.messages.api_versions import ApiVersion
from kconf.server.api import (
    acls,
    alter_configs,
    api_versions,
    client_quotas,
    describe_configs,
    describe_configs_at,
    describe_topic_partitions,
    kip21,
    list_config_changes,
    list_config_entities,
    metadata,
    topics,
)
from kconf.server.api import kip248_quotas as quotas_248
from kconf.server.api import list_config_resources as listings
from kconf.server.api import sasl as logins
from kconf.server.api import scram_credentials as credentials
from kconf.server.api.error_responses import failed
from kconf.server.context import ApiRequest, ServerContext
from kconf.server.counters import Counters
from kconf.server.journal.change_feed import LongPollTimer

log = getLogger(__name__)

DESCRIBE_CONFIGS: Final = 32

HANDLERS: Final[dict[int, Callable[[ServerContext, Any, ApiRequest], Any]]] = {
    3: metadata.handle,
    16: listings.handle_groups,
    17: logins.handle_handshake,
    API_VERSIONS: api_versions.handle,
    19: topics.handle_create,
    20: topics.handle_delete,
    29: acls.handle_describe,
    30: acls.handle_create,
    31: acls.handle_delete,
    DESCRIBE_CONFIGS: describe_configs.handle,
    33: alter_configs.handle_replace,
    36: logins.handle_authenticate,
    37: topics.handle_grow,
    44: alter_configs.handle_incremental,
    48: client_quotas.handle_describe,
    49: client_quotas.handle_alter,
    50: credentials.handle_describe,
    51: credentials.handle_alter,
    60: metadata.handle_cluster,
    74: listings.handle,
    75: describe_topic_partitions.handle,
    2100: kip21.handle_alter,
    2101: kip21.handle_describe,
    24800: quotas_248.handle_describe,
    24801: quotas_248.handle_alter,
    24802: list_config_entities.handle,
    LIST_CONFIG_CHANGES: list_config_changes.handle,
    30001: describe_configs_at.handle,
    30002: list_config_changes.handle_attempts,
}

api_versions.SERVED.extend(ApiVersion(key, APIS[key].min, APIS[key].max) for key in sorted(HANDLERS))


class ConnectionContext:
    """Whom a connection talks to, as far as handlers care."""

    __slots__ = (
        "advertised_host",
        "advertised_port",
        "authorize",
        "host",
        "listener",
        "mute_ms",
        "patience",
        "principal",
    )

    def __init__(self, host: str, advertised_host: str, advertised_port: int, listener: str = "PLAINTEXT") -> None:
        self.principal = "User:ANONYMOUS"
        self.authorize: Authorize = allow_all
        self.host = host
        self.advertised_host = advertised_host
        self.advertised_port = advertised_port
        self.listener = listener
        self.patience = LongPollTimer()
        self.mute_ms = 0  # once answered, it is not listened to for so long (throttling.py)


def is_served(key: int, version: int) -> bool:
    """Whether a frame with this head can be answered at all. ApiVersions is, in any version."""
    return key == API_VERSIONS or (key in HANDLERS and APIS[key].serves(version))


Response = bytes | list[bytes]
PendingResponse = Response | Awaitable[Response]
"""An answer: whole, in parts that others may share, or promised."""


def answer(context: ServerContext, statistics: Counters, peer: ConnectionContext, frame: bytes) -> PendingResponse:
    """The answer to a frame. Raises RemoteProtocolError, now or from the promise, when the line must be closed."""
    key, version, correlation = HEAD.unpack_from(frame, 0)
    api = APIS.get(key)
    if api is None or key not in HANDLERS:
        raise RemoteProtocolError(f"there is no API {key} here")
    if not api.serves(version):
        if key != API_VERSIONS:
            raise RemoteProtocolError(f"{api.name} has no version {version} here")
        return response(api, 0, correlation, encode(api_versions.unsupported(), 0, False))
    flexible = api.is_flexible(version)
    header = read_header(frame, flexible)
    request = decode(api.request, version, flexible, frame, header.body)
    statistics.count(frame)
    context.quotas.saw(peer.principal, header.client_id)
    caller = RequestContext(peer.principal, header.client_id, peer.host, api.name, correlation)
    address = (peer.advertised_host, peer.advertised_port)
    call = ApiRequest(version, caller, *address, peer.authorize, peer.patience, peer.listener)
    try:
        if key == DESCRIBE_CONFIGS:
            return _describe(context, request, call, header, statistics)
        result = HANDLERS[key](context, request, call)
        if inspect.iscoroutine(result):
            return _later(api, header, request, result, statistics)
        return _said(api, header, result)
    except RemoteProtocolError:
        raise
    except Exception:
        return _failed(api, header, request, statistics)


async def _later(api: Api, header: Header, request: Any, result: Awaitable[Any], statistics: Counters) -> bytes:
    try:
        return _said(api, header, await result)
    except RemoteProtocolError:
        raise
    except Exception:
        return _failed(api, header, request, statistics)


def _said(api: Api, header: Header, result: Any) -> bytes:
    version = header.version
    return response(api, version, header.correlation, encode(result, version, api.is_flexible(version)))


def _failed(api: Api, header: Header, request: Any, statistics: Counters) -> bytes:
    log.exception("a request failed inside api=%s version=%d", api.name, header.version)
    statistics.failures += 1
    return _said(api, header, failed(api, request))


def _describe(
    context: ServerContext, request: Any, call: ApiRequest, header: Header, statistics: Counters
) -> PendingResponse:
    """A description stays in parts, which others may share."""
    made = describe_configs.handle(context, request, call)
    if isinstance(made, list):
        return _framed(made, header)
    return _describe_later(made, request, header, statistics)


async def _describe_later(
    promise: Awaitable[list[bytes]], request: Any, header: Header, statistics: Counters
) -> bytes | list[bytes]:
    try:
        return _framed(await promise, header)
    except Exception:
        return _failed(APIS[DESCRIBE_CONFIGS], header, request, statistics)


def _framed(parts: list[bytes], header: Header) -> list[bytes]:
    head = [b"\x00"] if header.version >= APIS[DESCRIBE_CONFIGS].flexible else []
    length = 4 + len(head) + sum(map(len, parts))
    return [LENGTH.pack(length), LENGTH.pack(header.correlation), *head, *parts]
