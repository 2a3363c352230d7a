"""The console of a server, in its own process: `kconf serve --console`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

from kconf.client.contexts.context import Context
from kconf.errors import ConfigurationError
from kconf.operations.target import Target

if TYPE_CHECKING:
    from kconf.console.run import RunningConsole
    from kconf.server.network.listener import Listener
    from kconf.server.server import Server

NAME: Final = "kconf"
"""The name of the server's own context, which is the first part of the paths."""
_MECHANISMS: Final = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")
_ANYWHERE: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "[::1]"}


@asynccontextmanager
async def own_console(listen: str, server: Server) -> AsyncIterator[RunningConsole]:
    """A console on a loopback address that connects to the server's first listener without TLS."""
    try:
        from kconf.console.run import console_in_thread
        from kconf.console.settings import ConsoleSettings, parse_listen
    except ImportError as error:
        raise ConfigurationError(f"--console needs the extra kconf[console]: {error}") from None
    address = parse_listen(listen)
    if not address.is_loopback:
        raise ConfigurationError(
            f"--console takes a loopback address, not {address}; for others run `kconf console --login` with TLS"
        )
    context, has_logins = _context(server)
    settings = ConsoleSettings(address, [Target(context)], login=has_logins)
    stack = ExitStack()
    running = stack.enter_context(console_in_thread(settings))
    try:
        yield running
    finally:
        await asyncio.to_thread(stack.close)


def _context(server: Server) -> tuple[Context, bool]:
    """How a client reaches the server, and whether people must log in."""
    plain = [each for each in server.listeners if not each.endpoint.protocol.tls]
    if not plain:
        raise ConfigurationError(
            "--console needs a listener without TLS, PLAINTEXT or SASL_PLAINTEXT, on a loopback address; or run `kconf"
            " console` with a context that trusts the server's certificate"
        )
    listener = min(plain, key=lambda each: each.endpoint.protocol != "PLAINTEXT")
    host = listener.address.host
    bootstrap = f"{_ANYWHERE.get(host, f'[{host}]' if ':' in host else host)}:{listener.port}"
    if listener.endpoint.protocol == "PLAINTEXT":
        return Context(NAME, bootstrap), False
    properties = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": _mechanism(server, listener)}
    return Context(NAME, bootstrap, properties=properties), True


def _mechanism(server: Server, listener: Listener) -> str:
    effective = server.context.service.state.resolver.effective
    enabled = listener.endpoint.setting(effective, "sasl.enabled.mechanisms") or ""
    names = [each.strip() for each in enabled.split(",")]
    found = next((each for each in _MECHANISMS if each in names), None)
    if found is None:
        raise ConfigurationError(f"--console: people log in with {', '.join(_MECHANISMS)}, none of which is enabled")
    return found
