"""Compares kconf's schemas of metadata records with those in Kafka's jars, version by version."""

from __future__ import annotations

from typing import Any

import pytest

from kconf.protocol.records.metadata import RECORD_TYPES
from lab.schemas import record_schemas
from tests.conformance.test_schemas import Versions, kafka_rows, our_rows

VERSIONS = [(key, version) for key, row in RECORD_TYPES.items() for version in range(row.max_version + 1)]


def kafka_record(release: str, key: int) -> dict[str, Any] | None:
    return next((each for each in record_schemas(release).values() if each["apiKey"] == key), None)


@pytest.mark.parametrize(("key", "version"), VERSIONS)
def test_the_fields_of_a_record_equal_those_in_kafkas_schema(key: int, version: int) -> None:
    schema = kafka_record("4.3.1", key)

    assert schema is not None
    assert schema["name"] == RECORD_TYPES[key].table.__name__
    assert our_rows(RECORD_TYPES[key].table, version) == kafka_rows(schema, version)


@pytest.mark.parametrize("release", ["4.3.1", "3.9.2"])
def test_every_record_of_a_release_is_known_in_its_newest_version(release: str) -> None:
    newest = {each["apiKey"]: Versions.of(each["validVersions"]).last for each in record_schemas(release).values()}
    ours = {key: RECORD_TYPES[key].max_version for key in newest}

    assert len(newest) > 20
    assert {key: last for key, last in newest.items() if last > ours[key]} == {}
    assert release != "4.3.1" or ours == newest
