"""Headers, byte by byte."""

from __future__ import annotations

import pytest

from kconf.errors import LocalProtocolError, RemoteProtocolError
from kconf.protocol.apis import BY_NAME
from kconf.protocol.codec.serde import MAX_ELEMENTS, decode, encode
from kconf.protocol.headers import (
    Header,
    ResponseTags,
    read_header,
    read_response,
    read_response_tags,
    request,
    response,
)
from kconf.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kconf.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from kconf.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

API_VERSIONS = BY_NAME["ApiVersions"]
LIST_GROUPS = BY_NAME["ListGroups"]
SASL_HANDSHAKE = BY_NAME["SaslHandshake"]

HEAD = b"\x00\x10\x00\x03\x00\x00\x00\x07"  # ListGroups v3, correlation 7


def test_a_classic_request_has_a_header_without_tags() -> None:
    frame = request(SASL_HANDSHAKE, 1, 7, "me", SaslHandshakeRequest("PLAIN"))

    assert frame == b"\x00\x00\x00\x13" + b"\x00\x11\x00\x01\x00\x00\x00\x07\x00\x02me" + b"\x00\x05PLAIN"
    assert read_header(frame[4:], flexible=False) == Header(17, 1, 7, "me", 12)


def test_a_flexible_request_has_tags_after_a_classic_client_id() -> None:
    frame = request(LIST_GROUPS, 3, 7, "me", ListGroupsRequest())

    assert frame == b"\x00\x00\x00\x0e" + HEAD + b"\x00\x02me" + b"\x00" + b"\x00"
    assert read_header(frame[4:], flexible=True) == Header(16, 3, 7, "me", 13)


def test_the_body_begins_after_the_header() -> None:
    frame = request(API_VERSIONS, 3, 1, "me", ApiVersionsRequest("kconf", "1.0"))[4:]
    header = read_header(frame, flexible=True)

    assert decode(ApiVersionsRequest, 3, True, frame, header.body) == ApiVersionsRequest("kconf", "1.0")


@pytest.mark.parametrize("size", [b"\xff\xff", b"\x80\x00", b"\x00\x00"])
def test_a_null_client_id_is_read_as_an_empty_one(size: bytes) -> None:
    assert read_header(HEAD + size + b"\x00", flexible=True) == Header(16, 3, 7, "", 11)


def test_no_client_id_is_sent_as_null() -> None:
    assert request(LIST_GROUPS, 0, 7, None, ListGroupsRequest())[12:] == b"\xff\xff"
    assert request(LIST_GROUPS, 0, 7, "", ListGroupsRequest())[12:] == b"\x00\x00"


def test_unknown_header_tags_are_skipped() -> None:
    frame = HEAD + b"\x00\x02me" + b"\x02" + b"\x05\x03abc" + b"\xc8\x01\x00" + b"body"

    assert read_header(frame, flexible=True) == Header(16, 3, 7, "me", len(frame) - 4)


def test_a_client_id_that_is_not_utf_8_is_replaced() -> None:
    assert read_header(HEAD + b"\x00\x01\xff", flexible=False).client_id == "\N{REPLACEMENT CHARACTER}"
    assert request(LIST_GROUPS, 0, 7, "\ud800", ListGroupsRequest()).endswith(b"\x00\x01?")


@pytest.mark.parametrize("flexible", [False, True])
def test_a_request_header_cut_anywhere_is_refused(flexible: bool) -> None:
    frame = HEAD + b"\x00\x02me" + (b"\x01\x05\x03abc" if flexible else b"")
    for end in range(len(frame)):
        with pytest.raises(RemoteProtocolError):
            read_header(frame[:end], flexible)


@pytest.mark.parametrize(
    "tags",
    [b"\xff" * 9, b"\xff\xff\xff\xff\x07", b"\x01\x00" + b"\xff" * 9, b"\x01\x00\xff\xff\xff\xff\x07", b"\x01\x00\x7f"],
)
def test_hostile_header_tags_are_refused(tags: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        read_header(HEAD + b"\x00\x00" + tags, flexible=True)
    with pytest.raises(RemoteProtocolError):
        read_response(LIST_GROUPS, 3, b"\x00\x00\x00\x07" + tags)


def test_a_client_id_that_is_too_long_cannot_be_encoded() -> None:
    with pytest.raises(LocalProtocolError):
        request(LIST_GROUPS, 0, 7, "x" * 32_768, ListGroupsRequest())


def test_a_classic_response_has_only_the_correlation_id_in_its_header() -> None:
    answer = SaslHandshakeResponse(0, ["PLAIN"])
    frame = response(SASL_HANDSHAKE, 1, 7, encode(answer, 1, False))

    assert frame == b"\x00\x00\x00\x11" + b"\x00\x00\x00\x07" + b"\x00\x00" + b"\x00\x00\x00\x01\x00\x05PLAIN"
    assert read_response(SASL_HANDSHAKE, 1, frame[4:]) == (7, answer)


def test_a_flexible_response_has_tags_in_its_header() -> None:
    answer = ListGroupsResponse(0, 0, [])
    frame = response(LIST_GROUPS, 3, 7, encode(answer, 3, True))

    assert frame == b"\x00\x00\x00\x0d" + b"\x00\x00\x00\x07" + b"\x00" + bytes(6) + b"\x01\x00"
    assert read_response(LIST_GROUPS, 3, frame[4:]) == (7, answer)
    assert read_response(LIST_GROUPS, 3, b"\x00\x00\x00\x07\x01\x05\x01x" + bytes(6) + b"\x01\x00") == (7, answer)


@pytest.mark.parametrize("version", range(API_VERSIONS.min, API_VERSIONS.max + 1))
def test_the_header_of_an_api_versions_response_never_has_tags(version: int) -> None:
    """So that a client can read it before it knows the server's versions."""
    answer = ApiVersionsResponse(0, [ApiVersion(18, 0, 4)])
    body = encode(answer, version, API_VERSIONS.is_flexible(version))
    frame = response(API_VERSIONS, version, 7, body)

    assert frame == (4 + len(body)).to_bytes(4, "big") + b"\x00\x00\x00\x07" + body
    assert read_response(API_VERSIONS, version, frame[4:])[0] == 7


def test_a_response_cut_anywhere_is_refused() -> None:
    frame = response(LIST_GROUPS, 4, 7, encode(ListGroupsResponse(0, 0, [ListedGroup("g", "consumer")]), 4, True))[4:]
    for end in range(len(frame)):
        with pytest.raises(RemoteProtocolError):
            read_response(LIST_GROUPS, 4, frame[:end])


def test_a_response_may_have_more_elements_than_a_request() -> None:
    """As in a response about 8,000 topics."""
    group = encode(ListedGroup("", ""), 0, False)
    body = encode(ListGroupsResponse(0, 0, [group] * (MAX_ELEMENTS + 1)), 0, False)  # type: ignore[list-item]

    _, answer = read_response(LIST_GROUPS, 0, response(LIST_GROUPS, 0, 7, body)[4:])

    assert len(answer.groups) == MAX_ELEMENTS + 1


def test_a_request_header_can_require_a_revision() -> None:
    frame = request(LIST_GROUPS, 3, 7, "me", ListGroupsRequest(), required_revision=41)

    tag = b"\x01" + b"\xc4\xb8\x02" + b"\x08" + b"\x00\x00\x00\x00\x00\x00\x00\x29"
    assert frame == b"\x00\x00\x00\x1a" + HEAD + b"\x00\x02me" + tag + b"\x00"
    assert read_header(frame[4:], flexible=True) == Header(16, 3, 7, "me", 25, 41)


def test_a_response_header_has_the_revision_and_whether_it_may_be_stale() -> None:
    for stale, tags in (
        (False, b"\x01\xc3\xb8\x02\x08\x00\x00\x00\x00\x00\x00\x00\x2a"),
        (True, b"\x02\xc3\xb8\x02\x08\x00\x00\x00\x00\x00\x00\x00\x2a\xc5\xb8\x02\x01\x01"),
    ):
        assert ResponseTags(42, stale).encoded() == tags
        assert read_response_tags(tags + b"body", 0) == (ResponseTags(42, stale), len(tags))
        frame = response(LIST_GROUPS, 3, 7, encode(ListGroupsResponse(0, 0, []), 3, True), tags)
        assert read_response(LIST_GROUPS, 3, frame[4:])[1] == ListGroupsResponse(0, 0, [])


def test_a_classic_request_cannot_require_a_revision() -> None:
    plain = request(SASL_HANDSHAKE, 1, 7, "me", SaslHandshakeRequest("PLAIN"))

    assert request(SASL_HANDSHAKE, 1, 7, "me", SaslHandshakeRequest("PLAIN"), required_revision=41) == plain


@pytest.mark.parametrize(("data", "revision"), [(b"\xff" * 8, -1), (b"\x80" + bytes(7), -1), (bytes(8), 0)])
def test_a_negative_revision_means_no_revision(data: bytes, revision: int) -> None:
    frame = HEAD + b"\xff\xff" + b"\x01\xc4\xb8\x02\x08" + data

    assert read_header(frame, flexible=True).required_revision == revision


def test_a_revision_of_another_size_is_malformed() -> None:
    with pytest.raises(RemoteProtocolError, match="not an int64"):
        read_header(HEAD + b"\xff\xff" + b"\x01\xc4\xb8\x02\x04" + bytes(4), flexible=True)
