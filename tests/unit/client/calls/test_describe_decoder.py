"""The caching decoder returns the same entries as the plain one."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kconf import ApiError, ErrorCode, Resource, ResourceType, Source, ValueType
from kconf.client.calls import describe_decoder as module
from kconf.client.calls.configs import DescribeConfigs
from kconf.client.calls.describe_decoder import EntryReader, entry_of
from kconf.errors import RemoteProtocolError
from kconf.protocol.apis import BY_NAME
from kconf.protocol.codec.serde import decode, encode
from kconf.protocol.messages.describe_configs import (
    DescribeConfigsEntry,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

SOME = ["", "a", "retention.ms", "x" * 200, "ä"]
text = st.sampled_from(SOME)
synonyms = st.builds(DescribeConfigsSynonym, text, st.none() | text, st.integers(0, 9))
entry = st.builds(
    DescribeConfigsEntry,
    text,
    st.none() | text,
    st.booleans(),
    st.booleans(),
    st.integers(-1, 9),
    st.booleans(),
    st.lists(synonyms, max_size=2),
    st.integers(0, 11),
    st.none() | text,
)
results = st.lists(
    st.builds(
        DescribeConfigsResult,
        st.sampled_from([0, 0, 0, 3, 999]),
        st.none() | text,
        st.sampled_from([2, 4, 8]),
        st.integers(0, 99).map(str),
        st.lists(entry, max_size=6),
    ),
    max_size=8,
    unique_by=lambda each: (each.resource_type, each.resource_name),
)


def fields(each: Any) -> tuple[Any, ...]:
    return tuple(getattr(each, name) for name in each.__slots__ if name != "memo")


def plain(version: int, data: bytes) -> dict[Resource, Any]:
    body = decode(DescribeConfigsResponse, version, version >= 4, data)
    found: dict[Resource, Any] = {}
    for each in body.results:
        resource = Resource(ResourceType(each.resource_type), each.resource_name)
        rows = [fields(entry_of(row, version, each.resource_type)) for row in each.configs]
        found[resource] = sorted(rows, key=lambda row: str(row[0])) if not each.error_code else each.error_code
    return found


@settings(max_examples=150, deadline=None)
@given(st.integers(0, BY_NAME["DescribeConfigs"].max), st.lists(results, max_size=3), st.binary(max_size=3))
def test_the_caching_decoder_reads_the_same_as_the_plain_one(version: int, answers: list[Any], tail: bytes) -> None:
    call = DescribeConfigs([])  # one call: the cache is kept for the next response
    for rows in answers:
        data = encode(DescribeConfigsResponse(7, rows), version, version >= 4)
        answer = call.read(version, b"head" + data + tail, 4, [])

        found = {
            resource: (999 if "999" in str(view.message) else int(view.code))
            if isinstance(view, ApiError)
            else [fields(each) for each in view.entries]
            for resource, view in answer.outcomes.items()
        }
        assert answer.throttle_ms == 7
        assert found == plain(version, data)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([1, 4]), results, st.data())
def test_any_bytes_result_in_a_value_or_a_protocol_error(version: int, rows: Any, data: Any) -> None:
    whole = bytearray(encode(DescribeConfigsResponse(0, rows), version, version >= 4))
    call = DescribeConfigs([])
    call.read(version, bytes(whole), 0, [])
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    if cut and data.draw(st.booleans()):
        cut[data.draw(st.integers(0, len(cut) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(RemoteProtocolError):
        call.read(version, bytes(cut), 0, [])


def test_equal_bytes_become_the_same_objects() -> None:
    rows = [DescribeConfigsEntry(f"k{number}", "v", False, config_source=5) for number in range(30)]
    other = [*rows[:-1], DescribeConfigsEntry("k29", "else", False, config_source=1)]
    body = [DescribeConfigsResult(0, None, 2, str(n), other if n == 2 else rows) for n in range(4)]
    call = DescribeConfigs([])

    found = call.read(4, encode(DescribeConfigsResponse(0, body), 4, True), 0, []).outcomes

    one, two, three = (found[Resource.topic(name)] for name in "012")
    assert one is two
    assert three is not one
    assert three["k1"] is one["k1"]
    assert (three["k29"].value, three["k29"].source) == ("else", Source.TOPIC)


def test_the_cache_of_the_decoder_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    reader = EntryReader(4, 2)
    for number in range(500):
        value = DescribeConfigsEntry("k", f"{number:050d}", False, config_source=1)
        data = b"\x02" + encode(value, 4, True)
        view, end = reader.view(data, 0)
        assert (view["k"].value, end) == (f"{number:050d}", len(data))
        assert reader._bytes < 1200
        assert len(reader._views) <= module.MAX_VIEWS


def test_unknown_sources_types_and_codes_are_decoded_as_unknown() -> None:
    row = DescribeConfigsEntry("k", "v", False, config_source=77, config_type=99)
    body = DescribeConfigsResponse(
        0, [DescribeConfigsResult(0, "", 2, "t", [row]), DescribeConfigsResult(999, "x", 2, "u")]
    )

    found = DescribeConfigs([]).read(4, encode(body, 4, True), 0, []).outcomes

    entry = found[Resource.topic("t")]["k"]
    assert (entry.source, entry.type) == (Source.UNKNOWN, ValueType.UNKNOWN)
    assert found[Resource.topic("u")] == ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "error 999: x")


@pytest.mark.parametrize(
    ("default", "kind", "source"),
    [(True, 2, Source.DEFAULT), (False, 2, Source.TOPIC), (False, 4, Source.STATIC), (False, 8, Source.UNKNOWN)],
)
def test_in_version_0_the_source_is_derived_from_the_resource_type(default: bool, kind: int, source: Source) -> None:
    row = DescribeConfigsEntry("k", "v", False, is_default=default)
    body = DescribeConfigsResponse(0, [DescribeConfigsResult(0, None, kind, "t", [row])])

    found = DescribeConfigs([]).read(0, encode(body, 0, False), 0, []).outcomes

    assert next(iter(found.values()))["k"].source == source
