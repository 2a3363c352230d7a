"""How the console listens."""

from __future__ import annotations

import asyncio
import socket

from kconf.client.contexts.context import Context
from kconf.console.run import console_in_loop
from kconf.console.settings import ConsoleSettings, ListenAddress
from kconf.operations.target import Target


def test_responses_are_sent_without_delay() -> None:
    """The kernel would hold back the second part of a response for 40 ms (Nagle's algorithm)."""
    settings = ConsoleSettings(ListenAddress("127.0.0.1", 0), [Target(Context("down", "127.0.0.1:1"))])

    async def option() -> int:
        async with console_in_loop(settings) as running:
            reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
            writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert await reader.readline()
            (accepted,) = running._server.server_state.connections
            found: int = accepted.transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            writer.close()
            return found

    assert asyncio.run(option()) == 1
