"""Runs the console: an HTTP server in this process, until it is stopped."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from threading import Thread
from typing import Final

import uvicorn

from kconf.console.app import create_app
from kconf.console.console import Console
from kconf.console.settings import ConsoleSettings
from kconf.errors import ConfigurationError

_BACKLOG: Final = 128


class RunningConsole:
    """A running console. `url` is its address."""

    def __init__(self, console: Console, server: uvicorn.Server, bound: socket.socket) -> None:
        self._console, self._server = console, server
        settings = console.settings
        host, self.port = settings.listen.host, bound.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        self.url = f"{settings.scheme}://{shown}:{self.port}/"

    def stop(self) -> None:
        """Finish requests in progress and close event streams."""
        self._server.should_exit = True
        self._console.monitors.end_streams()


@contextmanager
def _prepared(settings: ConsoleSettings) -> Iterator[tuple[Console, uvicorn.Server, socket.socket]]:
    settings.check()
    bound = _bind(settings)
    try:
        with Console(settings) as console:
            config = uvicorn.Config(
                create_app(console),
                log_level="warning",
                access_log=False,
                lifespan="off",
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=2,
                ssl_certfile=settings.certificate,
                ssl_keyfile=settings.key,
            )
            yield console, uvicorn.Server(config), bound
    finally:
        bound.close()


def _bind(settings: ConsoleSettings) -> socket.socket:
    listen = settings.listen
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    # With this protocol, asyncio sets TCP_NODELAY on connections. Without it, a browser waits 40 ms for the second part
    # of a response.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((listen.host, listen.port))
        bound.listen(_BACKLOG)  # clients that connect before pages are served wait
    except OSError as error:
        bound.close()
        raise ConfigurationError(f"the console cannot listen on {listen}: {error.strerror}") from None
    return bound


@contextmanager
def console_in_thread(settings: ConsoleSettings) -> Iterator[RunningConsole]:
    """A console in its own thread next to a server, so that pages never delay requests to the server."""
    with _prepared(settings) as (console, server, bound):
        thread = Thread(target=server.run, kwargs={"sockets": [bound]}, name="kconf-console", daemon=True)
        thread.start()
        running = RunningConsole(console, server, bound)
        try:
            yield running
        finally:
            running.stop()
            thread.join(timeout=5)


@asynccontextmanager
async def console_in_loop(settings: ConsoleSettings) -> AsyncIterator[RunningConsole]:
    """A console in this event loop, which does not handle signals itself."""
    with _prepared(settings) as (console, server, bound):
        task = asyncio.create_task(server._serve([bound]))
        running = RunningConsole(console, server, bound)
        try:
            while not server.started and not task.done():
                await asyncio.sleep(0.01)
            yield running
        finally:
            running.stop()
            with suppress(asyncio.CancelledError):
                await task
