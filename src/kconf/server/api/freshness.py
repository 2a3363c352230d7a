"""Delays a request until this server has reached the required revision, and refuses stale reads.

A client that changed something on one server may read from another one, which applies the change a moment later. Such a
request has the required revision in a header tag and waits here for it, at most `read.revision.max.wait.ms`. With
`refuse.stale.reads`, requests fail while changes by other servers may be missing. In both cases the error is
REQUEST_TIMED_OUT, which clients retry. It is also the error for a revision that is recognized as one of another store.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final

from kconf.configdef.server_settings import READ_REVISION_MAX_WAIT, REFUSE_STALE_READS, flag_setting, int_setting
from kconf.errors import ErrorCode, RemoteProtocolError
from kconf.model.journal import Revision
from kconf.protocol.apis import Api
from kconf.protocol.headers import Header
from kconf.server.error_responses import error_response
from kconf.service import Service

_ABOUT_THE_CONNECTION: Final = frozenset({17, 18, 36})  # SaslHandshake, ApiVersions, SaslAuthenticate
_METADATA, _WITH_ERROR_CODE = 3, 13


class FreshnessGate:
    """Used from the event loop only."""

    def __init__(self, service: Service) -> None:
        static = service.settings.static
        self._service = service
        self._max_wait = int_setting(static, READ_REVISION_MAX_WAIT) / 1000
        self._refuses_stale = service.store.can_be_stale and flag_setting(static, REFUSE_STALE_READS)
        self._first = service.store.first_revision
        self._waiting: dict[asyncio.Future[None], int] = {}
        service.subscribe(self._committed)

    def is_open(self, header: Header) -> bool:
        """Whether a request can be answered immediately."""
        required = header.required_revision
        if required > self._service.state.snapshot.revision or 0 < required < self._first or self._refuses_stale:
            return header.api_key in _ABOUT_THE_CONNECTION or self._can_answer(header)
        return True

    def _can_answer(self, header: Header) -> bool:
        required = header.required_revision
        reached = required <= self._service.state.snapshot.revision and not 0 < required < self._first
        return reached and not (self._refuses_stale and self._service.is_stale)

    async def answer(self, api: Api, header: Header, request: Any, handler: Callable[[], Any]) -> Any:
        """Wait for the required revision and call the handler, or return an error response."""
        if header.required_revision > self._service.state.snapshot.revision:
            await self._wait(header.required_revision)
        if not self._can_answer(header):
            return _refusal(api, header, request)
        result = handler()
        return await result if inspect.iscoroutine(result) else result

    async def _wait(self, revision: int) -> None:
        reached = asyncio.get_running_loop().create_future()
        self._waiting[reached] = revision
        try:
            await asyncio.wait((reached,), timeout=self._max_wait)
        finally:
            del self._waiting[reached]

    def _committed(self, revisions: Sequence[Revision]) -> None:
        current = self._service.state.snapshot.revision
        for future, revision in self._waiting.items():
            if revision <= current and not future.done():
                future.set_result(None)


def _refusal(api: Api, header: Header, request: Any) -> Any:
    """The error response.

    If the API has no error code, an empty response would be wrong, so the connection is closed.
    """
    is_metadata = header.api_key == _METADATA and header.version < _WITH_ERROR_CODE
    if is_metadata or (api.name == "DescribeTopicPartitions" and not request.topics):
        raise RemoteProtocolError(f"{api.name} cannot be answered now: changes by other servers may be missing")
    return error_response(api, request, ErrorCode.REQUEST_TIMED_OUT)
