"""A response that is assembled from parts has the same bytes as one encoded at once."""

from __future__ import annotations

import itertools

import pytest

from kconf.protocol.apis import BY_NAME
from kconf.protocol.codec.serde import encode
from kconf.protocol.describe_configs_encoding import (
    Form,
    encode_entry,
    response_parts,
    result_head,
    result_tail,
    success_head,
)
from kconf.protocol.messages.describe_configs import (
    DescribeConfigsEntry,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

SYNONYMS = [("a", "1", 1), ("broker.a", None, 5)]


def _whole(form: Form, names: list[str]) -> DescribeConfigsResponse:
    synonyms = [DescribeConfigsSynonym(*each) for each in SYNONYMS] if form.synonyms else ()
    documentation = "words" if form.documentation else None
    entries = [
        DescribeConfigsEntry(f"key {n}", None, True, True, 5, True, synonyms, 3, documentation) for n in range(200)
    ]
    return DescribeConfigsResponse(0, [DescribeConfigsResult(3, "gone", 2, name, entries) for name in names], 77)


def _joined(form: Form, names: list[str]) -> bytes:
    entries = [
        encode_entry(
            form,
            f"key {n}",
            None,
            read_only=True,
            source=5,
            sensitive=True,
            synonyms=SYNONYMS,
            value_type=3,
            documentation="words",
        )
        for n in range(200)
    ]
    tail = result_tail(form, entries)
    return b"".join(response_parts(form, [(result_head(form, 3, "gone", 2, name), tail) for name in names], 77))


API = BY_NAME["DescribeConfigs"]


@pytest.mark.parametrize(
    "form",
    [Form(*each) for each in itertools.product(range(API.max + 1), (False, True), (False, True))],
    ids=str,
)
@pytest.mark.parametrize("topics", [0, 1, 3])
def test_a_response_encoded_in_parts_has_the_same_bytes(form: Form, topics: int) -> None:
    names = [f"topic {n}" for n in range(topics)]

    assert _joined(form, names) == encode(_whole(form, names), form.version, form.flexible)


@pytest.mark.parametrize("version", range(API.max + 1))
@pytest.mark.parametrize("name", ["", "a", "ü" * 63, "a" * 126, "a" * 127, "a" * 300])
def test_the_head_of_a_successful_result_equals_that_of_the_codec(version: int, name: str) -> None:
    form = Form(version, False, False)

    assert success_head(form, 32, name) == result_head(form, 0, "", 32, name)
