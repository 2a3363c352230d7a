"""The bytes in docs/extensions.md are those that the codec writes and reads, and every extension has an example."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kconf.protocol.apis import APIS, BY_NAME
from kconf.protocol.codec.fields import fields_of
from kconf.protocol.codec.serde import decode, encode
from kconf.protocol.headers import ResponseTags, read_header, read_response_tags, request, response
from kconf.protocol.messages.list_config_changes import ListConfigChangesRequest
from kconf.protocol.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
    ListedConfigResource,
)
from kconf.server.api.router import HANDLERS
from tests.docs import extensions
from tests.docs.extensions import MESSAGES, PAGE

BLOCKS = extensions.blocks()


def golden(name: str) -> bytes:
    """The bytes of a block, without descriptions."""
    return b"".join(bytes.fromhex(line[:47]) for line in BLOCKS[name].splitlines())


@pytest.mark.parametrize("name", MESSAGES)
def test_the_bytes_on_the_page_are_those_of_the_codec(name: str) -> None:
    version, message = MESSAGES[name]
    flexible = extensions.is_flexible(name, version)

    assert golden(name) == encode(message, version, flexible)
    again: Any = decode(type(message), version, flexible, golden(name))
    assert encode(again, version, flexible) == golden(name)


@pytest.mark.parametrize("name", MESSAGES)
def test_the_page_names_every_field_as_it_is_declared(name: str) -> None:
    """`python -m tests.docs.extensions` rewrites the page."""
    version, _ = MESSAGES[name]

    assert f"{name} v{version}\n{BLOCKS[name]}" == extensions.block(name)


def frames() -> list[bytes]:
    """The frames of the page, which are shown with their headers."""
    found = re.findall(r"^```hex\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [b"".join(bytes.fromhex(line[:26]) for line in text.splitlines()) for text in found]


def test_the_first_frame_on_the_page_is_a_complete_request() -> None:
    assert frames()[0] == request(BY_NAME["ListConfigChanges"], 0, 7, "tool", ListConfigChangesRequest(41))


def test_the_page_has_complete_frames_of_a_request_with_a_revision_and_its_response() -> None:
    api = BY_NAME["ListConfigResources"]
    asked, answered = frames()[1:]

    assert asked == request(api, 1, 7, "tool", ListConfigResourcesRequest([2]), required_revision=41)
    assert read_header(asked[4:], flexible=True).required_revision == 41
    answer = ListConfigResourcesResponse(0, 0, [ListedConfigResource("orders", 2)])
    tags = ResponseTags(42, stale=True)
    assert answered == response(api, 1, 7, encode(answer, 1, True), tags.encoded())
    assert read_response_tags(answered, 8)[0] == tags


def test_every_extension_has_an_example_on_the_page() -> None:
    ours = [api.name for key, api in APIS.items() if key > 1000 and key in HANDLERS]

    assert {f"{name}{side}" for name in ours for side in ("Request", "Response")} <= set(BLOCKS)
    assert set(BLOCKS) == set(MESSAGES)


def test_every_tag_of_kconf_is_on_the_page() -> None:
    tags = {
        field.tag
        for api in BY_NAME.values()
        for message in (api.request, api.response)
        for field in _all_fields(message)
        if field.tag is not None and field.tag >= 10_000
    }

    assert len(tags) > 5
    assert {tag for tag in tags if f"tag {tag}\n" not in PAGE.read_text("utf-8")} == set()


def _all_fields(cls: Any) -> list[Any]:
    found = []
    for field in fields_of(cls):
        found.append(field)
        inner = getattr(field.type, "of", field.type)
        if isinstance(inner, type):
            found += _all_fields(inner)
    return found
