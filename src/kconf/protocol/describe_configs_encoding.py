"""Encodes DescribeConfigs responses by joining entries that are encoded once.

The encoding of a struct does not depend on its context, so an entry that many topics share is encoded once. A test
compares the result with that of the codec, for every version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from kconf.protocol.codec.fields import I8, I16, STRING, f, struct
from kconf.protocol.codec.serde import encode, uvarint
from kconf.protocol.messages.describe_configs import DescribeConfigsEntry, DescribeConfigsSynonym
from kconf.util.slices import in_slices

DEFAULT_SOURCE: Final = 5
_FLEXIBLE: Final = 4
_SHORT: Final = 126  # bytes; the length of a longer name is a varint of several bytes
_REVISION: Final = uvarint(40003) + uvarint(8)  # kconf's tags: see DescribeConfigsResponse
_REVISION_ONLY: Final = b"\x01" + _REVISION  # one tag
_STALE: Final = uvarint(40005) + uvarint(1) + b"\x01"


class Form(NamedTuple):
    """What the encoding of an entry depends on, besides the entry."""

    version: int
    synonyms: bool
    documentation: bool

    @property
    def flexible(self) -> bool:
        return self.version >= _FLEXIBLE


def encode_entry(
    form: Form,
    name: str,
    value: str | None,
    *,
    read_only: bool,
    source: int,
    sensitive: bool,
    synonyms: Sequence[tuple[str, str | None, int]],
    value_type: int,
    documentation: str | None,
) -> bytes:
    """Encode one entry. The empty documentation of a logger is always sent."""
    entry = DescribeConfigsEntry(
        name,
        value,
        read_only,
        source == DEFAULT_SOURCE,
        source,
        sensitive,
        [DescribeConfigsSynonym(*each) for each in synonyms] if form.synonyms else (),
        value_type,
        documentation if form.documentation or not documentation else None,
    )
    return encode(entry, form.version, form.flexible)


def result_head(form: Form, code: int, message: str | None, resource_type: int, name: str) -> bytes:
    """A result up to its entries: the part that differs between topics with the same overrides."""
    return encode(_Head(code, message, resource_type, name), form.version, form.flexible)[
        : -1 if form.flexible else None
    ]


def success_head(form: Form, resource_type: int, name: str) -> bytes:
    """The head of a result without an error. A short name is not left to the codec, which takes longer."""
    text = name.encode()
    size = len(text)
    if size > _SHORT:
        return result_head(form, 0, "", resource_type, name)
    if form.version >= _FLEXIBLE:
        return b"\x00\x00\x01" + bytes((resource_type, size + 1)) + text
    return b"\x00\x00\x00\x00" + bytes((resource_type, 0, size)) + text


def result_tail(form: Form, entries: Sequence[bytes]) -> bytes:
    """A result's entries, joined."""
    return b"".join((_count(form, len(entries)), *entries, b"\x00" if form.flexible else b""))


def response_parts(
    form: Form, results: Sequence[tuple[bytes, bytes]], revision: int = -1, *, stale: bool = False
) -> list[bytes]:
    """The body of a response, in parts."""
    parts = [b"\x00\x00\x00\x00" + _count(form, len(results))]
    for head, tail in in_slices(results):
        parts.append(head)
        parts.append(tail)
    parts.append(response_end(form, revision, stale=stale))
    return parts


def response_end(form: Form, revision: int, *, stale: bool = False) -> bytes:
    """The end of a response: in flexible versions the tags, with the revision and whether it may be stale."""
    if not form.flexible:
        return b""
    # Tags must be in ascending order (KIP-482): one of Kafka's, which is below 40000, comes before the revision. Any
    # further tag also changes the number of tags, which _REVISION_ONLY contains.
    if revision >= 0 and not stale:
        return _REVISION_ONLY + revision.to_bytes(8, "big")
    tags = [_REVISION + revision.to_bytes(8, "big")] if revision >= 0 else []
    if stale:
        tags.append(_STALE)
    return b"".join((bytes([len(tags)]), *tags))


def _count(form: Form, count: int) -> bytes:
    return uvarint(count + 1) if form.flexible else count.to_bytes(4, "big")


@struct
class _Head:
    error_code: int = f(I16)
    error_message: str | None = f(STRING, nullable=0)
    resource_type: int = f(I8)
    resource_name: str = f(STRING)
