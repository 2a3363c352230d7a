"""Encoded entries and Views of DescribeConfigs responses, cached in the entry or View that they belong to."""

from __future__ import annotations

from typing import Final

from kconf.model.entry import Entry, View
from kconf.protocol.describe_configs_encoding import Form, encode_entry, result_tail

_MAX_FORMS: Final = 4  # cached forms per View; clients use one or two


def tail_of(view: View, form: Form) -> bytes:
    """All encoded entries of a View, joined and cached."""
    tail: bytes | None = view.memo.get(form)
    if tail is None:
        if len(view.memo) >= _MAX_FORMS:
            view.memo.clear()
        tail = view.memo[form] = result_tail(form, [entry_bytes(entry, form) for entry in view.entries])
    return tail


def entry_bytes(entry: Entry, form: Form) -> bytes:
    known: bytes | None = entry.memo.get(form)
    if known is None:
        known = entry.memo[form] = encode_entry(
            form,
            entry.name,
            entry.value,
            read_only=entry.read_only,
            source=entry.source,
            sensitive=entry.sensitive,
            synonyms=entry.synonyms,
            value_type=entry.type,
            documentation=entry.documentation,
        )
    return known
