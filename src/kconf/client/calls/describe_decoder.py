"""Decodes the entries of DescribeConfigs responses, with a cache.

Most topics have the same entries, so the same bytes occur many times. If data starts with the bytes of a struct that
was decoded before, it has the same meaning, and comparing bytes is faster than decoding. This is done for all entries
of a resource together, and for each entry, which usually follows the same one as before. The cache is bounded and lives
as long as the call.
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


class _CachedEntry:
    """Bytes that were decoded before, their entry, and the entries that followed it."""

    __slots__ = ("entry", "followers", "raw")

    def __init__(self, raw: bytes, entry: Entry | None) -> None:
        self.raw, self.entry = raw, entry
        self.followers: list[_CachedEntry] = []


class EntryReader:
    """Reads the entries of resources, in one version (and for v0, of one type)."""

    def __init__(self, version: int, resource_type: int) -> None:
        self._version, self._type = version, resource_type
        self._flexible = version >= FLEXIBLE
        self._read: Any = reader(DescribeConfigsEntry, version, self._flexible)
        self._clear_cache()

    def _clear_cache(self) -> None:
        self._first = _CachedEntry(b"", None)
        self._cached: dict[bytes, _CachedEntry] = {}
        self._views: list[tuple[bytes, View]] = []
        self._bytes = 0

    def view(self, data: bytes, start: int) -> tuple[View, int]:
        """The entries of the array at `start`, and the position after it."""
        for number, (raw, view) in enumerate(self._views):
            if data.startswith(raw, start):
                if number:
                    self._views.insert(0, self._views.pop(number))
                return view, start + len(raw)
        try:
            entries, end = self._entries(data, start)
        except (struct.error, IndexError):
            raise RemoteProtocolError(f"DescribeConfigsResponse v{self._version} is truncated") from None
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
            for cached in before.followers:
                if data.startswith(cached.raw, p):
                    p += len(cached.raw)
                    break
            else:
                cached = self._decode(data, p, before)
                p += len(cached.raw)
            entries.append(cached.entry)  # type: ignore[arg-type]  # only the first of all has none
            before = cached
        return entries, p

    def _count(self, data: bytes, p: int) -> tuple[int, int]:
        if self._flexible:
            count, p = read_uvarint(data, p)
            count -= 1
        else:
            (count,) = _I32.unpack_from(data, p)
            p += 4
        if count > len(data) - p:
            raise Malformed("has more configs than allowed")
        return max(count, 0), p

    def _decode(self, data: bytes, p: int, before: _CachedEntry) -> _CachedEntry:
        value, end = self._read(data, p, len(data))
        raw = data[p:end]
        cached = self._cached.get(raw)
        if cached is None:
            cached = _CachedEntry(raw, entry_of(value, self._version, self._type))
            if self._bytes > MAX_BYTES:
                self._clear_cache()
            self._cached[raw] = cached
            self._bytes += len(raw)
        del before.followers[MAX_FOLLOWERS - 1 :]
        before.followers.insert(0, cached)
        return cached


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
    """The source of an entry in version 0, which has only a flag. As in Java's client."""
    if is_default:
        return Source.DEFAULT
    if resource_type == ResourceType.TOPIC:
        return Source.TOPIC
    return Source.STATIC if resource_type == ResourceType.BROKER else Source.UNKNOWN
