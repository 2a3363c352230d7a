"""kio as the reference: converts kconf's structs to kio's dataclasses, and compares bytes.

kio's names are the same except for times: `throttle_time_ms: int` is `throttle_time: timedelta`, a point in time is
`datetime | None`. Error codes are an enum, topic IDs `uuid.UUID | None`, arrays tuples.
"""

from __future__ import annotations

import datetime
import io
import typing
import uuid
from functools import cache
from typing import Any

import kio.index
import kio.schema.errors
import kio.serial

from kconf.protocol.codec.fields import UUID16, Array, Field, fields_of
from tests.property.wire_values import OURS, Message


def judged(message: Message) -> bool:
    """Whether kio has this message."""
    try:
        schema(message)
    except (kio.index.UnknownEntity, kio.index.UnknownAPIKey):
        return False
    return True


@cache
def schema(message: Message) -> Any:
    load: Any = kio.index.load_request_schema if message.side == "request" else kio.index.load_response_schema
    return load(message.api.key, message.version)


def write(message: Message, value: Any) -> bytes:
    """The bytes that kio writes for a value."""
    buffer = io.BytesIO()
    kio.serial.entity_writer(schema(message))(buffer, theirs(value, schema(message), message.version))
    return buffer.getvalue()


def read(message: Message, data: bytes) -> Any:
    """The dataclass that kio reads; it must consume all bytes."""
    value, size = kio.serial.entity_reader(schema(message))(data, 0)
    assert size == len(data)
    return value


def theirs(value: Any, cls: Any, version: int) -> Any:
    """kconf's struct as kio's dataclass. A field that only one of them has in this version is an error."""
    said = [each for each in fields_of(type(value)) if each.present(version) and (each.tag is None or each.tag < OURS)]
    return cls(**dict(_item(field, getattr(value, field.name), cls, version) for field in said))


def _item(field: Field, value: Any, cls: Any, version: int) -> tuple[str, Any]:
    name, hint = field.name, _hints(cls).get(field.name)
    if hint is None:
        name = field.name.removesuffix("_ms")
        return name, _time(value, _plain(_hints(cls)[name]))
    if hint is kio.schema.errors.ErrorCode:
        return name, kio.schema.errors.ErrorCode(value)
    if field.type is UUID16:
        return name, uuid.UUID(bytes=value) if any(value) else None
    if value is None:
        return name, None
    if isinstance(field.type, Array):
        inner = _plain(hint)
        if isinstance(field.type.of, type):
            return name, tuple(theirs(each, typing.get_args(inner)[0], version) for each in value)
        return name, tuple(value)
    return name, theirs(value, _plain(hint), version) if isinstance(field.type, type) else value


def _time(milliseconds: int, hint: Any) -> Any:
    """A duration or a point in time; -1 means none."""
    duration = datetime.timedelta(milliseconds=milliseconds)
    if not issubclass(getattr(hint, "__supertype__", hint), datetime.datetime):
        return duration
    return None if milliseconds == -1 else datetime.datetime.fromtimestamp(0, datetime.UTC) + duration


def _plain(hint: Any) -> Any:
    """`X` of `X | None`."""
    options = [each for each in typing.get_args(hint) if each is not type(None)]
    return options[0] if type(None) in typing.get_args(hint) else hint


@cache
def _hints(cls: Any) -> dict[str, Any]:
    return typing.get_type_hints(cls)
