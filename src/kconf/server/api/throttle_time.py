"""Finds the throttle time in a response frame. It is almost always the first field of the body."""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from kconf.protocol.apis import APIS
from kconf.protocol.codec.fields import fields_of

AFTER_NO_TAGS: Final = 9  # start of the body in a flexible response without header tags
AFTER_HEADER: Final = 8


class _Known(NamedTuple):
    """An API that is not decoded: its first version with a throttle time, first flexible version, and last known
    version.
    """

    since: int
    flexible: int
    last: int


_OPAQUE: Final = {
    8: _Known(3, 8, 10),
    13: _Known(1, 4, 5),
    77: _Known(0, 0, 1),
    89: _Known(0, 0, 1),
    90: _Known(0, 0, 1),
    91: _Known(0, 0, 1),
    92: _Known(0, 0, 1),
}


@cache
def throttle_time_offset(key: int, version: int) -> int | None:
    """The offset of the throttle time, including the length prefix, or None if there is none or it is unknown."""
    api = APIS.get(key)
    if api is None:
        known = _OPAQUE.get(key)
        if known is None or not known.since <= version <= known.last:
            return None
        return AFTER_NO_TAGS if version >= known.flexible else AFTER_HEADER
    if not api.serves(version):
        return None
    first = next((field for field in fields_of(api.response) if field.present(version) and field.tag is None), None)
    if first is None or first.name != "throttle_time_ms":
        return None
    return AFTER_NO_TAGS if api.is_flexible(version) else AFTER_HEADER
