"""Versions that Kafka 4.x does not support anymore, byte by byte as sent by a real 3.9.2.

Recorded by tests/conformance/golden/record.py, because kio does not have these versions.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kconf.protocol.apis import BY_NAME
from kconf.protocol.codec.serde import decode, encode
from kconf.protocol.headers import LENGTH, read_header, read_response, request, response

_GOLDEN = Path(__file__).parents[3] / "conformance" / "golden"
EXCHANGES: list[dict[str, Any]] = [
    each for path in sorted(_GOLDEN.glob("*.json")) for each in json.loads(path.read_text())
]
OLD = {
    ("CreateTopics", 0),
    ("CreateTopics", 1),
    ("DeleteTopics", 0),
    ("DescribeConfigs", 0),
    ("DescribeAcls", 0),
    ("CreateAcls", 0),
    ("DeleteAcls", 0),
}


def _name(exchange: dict[str, Any]) -> str:
    return f"{exchange['api']} v{exchange['version']}: {exchange['about']}"


def test_every_old_version_is_recorded() -> None:
    assert {(each["api"], each["version"]) for each in EXCHANGES} == OLD


@pytest.mark.parametrize("exchange", EXCHANGES, ids=_name)
def test_a_request_is_read_and_written_again_byte_by_byte(exchange: dict[str, Any]) -> None:
    api, version, frame = BY_NAME[exchange["api"]], exchange["version"], bytes.fromhex(exchange["request"])

    header = read_header(frame, api.is_flexible(version))
    message = decode(api.request, version, api.is_flexible(version), frame, header.body)

    assert (header.api_key, header.version, header.client_id) == (api.key, version, "golden")
    assert request(api, version, header.correlation, header.client_id, message) == LENGTH.pack(len(frame)) + frame


@pytest.mark.parametrize("exchange", EXCHANGES, ids=_name)
def test_a_response_is_read_and_written_again_byte_by_byte(exchange: dict[str, Any]) -> None:
    api, version, frame = BY_NAME[exchange["api"]], exchange["version"], bytes.fromhex(exchange["response"])

    correlation, message = read_response(api, version, frame)

    body = encode(message, version, api.is_flexible(version))
    assert response(api, version, correlation, body) == LENGTH.pack(len(frame)) + frame


def test_decoded_records_have_kafkas_meaning() -> None:
    """The bytes could be equal by chance if two fields were swapped, so the values are checked too."""
    said = {_name(each): _read(each) for each in EXCHANGES}

    made = said["CreateTopics v0: one exists, one has a bad name"]
    assert {each.name: each.error_code for each in made.topics} == {"orders": 36, "a b": 17}
    refused = said["CreateTopics v1: refused with a message"]
    assert {each.name: each.error_code for each in refused.topics} == {"two": 38, "": 17}
    assert all(each.error_message for each in refused.topics)
    described = said["DescribeConfigs v0: a topic, all keys"].results[0]
    assert {each.name: each.value for each in described.configs}["retention.ms"] == "1000"
    gone = said["DeleteTopics v0: one is there, one is not"]
    assert {each.name: each.error_code for each in gone.responses} == {"placed": 0, "missing": 3}
    (acls,) = said["DescribeAcls v0: one resource"].resources
    assert (acls.resource_name, acls.acls[0].principal, acls.acls[0].operation) == ("a", "User:a", 3)
    assert [each.error_code for each in said["CreateAcls v0: two are made, one is refused"].results][:2] == [0, 0]
    deleted = said["DeleteAcls v0: one matches, one does not"].filter_results
    assert [len(each.matching_acls) for each in deleted] == [1, 0]


def _read(exchange: dict[str, Any]) -> Any:
    return read_response(BY_NAME[exchange["api"]], exchange["version"], bytes.fromhex(exchange["response"]))[1]
