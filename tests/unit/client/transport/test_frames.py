"""Splitting a byte stream into frames, and recognizing peers that are not Kafka."""

from __future__ import annotations

import pytest

from kconf.client.transport.frames import FrameReader
from kconf.errors import RemoteProtocolError


def test_frames_are_complete_for_any_split_of_the_stream() -> None:
    bodies = [b"abcd", b"x" * 300, b"last"]
    stream = b"".join(len(each).to_bytes(4, "big") + each for each in bodies)

    for size in range(1, len(stream) + 1):
        frames = FrameReader(1000)
        found = [each for at in range(0, len(stream), size) for each in frames.feed(stream[at : at + size])]
        assert found == bodies


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\x15\x03\x03\x00\x02\x02\x46", "uses TLS"),
        (b"HTTP/1.1 400", "this is an HTTP server"),
        (b"SSH-2.0-OpenSSH", "is it Kafka"),
        (b"\xff\xff\xff\xff", "is it Kafka"),
        (b"\x00\x00\x00\x02ab", "is it Kafka"),
    ],
)
def test_a_server_that_is_not_kafka_is_recognized(data: bytes, says: str) -> None:
    with pytest.raises(RemoteProtocolError, match=says):
        FrameReader(1000).feed(data)
