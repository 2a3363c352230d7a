"""Compares kconf's message schemas with those in Kafka's jar, version by version and field by field.

4.3.1 is the reference. The versions that KIP-896 removed from Kafka 4 are compared with 3.9.2, and ApiVersions, whose
newest version is from 4.4, with the client jar of 4.4.0. Only kconf's own API keys and tags are not compared.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

import pytest

from kconf.protocol.apis import APIS, NEVER, Api
from kconf.protocol.codec.fields import (
    BOOL,
    F64,
    I8,
    I16,
    I32,
    I64,
    U16,
    UUID16,
    Array,
    Blob,
    Field,
    FieldType,
    Text,
    fields_of,
)
from lab.schemas import schemas

NEW, OLD, NEXT = "4.3.1", "3.9.2", "4.4.0"
OF_NEXT = {"ApiVersions"}
OUR_FIRST_KEY = 2000
OUR_FIRST_TAG = 10_000
KAFKA_TOOLS = [api for api in APIS.values() if api.key < OUR_FIRST_KEY]
SIDES = ("Request", "Response")


class Row(NamedTuple):
    """A field in one version; `type` is a name or the rows of a struct, wrapped in a list for each array."""

    name: str
    type: Any
    nullable: bool
    tag: int | None


class Versions(NamedTuple):
    """ "3+", "1-4", "2" or "none" of a schema."""

    first: int
    last: int

    @classmethod
    def of(cls, text: str) -> Versions:
        if text == "none":
            return cls(NEVER, -1)
        first, _, last = text.removesuffix("+").partition("-")
        return cls(int(first), NEVER if text.endswith("+") else int(last or first))

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.first <= version <= self.last


@cache
def kafkas(release: str, key: int, side: str) -> dict[str, Any] | None:
    found = [each for each in schemas(release).values() if each.get("apiKey") == key and each["type"] == side.lower()]
    assert len(found) < 2
    return found[0] if found else None


def valid(release: str, api: Api, side: str) -> Versions:
    schema = kafkas(release, api.key, side)
    return Versions(NEVER, -1) if schema is None else Versions.of(schema["validVersions"])


def kafka_rows(schema: dict[str, Any], version: int) -> list[Row]:
    common = {each["name"]: each["fields"] for each in schema.get("commonStructs", [])}
    return _kafka_rows(schema["fields"], version, common)


def _kafka_rows(fields: list[dict[str, Any]], version: int, common: dict[str, Any]) -> list[Row]:
    return [
        Row(
            _snake(each["name"]),
            _kafka_type(each["type"], each, version, common),
            version in Versions.of(each.get("nullableVersions", "none")),
            each["tag"] if version in Versions.of(each.get("taggedVersions", "none")) else None,
        )
        for each in fields
        if version in Versions.of(each["versions"])
    ]


def _kafka_type(text: str, field: dict[str, Any], version: int, common: dict[str, Any]) -> Any:
    if text.startswith("[]"):
        return [_kafka_type(text[2:], field, version, common)]
    if text[0].isupper():
        return tuple(_kafka_rows(field.get("fields") or common[text], version, common))
    return "bytes" if text == "records" else text


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


WORDS: dict[FieldType, str] = {
    BOOL: "bool",
    F64: "float64",
    I8: "int8",
    I16: "int16",
    I32: "int32",
    I64: "int64",
    U16: "uint16",
    UUID16: "uuid",
}


def our_rows(cls: type, version: int) -> list[Row]:
    return [
        Row(each.name, _our_type(each.type, version), each.may_be_null(version), each.tag)
        for each in fields_of(cls)
        if each.present(version) and not _is_ours(each)
    ]


def _is_ours(field: Field) -> bool:
    return field.tag is not None and field.tag >= OUR_FIRST_TAG


def _our_type(kind: FieldType, version: int) -> Any:
    match kind:
        case Text():
            return "string"
        case Blob():
            return "bytes"
        case Array():
            return [_our_type(kind.of, version)]
        case type():
            return tuple(our_rows(kind, version))
        case _:
            return WORDS[kind]


def our_message(api: Api, side: str) -> type:
    return api.request if side == "Request" else api.response


def release_with(api: Api, side: str, version: int) -> str:
    """The release to compare a version with: the newest one that still has it."""
    releases = (NEXT, OLD) if api.name in OF_NEXT else (NEW, OLD)
    return next(each for each in releases if version in valid(each, api, side))


CASES = [(api, side, version) for api in KAFKA_TOOLS for side in SIDES for version in range(api.min, api.max + 1)]


@pytest.mark.parametrize(
    ("api", "side", "version"), CASES, ids=[f"{api.name}{side}-v{version}" for api, side, version in CASES]
)
def test_the_fields_equal_those_in_kafkas_schema(api: Api, side: str, version: int) -> None:
    schema = kafkas(release_with(api, side, version), api.key, side)

    assert schema is not None
    assert version in Versions.of(schema["validVersions"])
    assert our_rows(our_message(api, side), version) == kafka_rows(schema, version)


@pytest.mark.parametrize("api", KAFKA_TOOLS, ids=lambda api: api.name)
@pytest.mark.parametrize("side", SIDES)
def test_key_name_and_versions_equal_those_in_kafkas_schema(api: Api, side: str) -> None:
    """All versions of 4.3.1 (for ApiVersions, of 4.4.0), and the older ones down to 0."""
    schema = kafkas(NEW, api.key, side)

    assert schema is not None
    assert schema["name"] == f"{api.name}{side}"
    assert valid(NEXT if api.name in OF_NEXT else NEW, api, side).last == api.max
    oldest = min(valid(NEW, api, side).first, valid(OLD, api, side).first)
    assert oldest == api.min == 0


@pytest.mark.parametrize("api", KAFKA_TOOLS, ids=lambda api: api.name)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("release", [NEW, OLD])
def test_flexible_versions_equal_those_in_kafkas_schema(api: Api, side: str, release: str) -> None:
    schema = kafkas(release, api.key, side)
    spoken = [version for version in range(api.min, api.max + 1) if version in valid(release, api, side)]

    assert schema is not None or release == OLD
    if schema is not None:
        flexible = Versions.of(schema["flexibleVersions"])
        assert [api.is_flexible(version) for version in spoken] == [version in flexible for version in spoken]


@pytest.mark.parametrize("api", KAFKA_TOOLS, ids=lambda api: api.name)
@pytest.mark.parametrize("side", SIDES)
def test_fields_that_a_version_lacks_have_kafkas_defaults(api: Api, side: str) -> None:
    """Defaults of tagged fields, and of fields that a version of their struct lacks."""
    for version in range(api.min, api.max + 1):
        schema = kafkas(release_with(api, side, version), api.key, side)
        assert schema is not None
        _compare_defaults(our_message(api, side), schema["fields"], version)


def _compare_defaults(cls: type, fields: list[dict[str, Any]], version: int) -> None:
    ours = {each.name: each for each in fields_of(cls)}
    for field in fields:
        mine = ours.get(_snake(field["name"]))
        if mine is None:
            assert version not in Versions.of(field["versions"])
            continue
        if not mine.present(version) or mine.tag is not None:
            # If a schema has no default, Kafka's generator uses "", and kconf uses null if the field is nullable.
            null = mine.default is None and "default" not in field and "nullableVersions" in field
            null = null or (mine.default is None and isinstance(mine.type, type))  # a struct that is not sent
            assert null or mine.default == _default(field), f"{cls.__name__}.{mine.name}"
        inner = mine.type.of if isinstance(mine.type, Array) else mine.type
        if mine.present(version) and isinstance(inner, type):
            _compare_defaults(inner, field.get("fields", []), version)


def _default(field: dict[str, Any]) -> Any:
    """The default of a schema, or the one that Kafka's generator uses."""
    kind, text = field["type"], field.get("default")
    if text == "null":
        return None
    if kind.startswith("[]"):
        return ()
    match kind:
        case "string":
            return text or ""
        case "bool":
            return text in (True, "true")
        case "uuid":
            return bytes(16)
        case _:
            return int(str(text or 0), 0)
