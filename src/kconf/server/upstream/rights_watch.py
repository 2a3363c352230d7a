"""Stops a gateway if the cluster has an authorizer for which it has no settings: its clients would have its rights."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kconf.errors import ConfigurationError
from kconf.server.static_config import check_gateway
from kconf.store.base import UNNAMED_AUTHORIZER, Store

if TYPE_CHECKING:
    from kconf.server.upstream.authorizer_check import AuthorizerCheck

_INTERVAL: Final = 1.0  # seconds; the store reads the brokers every 10 seconds


class RightsWatch:
    """Used from the event loop. `failure` gets the reason why the gateway must stop."""

    def __init__(
        self, static: Mapping[str, str], store: Store, on_connect: AuthorizerCheck | None, failure: asyncio.Future[None]
    ) -> None:
        self._static, self._store, self._on_connect, self._failure = static, store, on_connect, failure

    def check(self) -> None:
        """Raises ConfigurationError if the settings do not fit the cluster."""
        self._check(self._authorizer())

    def enforce(self) -> None:
        """From now on, use no connection if a node has an authorizer. So far, nothing was sent for clients."""
        if self._on_connect is None:
            return
        loop = asyncio.get_running_loop()

        def stop() -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._stop_without_rights, UNNAMED_AUTHORIZER)

        self._on_connect.enforce(stop)
        self.check()  # a thread may have found one in the meantime

    async def follow(self) -> None:
        """Check at an interval until cancelled."""
        while True:
            await asyncio.sleep(_INTERVAL)
            self._stop_without_rights(self._authorizer())

    def _authorizer(self) -> str | None:
        has_found = self._on_connect is not None and self._on_connect.has_found
        return self._store.brokers_authorizer or (UNNAMED_AUTHORIZER if has_found else None)

    def _check(self, authorizer: str | None) -> None:
        brokers = self._store.brokers_static or {}
        check_gateway(self._static, authorizer, brokers=brokers, reads_log=self._store.polling is None)

    def _stop_without_rights(self, authorizer: str | None) -> None:
        try:
            self._check(authorizer)
        except ConfigurationError as error:
            if not self._failure.done():
                self._failure.set_exception(
                    ConfigurationError(
                        f"the authorizer or the principals of the cluster have changed; the gateway stops: {error}"
                    )
                )
