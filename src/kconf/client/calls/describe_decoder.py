"""Entries out of DescribeConfigs answers, quickly.

Topics differ little: the same bytes come again and again. An encoded struct tells where it ends, so bytes that begin
with the bytes of something that was read before mean the same thing, and are compared in place of being read. That is
done for all entries of a resource together, and for each entry, which usually follows the one that it followed before.
What is remembered is bounded, and lives as long as the call.
"""

from __future__ import annotations

import struct
from operator import attrgetter
from typing import Any, Final

from kconf.errors import RemoteProtocolError
from kconf.model.entry import Entry, Source, Synonym, ValueType, View
from kconf.model.resource import ResourceType
from kconf.protocol.codec.serde import reader
from kconf.protocol.codec.varint import Malformed, read_uvarint
from kconf.protocol.messages.describe_configs import DescribeConfigsEntry

FLEXIBLE: Final = 4
MAX_VIEWS: Final = 12
MAX_FOLLOWERS: Final = 6
MAX_BYTES: Final = 4 << 20

_I32 = struct.Struct(">i")
_SOURCES = {int(each): each for each in Source}
_TYPES = {int(each): each for each in ValueType}
_by_name = attrgetter("name")


class _Known:
    """Bytes that have been read before, what they mean, and what came behind them."""

    __slots__ = ("entry", "followers", "raw")

    def __init__(self, raw: bytes, entry: Entry | None) -> None:
        self.raw, self.entry = raw, entry
        self.followers: list[_Known] = []


class EntryReader:
    """Reads the entries of one resource after the other, in one version (and for v0, of one type)."""

    def __init__(self, version: int, resource_type: int) -> None:
        self._version, self._type = version, resource_type
        self._flexible = version >= FLEXIBLE
        self._read: Any = reader(DescribeConfigsEntry, version, self._flexible)
        self._forget()

    def _forget(self) -> None:
        self._first = _Known(b"", None)
        self._known: dict[bytes, _Known] = {}
        self._views: list[tuple[bytes, View]] = []
        self._bytes = 0

    def view(self, data: bytes, start: int) -> tuple[View, int]:
        """The entries whose array begins at `start`, and the position behind it."""
        for number, (raw, view) in enumerate(self._views):
            if data.startswith(raw, start):
                if number:
                    self._views.insert(0, self._views.pop(number))
                return view, start + len(raw)
        try:
            entries, end = self._entries(data, start)
        except (struct.error, IndexError):
            raise RemoteProtocolError(f"DescribeConfigsResponse v{self._version} is cut off") from None
        except Malformed as error:
            raise RemoteProtocolError(f"DescribeConfigsResponse v{self._version} {error}") from None
        entries.sort(key=_by_name)
        view = View(tuple(entries))
        del self._views[MAX_VIEWS - 1 :]
        self._views.insert(0, (data[start:end], view))
        return view, end

    def _entries(self, data: bytes, p: int) -> tuple[list[Entry], int]:
        count, p = self._count(data, p)
        entries: list[Entry] = []
        before = self._first
        for _ in range(count):
            for known in before.followers:
                if data.startswith(known.raw, p):
                    p += len(known.raw)
                    break
            else:
                known = self._learn(data, p, before)
                p += len(known.raw)
            entries.append(known.entry)  # type: ignore[arg-type]  # only the first of all has none
            before = known
        return entries, p

    def _count(self, data: bytes, p: int) -> tuple[int, int]:
        if self._flexible:
            count, p = read_uvarint(data, p)
            count -= 1
        else:
            (count,) = _I32.unpack_from(data, p)
            p += 4
        if count > len(data) - p:
            raise Malformed("has more configs than it may")
        return max(count, 0), p

    def _learn(self, data: bytes, p: int, before: _Known) -> _Known:
        value, end = self._read(data, p, len(data))
        raw = data[p:end]
        known = self._known.get(raw)
        if known is None:
            known = _Known(raw, entry_of(value, self._version, self._type))
            if self._bytes > MAX_BYTES:
                self._forget()
            self._known[raw] = known
            self._bytes += len(raw)
        del before.followers[MAX_FOLLOWERS - 1 :]
        before.followers.insert(0, known)
        return known


def entry_of(value: DescribeConfigsEntry, version: int, resource_type: int) -> Entry:
    synonyms = tuple(Synonym(each.name, each.value, source_of(each.source)) for each in value.synonyms)
    return Entry(
        value.name,
        value.value,
        source_of(value.config_source) if version else _source_v0(value.is_default, resource_type),
        _TYPES.get(value.config_type, ValueType.UNKNOWN),
        value.read_only,
        value.is_sensitive,
        synonyms,
        value.documentation,
    )


def source_of(number: int) -> Source:
    return _SOURCES.get(number, Source.UNKNOWN)


def _source_v0(is_default: bool, resource_type: int) -> Source:
    """As Java derives it: the first version had a flag only."""
    if is_default:
        return Source.DEFAULT
    if resource_type == ResourceType.TOPIC:
        return Source.TOPIC
    return Source.STATIC if resource_type == ResourceType.BROKER else Source.UNKNOWN
