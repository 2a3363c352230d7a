"""The connections of the AdminClient, on asyncio: one per address, shared by all tasks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from kconf.client.calls.base import NodeVersions
from kconf.client.settings import Address, ClientSettings
from kconf.client.transport.asyncio_connection import AsyncNodeConnection
from kconf.client.transport.connector import Connector
from kconf.client.transport.failures import SILENT_AFTER, warn_of_silence
from kconf.client.transport.requests import NodeRequest, Reply, not_sent_in_time
from kconf.client.transport.revisions import ClientRevision
from kconf.errors import ConnectionFailed, KconfError

_CLOSE_TIMEOUT = 1.0  # seconds


class AsyncConnectionPool:
    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self.revision = ClientRevision()
        self.nodes: dict[Address, NodeVersions] = {}  # the versions of each node at the last connection
        self._connections: dict[Address, AsyncNodeConnection] = {}
        self._opening: dict[Address, asyncio.Lock] = {}
        self._connector = Connector(settings)
        self._silent: set[Address] = set()  # addresses that accept connections but have not responded yet

    async def close(self) -> None:
        connections = list(self._connections.values())
        self._connections.clear()
        for each in connections:
            each.close()
        if connections:
            await asyncio.wait([each.lost for each in connections], timeout=_CLOSE_TIMEOUT)
        for each in connections:
            each.abort()

    async def send_batch(self, requests: Sequence[NodeRequest], deadline: float) -> list[Reply]:
        """Send all requests concurrently. Returns a result or an error for each, in their order."""
        if len(requests) == 1:
            return [await self._send(requests[0], deadline)]
        tasks = [asyncio.create_task(self._send(each, deadline)) for each in requests]
        try:
            return await asyncio.gather(*tasks)
        except BaseException:  # for example an error of a token callable; no task may outlive the call
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    async def _send(self, request: NodeRequest, deadline: float) -> Reply:
        try:
            async with asyncio.timeout_at(deadline):
                connection = await self._connection(request.address)
                await connection.slots.acquire()
        except TimeoutError:
            return not_sent_in_time(request, silent=request.address in self._silent)
        except KconfError as error:
            return error
        try:
            return await connection.send(request, deadline)
        except KconfError as error:
            return error
        finally:
            connection.slots.release()

    async def _connection(self, address: Address) -> AsyncNodeConnection:
        connection = self._connections.get(address)
        if connection is not None and connection.is_usable():
            return connection
        async with self._opening.setdefault(address, asyncio.Lock()):
            connection = self._connections.get(address)
            if connection is not None and connection.is_usable():
                return connection
            if connection is not None:
                del self._connections[address]
                connection.retire()
            self._connections[address] = connection = await self._open(address)
            return connection

    async def _open(self, address: Address) -> AsyncNodeConnection:
        """Connect and log in. The caller enforces the deadline of its call."""
        timeouts = self._settings.timeouts
        login = await self._connector.login(address)
        connection = AsyncNodeConnection(self._settings, address, self.revision)
        word = asyncio.get_running_loop().call_later(SILENT_AFTER, warn_of_silence, address)
        try:
            async with _timeout(timeouts.connect, address):
                await self._connector.connect(connection, address)
            self._silent.add(address)
            async with _timeout(timeouts.request, address):
                self.nodes[address] = await connection.open(login)
            self._silent.discard(address)
        except BaseException:
            connection.abort()
            raise
        finally:
            word.cancel()
        return connection


@asynccontextmanager
async def _timeout(seconds: float, address: Address) -> AsyncIterator[None]:
    """Raise ConnectionFailed after a time limit. The deadline of the call cancels instead."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise ConnectionFailed(f"cannot connect to {address}: no response in time") from None
