"""The console of a server, in its own process: `kconf serve --console`."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

from kconf.cli.common.options.oidc import oidc_settings
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
async def own_console(options: argparse.Namespace, server: Server) -> AsyncIterator[RunningConsole]:
    """A console on a loopback address, that connects to the server's first listener without TLS."""
    try:
        from kconf.console.run import console_in_thread
        from kconf.console.settings import ConsoleSettings, parse_listen
    except ImportError as error:
        raise ConfigurationError(f"--console needs another package: pip install 'kconf[console]' ({error})") from None
    address = parse_listen(options.console)
    if not address.is_loopback:
        raise ConfigurationError(
            f"--console takes a loopback address, not {address}; for other addresses, run `kconf console --login`"
            " with TLS"
        )
    oidc = oidc_settings(options)
    context, has_logins = _context(server, takes_tokens=oidc is not None)
    settings = ConsoleSettings(address, [Target(context)], login=has_logins, oidc=oidc, public_url=options.public_url)
    stack = ExitStack()
    running = stack.enter_context(console_in_thread(settings))
    try:
        yield running
    finally:
        await asyncio.to_thread(stack.close)


def _context(server: Server, *, takes_tokens: bool) -> tuple[Context, bool]:
    """How a client reaches the server, and whether people must log in with a user of it.

    With `takes_tokens` a listener with OAUTHBEARER is preferred, because there people act as themselves.
    """
    plain = [each for each in server.listeners if not each.endpoint.protocol.tls]
    if not plain:
        raise ConfigurationError(
            "--console needs a listener without TLS (PLAINTEXT or SASL_PLAINTEXT) on a loopback address. Add one, or"
            " run `kconf console` with a context that trusts the server's certificate"
        )
    tokens = [each for each in plain if takes_tokens and "OAUTHBEARER" in _mechanisms(server, each)]
    listener = tokens[0] if tokens else min(plain, key=lambda each: each.endpoint.protocol != "PLAINTEXT")
    host = listener.address.host
    bootstrap = f"{_ANYWHERE.get(host, f'[{host}]' if ':' in host else host)}:{listener.port}"
    if listener.endpoint.protocol == "PLAINTEXT":
        return Context(NAME, bootstrap), False
    if takes_tokens and not tokens:
        raise ConfigurationError(
            "--oidc-issuer: the server accepts no tokens without TLS; enable OAUTHBEARER for a SASL_PLAINTEXT listener"
            " on a loopback address"
        )
    mechanism = "OAUTHBEARER" if tokens else _mechanism(_mechanisms(server, listener))
    properties = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism}
    return Context(NAME, bootstrap, properties=properties), not tokens


def _mechanisms(server: Server, listener: Listener) -> list[str]:
    """The enabled mechanisms of a listener; none if it has no SASL."""
    if not listener.endpoint.protocol.startswith("SASL"):
        return []
    enabled = listener.endpoint.setting(server.context.service.state.resolver.effective, "sasl.enabled.mechanisms")
    return [each.strip() for each in (enabled or "").split(",")]


def _mechanism(names: list[str]) -> str:
    found = next((each for each in _MECHANISMS if each in names), None)
    if found is None:
        mechanisms = ", ".join(_MECHANISMS)
        raise ConfigurationError(
            f"--console: people cannot log in; add one of {mechanisms} to sasl.enabled.mechanisms of the listener"
        )
    return found
