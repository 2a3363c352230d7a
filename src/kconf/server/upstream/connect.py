"""Opens connections to the brokers behind a gateway, and only to those of its cluster."""

from __future__ import annotations

from typing import Final

from kconf.client.settings import Address, ClientSettings
from kconf.client.transport.connector import Connector
from kconf.client.transport.raw_connection import RawConnection
from kconf.errors import UpstreamUnavailable
from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import LENGTH, read_response, request
from kconf.protocol.messages.metadata import MetadataRequest

_VERSION: Final = 4  # of Metadata: all brokers since Kafka 1.0 have it


async def connect_to_cluster(
    connector: Connector, settings: ClientSettings, address: Address, cluster_id: str
) -> RawConnection:
    """Connect to a broker. Raises KconfError, also if it belongs to another cluster, such as after a DNS change."""
    connection = await RawConnection.connect(connector, settings, address)
    try:
        api = BY_NAME["Metadata"]
        message = MetadataRequest([], allow_auto_topic_creation=False)
        frame = request(api, _VERSION, 0, settings.client_id, message)[LENGTH.size :]
        found = read_response(api, _VERSION, await connection.exchange(frame))[1].cluster_id
        if found != cluster_id:
            raise UpstreamUnavailable(f"{address} belongs to cluster {found}, not to {cluster_id}")
    except BaseException:
        connection.abort()
        raise
    return connection
