"""Background tasks of a server that fail unexpectedly."""

from __future__ import annotations

import asyncio

import pytest

from kconf.errors import KconfError
from kconf.server import server as servers
from kconf.server.server import Server, ServerOptions


def failure_of() -> BaseException | None:
    """Why a server would stop, after a few turns of the event loop, or None."""

    async def run() -> BaseException | None:
        async with Server(ServerOptions("memory:", port=0)) as server:
            for _ in range(10):
                await asyncio.sleep(0)
        return server.failure.exception() if server.failure.done() else None

    return asyncio.run(run())


def test_a_task_that_fails_stops_the_server(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    async def fail(_: object) -> None:
        raise ValueError("the value of a client")

    monkeypatch.setattr(servers, "housekeep", fail)
    failure = failure_of()
    assert isinstance(failure, KconfError)
    assert str(failure) == "the background task 'housekeeping' failed: ValueError; see the log"
    (record,) = [each for each in caplog.records if each.levelname == "CRITICAL"]
    assert record.exc_info is not None
    assert record.exc_info[0] is ValueError


def test_tasks_that_are_cancelled_at_shutdown_are_no_failure() -> None:
    assert failure_of() is None
