"""Holds a request back until this server has reached the revision that it names, and refuses what would be stale.

A client that has an acknowledgement from one server may ask another one, which applies the change a moment later. The
request names the revision then (a tag of its header), and waits here for it, but not longer than
`read.revision.max.wait.ms`. With `refuse.stale.reads`, nothing is answered while changes of other servers may be
missing. Both are answered with REQUEST_TIMED_OUT, which clients retry.
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
        self._refuses_stale = service.can_be_stale and flag_setting(static, REFUSE_STALE_READS)
        self._waiting: dict[asyncio.Future[None], int] = {}
        service.subscribe(self._committed)

    def is_open(self, header: Header) -> bool:
        """Whether a request can be answered at once."""
        if header.required_revision > self._service.state.snapshot.revision or self._refuses_stale:
            return header.api_key in _ABOUT_THE_CONNECTION or self._can_answer(header)
        return True

    def _can_answer(self, header: Header) -> bool:
        reached = header.required_revision <= self._service.state.snapshot.revision
        return reached and not (self._refuses_stale and self._service.is_stale)

    async def answer(self, api: Api, header: Header, request: Any, handler: Callable[[], Any]) -> Any:
        """What the handler answers as soon as it may, or a refusal."""
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
    """A response without an error code would mean that there is nothing: the connection is closed instead."""
    is_metadata = header.api_key == _METADATA and header.version < _WITH_ERROR_CODE
    if is_metadata or (api.name == "DescribeTopicPartitions" and not request.topics):
        raise RemoteProtocolError(f"{api.name} cannot be answered now: changes of other servers may be missing")
    return error_response(api, request, ErrorCode.REQUEST_TIMED_OUT)
