"""One of the two servers: a blocking connection, and its topic IDs."""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from typing import Any

from kconf.protocol.codec.fields import Struct
from kconf.protocol.headers import read_response, request
from kconf.protocol.messages.create_topics import CreateTopicsResponse
from kconf.protocol.messages.metadata import NO_UUID, MetadataResponse
from tests.conformance.differential.ask import Ask, Ending, Outcome, id_of, with_ids


class Side:
    """Sends requests to one server. A connection that was closed or timed out is replaced before the next request."""

    def __init__(self, name: str, host: str, port: int) -> None:
        self.name = name
        self.address = host, port
        self.ids: dict[bytes, bytes] = {}  # stand-in -> id
        self.topics: dict[bytes, str] = {}  # id -> topic
        self._line: socket.socket | None = None
        self._correlation = 0

    @property
    def bootstrap(self) -> str:
        return f"{self.address[0]}:{self.address[1]}"

    def close(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            with suppress(OSError):
                line.close()

    def ask(self, ask: Ask) -> Outcome:
        self._correlation += 1
        message = with_ids(ask.message, self.ids)
        frame = request(ask.api, ask.version, self._correlation, ask.client_id, message)
        if ask.surplus or ask.missing:
            body = frame[4 : len(frame) - ask.missing] + ask.surplus
            frame = struct.pack(">i", len(body)) + body
        outcome = self._exchange(frame, ask)
        if isinstance(outcome, Struct):
            self._learn(ask, outcome)
        return outcome

    def send(self, frame: bytes, patience: float = 5.0) -> bytes | Ending:
        """Send raw bytes including the length; returns the response."""
        try:
            if self._line is None:
                self._line = socket.create_connection(self.address, timeout=60)
            self._line.settimeout(patience)
            self._line.sendall(frame)
            (size,) = struct.unpack(">i", self._read(4))
            return self._read(size)
        except TimeoutError:
            self.close()
            return Ending.SILENT
        except OSError:
            self.close()
            return Ending.CLOSED

    def _exchange(self, frame: bytes, ask: Ask) -> Outcome:
        answer = self.send(frame, ask.patience)
        if isinstance(answer, Ending):
            return answer
        # Only ApiVersions gets a response to an unsupported version, in version 0.
        version = ask.version if ask.api.serves(ask.version) else 0
        correlation, body = read_response(ask.api, version, answer)
        assert correlation == self._correlation, f"{self.name} answered another request"
        assert isinstance(body, Struct)
        return body

    def _read(self, size: int) -> bytes:
        assert self._line is not None
        data = bytearray()
        while len(data) < size:
            part = self._line.recv(size - len(data))
            if not part:
                raise ConnectionError("closed")
            data += part
        return bytes(data)

    def _learn(self, ask: Ask, answer: Any) -> None:
        """Store topic IDs by name, so that responses can be compared and topics requested by ID."""
        if isinstance(answer, (CreateTopicsResponse, MetadataResponse)) and not getattr(
            ask.message, "validate_only", False
        ):
            for topic in answer.topics:
                if topic.topic_id != NO_UUID and topic.error_code == 0 and topic.name is not None:
                    self.ids[id_of(topic.name)] = topic.topic_id
                    self.topics[topic.topic_id] = topic.name
