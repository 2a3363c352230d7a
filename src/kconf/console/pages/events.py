"""Server-sent events of a cluster: `changed` whenever a change replaced its snapshot.

The data is JSON: the number of changes and the time of the snapshot. `seen` is the number of changes that a page has
seen: if there are others, it gets an event at once. A comment every few seconds prevents proxies from closing the
connection.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

from starlette.responses import Response, StreamingResponse

from kconf.console.cluster.events import ClusterEvent
from kconf.errors import KconfError
from kconf.util.iso_time import iso_time

if TYPE_CHECKING:
    from starlette.requests import Request

    from kconf.console.console import Cluster, Console
    from kconf.console.security.sessions import Session

_ALIVE: Final = 15.0  # seconds


async def events(console: Console, session: Session, request: Request) -> Response:
    try:
        cluster = console.cluster(request.path_params["context"], session, wait=0)
    except KconfError:
        return Response(status_code=403)
    stream = _stream(cluster, request.query_params.get("seen", ""))
    return StreamingResponse(stream, media_type="text/event-stream", headers={"x-accel-buffering": "no"})


async def _stream(cluster: Cluster, seen: str) -> AsyncIterator[str]:
    with cluster.monitor.subscribers.subscribe() as subscription:
        yield "retry: 2000\n\n"
        now = cluster.monitor.snapshot
        if seen and seen != str(now.changes):  # after the page was rendered, or while it was not connected
            yield f"event: changed\ndata: {_data(ClusterEvent((), now, lost=True))}\n\n"
        while True:
            try:
                async with asyncio.timeout(_ALIVE):
                    event = await subscription.next()
            except TimeoutError:
                yield ": alive\n\n"
                continue
            if event is None:
                return
            if event.entries or event.lost:
                yield f"event: changed\ndata: {_data(event)}\n\n"


def _data(event: ClusterEvent) -> str:
    """The event without names: pages load the names themselves, with the rights of the person."""
    return json.dumps({"changes": len(event.entries), "taken": iso_time(event.snapshot.taken), "lost": event.lost})
