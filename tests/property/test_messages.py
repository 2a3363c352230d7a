"""Every message and version that kio also has is compared with kio's bytes, in both directions.

kio 0.6.5 lacks the versions that Kafka 4 removed. Those are only written and read back here, and
tests/conformance/test_schemas.py compares their tables with Kafka's schemas.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kconf.protocol.apis import API_VERSIONS, APIS
from kconf.protocol.codec.serde import decode, encode, uvarint
from kconf.server.api.router import DATA_PLANE
from tests.property import kio_judge
from tests.property.wire_values import FIRST_EXTENSION, MESSAGES, Message, fullest, values

KAFKA_TOOLS = [message for message in MESSAGES if message.api.key < FIRST_EXTENSION]
JUDGED = [message for message in KAFKA_TOOLS if kio_judge.judged(message)]

# KIP-896 removed these from Kafka 4, and kio with it.
LACKING = {
    ("ApiVersions", 5),
    ("CreateTopics", 0),
    ("CreateTopics", 1),
    ("DeleteTopics", 0),
    ("DescribeAcls", 0),
    ("CreateAcls", 0),
    ("CreateDelegationToken", 0),
    ("DeleteAcls", 0),
    ("DescribeConfigs", 0),
    ("DescribeDelegationToken", 0),
    ("DescribeLogDirs", 0),
    ("ExpireDelegationToken", 0),
    *(("Fetch", version) for version in range(4)),
    ("ListOffsets", 0),
    ("OffsetFetch", 0),
    *(("Produce", version) for version in range(3)),
    ("RenewDelegationToken", 0),
}


def _is_drawn(message: Message) -> bool:
    """200 old versions of the data plane are tested only with the fullest value."""
    return message.api.key not in DATA_PLANE or message.version == message.api.max


def _roundtrip(message: Message, value: Any) -> bytes:
    data = encode(value, message.version, message.flexible)
    assert decode(message.cls, message.version, message.flexible, data) == value
    return data


def _agrees_with_kio(message: Message, value: Any) -> None:
    theirs = kio_judge.write(message, value)
    assert _roundtrip(message, value) == theirs
    assert kio_judge.read(message, theirs) == kio_judge.theirs(value, kio_judge.schema(message), message.version)


@pytest.mark.parametrize("message", JUDGED, ids=str)
def test_messages_have_the_same_bytes_as_in_kio(message: Message) -> None:
    _agrees_with_kio(message, fullest(message.cls, message.version))
    if not _is_drawn(message):
        return

    @given(values(message.cls, message.version, ours=False))
    def holds(value: Any) -> None:
        _agrees_with_kio(message, value)

    holds()


@pytest.mark.parametrize("message", [each for each in MESSAGES if each not in JUDGED], ids=str)
def test_messages_that_kio_lacks_round_trip(message: Message) -> None:
    _roundtrip(message, fullest(message.cls, message.version))
    if not _is_drawn(message):
        return

    @given(values(message.cls, message.version))
    def holds(value: Any) -> None:
        _roundtrip(message, value)

    holds()


def test_every_message_of_kafka_is_compared_with_kio_except_listed_ones() -> None:
    """Fails if a row of `protocol/apis.py` is not compared with kio, or if kio adds a missing version."""
    assert len({(message.api.name, message.version, message.side) for message in MESSAGES}) == 2 * sum(
        api.max - api.min + 1 for api in APIS.values()
    )
    for side in ("request", "response"):
        lacking = {(each.api.name, each.version) for each in KAFKA_TOOLS if each.side == side and each not in JUDGED}
        assert lacking == LACKING


@pytest.mark.parametrize("message", [each for each in JUDGED if each.version == each.api.flexible], ids=str)
def test_flexible_versions_begin_at_the_same_version_as_in_kio(message: Message) -> None:
    assert kio_judge.schema(message).__flexible__
    before = message._replace(version=message.version - 1)
    assert before not in JUDGED or not kio_judge.schema(before).__flexible__


@pytest.mark.parametrize("message", [each for each in MESSAGES if each.flexible and _is_drawn(each)], ids=str)
def test_unknown_tags_are_skipped(message: Message) -> None:
    """KIP-482: a newer peer may add tagged fields to any version. (kio raises here, so only kconf is tested.)"""
    value = values(message.cls, message.version).map(_without_tags)

    @given(value, st.lists(st.tuples(st.integers(50_000, 2**31 - 1), st.binary(max_size=300)), min_size=1, max_size=4))
    def holds(value: Any, unknown: list[tuple[int, bytes]]) -> None:
        data = encode(value, message.version, message.flexible)
        assert data[-1] == 0  # no tags at the end of the body
        tags = b"".join(uvarint(tag) + uvarint(len(raw)) + raw for tag, raw in sorted(unknown))
        assert decode(message.cls, message.version, True, data[:-1] + uvarint(len(unknown)) + tags) == value

    holds()


def _without_tags(value: Any) -> Any:
    for field in type(value).FIELDS:
        if field.tag is not None:
            setattr(value, field.name, field.default)
    return value


def test_api_versions_is_flexible_in_its_body_only() -> None:
    """The exception in protocol/headers.py is the same as in kio: its response header has no tags."""
    message = next(
        each for each in JUDGED if each.api.key == API_VERSIONS and each.version == 3 and each.side == "response"
    )
    assert kio_judge.schema(message).__header_schema__.__flexible__ is False
