"""Reading record batches and metadata records, including truncated, damaged and malicious ones."""

from __future__ import annotations

import random

import pytest

from kconf.errors import RemoteProtocolError
from kconf.protocol.records.batches import read_batches
from kconf.protocol.records.metadata import ConfigRecord, NoOpRecord, UnknownRecord, decode_record
from tests.unit.client.kraft.log import batch, new_topic, topic_config, value_of


def test_a_record_written_by_a_real_controller_is_decoded() -> None:
    value = bytes.fromhex("01 04 00 02 07 6f7264657273 0d 726574656e74696f6e2e6d73 08 32303030303030 00")

    assert decode_record(value) == ConfigRecord(2, "orders", "retention.ms", "2000000")


def test_an_incomplete_batch_at_the_end_is_ignored() -> None:
    first, second = batch(0, [NoOpRecord()]), batch(1, new_topic("orders", 7, 2), epoch=3, time=77)

    for cut in range(len(second)):
        assert [each.base_offset for each in read_batches(first + second[:cut])] == [0]
    _, last = read_batches(first + second)
    assert (last.base_offset, last.next_offset, last.leader_epoch, last.is_control) == (1, 4, 3, False)
    assert [(each.offset, each.timestamp, each.key) for each in last.records()] == [(n, 77, None) for n in (1, 2, 3)]


def test_offsets_and_sizes_of_two_bytes_are_decoded() -> None:
    """The offset of record 64 is encoded as 0x80 0x01, like the size of a value of more than 63 bytes."""
    records = [topic_config("orders", f"key.{number}", "v" * number) for number in range(70)]

    (found,) = read_batches(batch(0, records))

    assert [each.offset for each in found.records()] == list(range(70))
    assert [decode_record(each.value or b"") for each in found.records()] == records


def test_zeros_after_a_segment_end_it() -> None:
    assert len(list(read_batches(batch(0, [NoOpRecord()]) + bytes(500)))) == 1


def test_every_flipped_bit_after_the_checksum_is_detected() -> None:
    whole = batch(5, [topic_config("orders", "retention.ms", "1")])
    for place in range(17, len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << (place % 8)
        with pytest.raises(RemoteProtocolError):
            list(read_batches(bytes(damaged)))


def test_a_record_count_that_is_too_high_is_refused() -> None:
    (found,) = read_batches(batch(0, [NoOpRecord()], size=2))

    with pytest.raises(RemoteProtocolError):
        list(found.records())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"\1\x6f\0whatever", UnknownRecord(111, 0)),
        (b"\1\4\1\2\7orders", UnknownRecord(4, 1)),
        (b"\1\xac\2\0", UnknownRecord(300, 0)),
    ],
)
def test_unknown_records_and_newer_versions_are_not_decoded(value: bytes, expected: UnknownRecord) -> None:
    assert decode_record(value) == expected


@pytest.mark.parametrize(
    "value", [b"", b"\1", b"\1\4", b"\2\4\0", b"\1\4\0\2\x64or", b"\1\4\0\2\xff\xff\xff\xff\xff\xff"]
)
def test_broken_records_are_protocol_errors(value: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        decode_record(value)


def test_fuzzed_records_give_a_value_or_a_protocol_error() -> None:
    draw = random.Random(7)
    good = [value_of(each) for each in (*new_topic("orders", 3, 2), topic_config("a", "b", "c"), NoOpRecord())]
    outcomes = {"value": 0, "error": 0}
    for _ in range(20_000):
        value = bytearray(draw.choice(good))
        for _ in range(draw.randint(1, 4)):
            value[draw.randrange(len(value))] = draw.randrange(256)
        try:
            decode_record(bytes(value[: draw.randint(1, len(value))]))
            outcomes["value"] += 1
        except RemoteProtocolError:
            outcomes["error"] += 1
    assert min(outcomes.values()) > 1000
