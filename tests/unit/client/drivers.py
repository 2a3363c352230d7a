"""A common interface to both clients, so that each test covers both."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kconf import AdminClient, SyncAdminClient

KINDS = ("sync", "async")


class AsyncDriver:
    """An AdminClient with blocking calls."""

    def __init__(self, loop: asyncio.AbstractEventLoop, client: AdminClient) -> None:
        self.loop, self.client = loop, client

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.client, name)
        if not inspect.iscoroutinefunction(method):
            return method

        def call(*args: Any, **options: Any) -> Any:
            return self.loop.run_until_complete(method(*args, **options))

        return call


@contextmanager
def driver(kind: str, *args: Any, properties: Mapping[str, str] | None = None, **options: Any) -> Iterator[Any]:
    """A SyncAdminClient, or an AdminClient with the same interface; from properties if given."""
    if kind == "sync":
        made = SyncAdminClient(*args, **options) if properties is None else _from(SyncAdminClient, properties, args)
        with made:
            yield made
        return
    loop = asyncio.new_event_loop()
    try:
        client = AdminClient(*args, **options) if properties is None else _from(AdminClient, properties, args)
        yield AsyncDriver(loop, client)
        loop.run_until_complete(client.close())
    finally:
        loop.close()


def _from(cls: Any, properties: Mapping[str, str], args: tuple[Any, ...]) -> Any:
    return cls.from_properties(properties, *args)
