"""The response of ListConfigChanges names a gateway: its revisions have gaps where nothing is missing."""

from __future__ import annotations

import pytest

from kconf.protocol.codec.serde import decode
from kconf.protocol.messages.list_config_changes import ListConfigChangesResponse
from kconf.server.api.list_config_changes import _listed
from kconf.server.journal.change_feed import EncodedPage


@pytest.mark.parametrize("is_gateway", [False, True])
def test_a_page_of_changes_has_the_epoch_and_names_a_gateway(is_gateway: bool) -> None:
    body = b"".join(_listed(EncodedPage((), b"", 7, 9, 2), 3, is_gateway=is_gateway))

    assert decode(ListConfigChangesResponse, 0, True, body) == ListConfigChangesResponse(
        oldest=2, current=9, next_after=7, revisions=[], epoch=3, is_gateway=is_gateway
    )
    assert (len(body) == len(b"".join(_listed(EncodedPage((), b"", 7, 9, 2), 3, is_gateway=False)))) is not is_gateway
