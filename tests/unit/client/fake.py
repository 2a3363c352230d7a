"""A scripted broker: it sends the responses that a test defines, in any range of versions, or none."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Self

from kconf.protocol.apis import API_VERSIONS, APIS, BY_NAME
from kconf.protocol.codec.serde import decode, encode
from kconf.protocol.headers import HEAD, read_header, response
from kconf.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kconf.protocol.messages.describe_configs import (
    DescribeConfigsEntry,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kconf.protocol.messages.describe_quorum import DescribeQuorumResponse
from kconf.protocol.messages.metadata import MetadataBroker, MetadataResponse

Handler = Callable[[Any, int], Any]
"""From a request and its version to a body; bytes are sent as they are, CLOSE and SILENCE are what they say."""

CLOSE, SILENCE = object(), object()
KAFKA_43 = {key: (api.min, api.max) for key, api in APIS.items() if key < 1000}
KAFKA_20 = {3: (0, 6), 16: (0, 2), 17: (0, 1), 18: (0, 2), 19: (0, 3), 20: (0, 3), 29: (0, 1), 30: (0, 1)} | {
    31: (0, 1),
    32: (0, 2),
    33: (0, 1),
    36: (0, 0),
    37: (0, 1),
}


class FakeBroker:
    """Listens on loopback inside a `with` block. `asked` has every request but ApiVersions, as (name, version)."""

    def __init__(self, versions: Mapping[int, tuple[int, int]] = KAFKA_43, node_id: int = 1) -> None:
        self.versions, self.node_id = dict(versions), node_id
        self.asked: list[tuple[str, int]] = []
        self.requests: list[Any] = []
        self.connections = 0
        self.delay = 0.0
        self.controller = node_id
        self.brokers: list[FakeBroker] = [self]
        self.handlers: dict[str, Handler] = {
            "Metadata": self._metadata,
            "DescribeConfigs": described,
            "DescribeQuorum": lambda *_: DescribeQuorumResponse(31),  # CLUSTER_AUTHORIZATION_FAILED
        }
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.port = self._socket.getsockname()[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self.hang_up()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def hang_up(self) -> None:
        """Close every connection, as a broker does with idle connections."""
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._open.clear()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self.connections += 1
                self._open.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError), connection.makefile("rb") as stream:
            while len(head := stream.read(4)) == 4:
                said = self._answer(stream.read(int.from_bytes(head, "big")))
                if said is CLOSE:
                    return
                if said is not SILENCE:
                    connection.sendall(said)

    def _answer(self, frame: bytes) -> Any:
        key, version, correlation = HEAD.unpack_from(frame, 0)
        api = APIS[key]
        if key == API_VERSIONS:
            return response(api, version, correlation, self._api_versions(version))
        low, high = self.versions.get(key, (1, 0))
        if not low <= version <= high:
            return CLOSE
        flexible = api.is_flexible(version)
        asked = decode(api.request, version, flexible, frame, read_header(frame, flexible).body)
        self.asked.append((api.name, version))
        self.requests.append(asked)
        time.sleep(self.delay)
        body = self.handlers[api.name](asked, version)
        if body is CLOSE or body is SILENCE:
            return body
        data = body if isinstance(body, bytes) else encode(body, version, flexible)
        return response(api, version, correlation, data)

    def _api_versions(self, version: int) -> bytes:
        low, high = self.versions[API_VERSIONS]
        if not low <= version <= high:
            # Before 2.4 the list is empty; later it names the versions of this API.
            known = [ApiVersion(API_VERSIONS, low, high)] if high >= 3 else []
            return encode(ApiVersionsResponse(35, known), 0, False)
        rows = [ApiVersion(key, *each) for key, each in self.versions.items()]
        return encode(ApiVersionsResponse(0, rows), version, BY_NAME["ApiVersions"].is_flexible(version))

    def _metadata(self, asked: Any, version: int) -> MetadataResponse:
        brokers = [MetadataBroker(each.node_id, "127.0.0.1", each.port) for each in self.brokers]
        return MetadataResponse(0, brokers, "fake", self.controller)


def described(asked: Any, version: int) -> DescribeConfigsResponse:
    """A describe response in which every resource has one key."""
    entries = [DescribeConfigsEntry("retention.ms", "5", False, config_source=1)]
    return DescribeConfigsResponse(
        0, [DescribeConfigsResult(0, None, each.resource_type, each.resource_name, entries) for each in asked.resources]
    )
