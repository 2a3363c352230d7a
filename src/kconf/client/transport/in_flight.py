"""The requests of one connection that were sent and not answered yet. Does no I/O."""

from __future__ import annotations

import struct
from collections import deque
from typing import Any, Generic, NamedTuple, TypeVar

from kconf.client.calls.base import Call, CallResult, NodeVersions
from kconf.client.transport.requests import NodeRequest
from kconf.client.transport.revisions import ClientRevision, ConnectionRevision
from kconf.client.transport.versions import choose_version
from kconf.errors import RemoteProtocolError
from kconf.protocol.codec.varint import Malformed
from kconf.protocol.headers import LENGTH, ResponseTags, read_response_tags, request, response_has_tags

H = TypeVar("H")

_LAST_OF_HANDSHAKE = 2  # correlation ids up to here are for handshake.py


class InFlightRequest(NamedTuple, Generic[H]):
    correlation: int
    call: Call[Any, Any, Any]
    version: int
    request: NodeRequest
    handle: H


class InFlightRequests(Generic[H]):
    """Requests in the order of sending, which is the order of responses. A `handle` identifies the caller."""

    def __init__(self, node: NodeVersions, client_id: str, revision: ClientRevision) -> None:
        self.node = node
        self._revision = ConnectionRevision(revision)
        self._client_id = client_id
        self._correlation = _LAST_OF_HANDSHAKE
        self.waiting: deque[InFlightRequest[H]] = deque()

    def add(self, node_request: NodeRequest, handle: H) -> bytes:
        """Add a request. Returns its frame."""
        call, version = choose_version(self.node, node_request.call)
        message = call.write(self.node, version, node_request.items)
        self._correlation = self._correlation + 1 & 0x7FFFFFFF
        required = self._revision.required_by(call, self.node)
        frame = request(call.api, version, self._correlation, self._client_id, message, required_revision=required)
        self.waiting.append(InFlightRequest(self._correlation, call, version, node_request, handle))
        return frame

    def complete(self, frame: bytes) -> tuple[H, CallResult]:
        """Process a response. Returns the handle and the result of its request."""
        if not self.waiting:
            raise RemoteProtocolError(f"{self.node.name} sent a response without a request")
        oldest = self.waiting[0]
        call, version = oldest.call, oldest.version
        try:
            (correlation,) = LENGTH.unpack_from(frame)
            tags, start = read_response_tags(frame, 4) if response_has_tags(call.api, version) else (ResponseTags(), 4)
        except (struct.error, IndexError, Malformed):
            raise RemoteProtocolError(f"the header of a {call.name} response is truncated") from None
        if correlation != oldest.correlation:
            raise RemoteProtocolError(
                f"{self.node.name} sent a response to request {correlation} instead of {oldest.correlation}"
            )
        result = call.read(version, frame, start, oldest.request.items)
        self.waiting.popleft()
        self._revision.answered(call, tags.revision)
        return oldest.handle, result
