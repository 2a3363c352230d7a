"""A gateway forwards requests only to brokers of its own cluster."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from kconf.client.settings import Address, Bootstrap, ClientSettings
from kconf.client.transport.connector import Connector
from kconf.client.transport.raw_connection import RawConnection
from kconf.errors import UpstreamUnavailable
from kconf.protocol.codec.serde import encode
from kconf.protocol.messages.metadata import MetadataResponse
from kconf.server.upstream.connect import connect_to_cluster


class Connection:
    """A connection to a broker of cluster C."""

    def __init__(self) -> None:
        self.is_aborted = False

    async def exchange(self, frame: bytes) -> bytes:
        return frame[4:8] + encode(MetadataResponse(cluster_id="C"), 4, False)

    def abort(self) -> None:
        self.is_aborted = True


@pytest.mark.parametrize("wanted", ["C", "D"])
def test_a_broker_of_another_cluster_gets_no_requests(monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    """Such as after a DNS change, until the gateway has noticed it."""
    opened = Connection()

    async def connect(*_: Any) -> RawConnection:
        return cast(RawConnection, opened)

    monkeypatch.setattr(RawConnection, "connect", connect)
    address = Address("kafka", 9092)
    settings = ClientSettings(Bootstrap((address,)))
    made = connect_to_cluster(Connector(settings), settings, address, wanted)
    if wanted == "C":
        assert cast(Any, asyncio.run(made)) is opened
    else:
        with pytest.raises(UpstreamUnavailable, match="belongs to cluster C, not to D"):
            asyncio.run(made)
    assert opened.is_aborted == (wanted != "C")
