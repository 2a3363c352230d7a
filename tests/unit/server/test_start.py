"""What a plain server imports until it is ready. bench/start.py measures the time."""

from __future__ import annotations

import subprocess
import sys
from inspect import isfunction
from pathlib import Path
from typing import Any

import pytest

from kconf.server.api import router
from kconf.server.api.router import DeferredHandler, import_deferred

MOST = 205
"""Modules of kconf. A new one that a plain server needs may raise this; one that few need is imported when used."""
NOT_NEEDED = (
    "cryptography",
    "jinja2",
    "jwt",
    "kazoo",
    "re2",
    "yaml",
    "kconf.client",
    "kconf.configdef.releases",
    "kconf.console",
    "kconf.lake",
    "kconf.operations",
    "kconf.protocol.messages.create_topics",
    "kconf.protocol.messages.fetch",
    "kconf.server.api.data_plane.groups",
    "kconf.server.api.gateway",
    "kconf.server.api.relay",
    "kconf.server.auth.oauthbearer.settings",
    "kconf.server.auth.tls_context",
    "kconf.server.auth.upstream_credentials",
    "kconf.server.control_plane_errors",
    "kconf.server.data_plane_errors",
    "kconf.server.journal.archive",
    "kconf.server.metrics",
    "kconf.server.network.broker_listeners",
    "kconf.server.upstream.pool",
    "kconf.store.sqlite.backup",
    "kconf.store.upstream",
    "kconf.store.zookeeper",
)
_PROGRAM = """
import asyncio, sys
import kconf.cli.commands.serve
from kconf.server.server import Server, ServerOptions

async def main():
    async with Server(ServerOptions(sys.argv[1], port=0)):
        print(*sys.modules)

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    store: Path = tmp_path_factory.mktemp("store") / "kconf.db"
    program = [sys.executable, "-c", _PROGRAM, f"sqlite:///{store}"]
    return set(subprocess.run(program, capture_output=True, text=True, check=True).stdout.split())


def test_a_plain_server_does_not_import_modules_that_only_other_servers_need(loaded: set[str]) -> None:
    assert "kconf.store.sqlite.store" in loaded
    assert loaded.intersection(NOT_NEEDED) == set()


def test_a_plain_server_imports_few_modules(loaded: set[str]) -> None:
    assert len([name for name in loaded if name.partition(".")[0] == "kconf"]) <= MOST


@pytest.mark.parametrize("handler", DeferredHandler.all, ids=lambda handler: handler.name)
def test_a_deferred_handler_exists(handler: DeferredHandler) -> None:
    assert isfunction(handler.function)


def test_a_running_server_imports_the_rest_once_it_is_ready() -> None:
    """So that an upgrade of the files on disk does not mix two versions."""
    program = "import sys; from kconf.server.api.router import import_deferred; import_deferred(); print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert {f"kconf.server.api.{each.name.rpartition('.')[0]}" for each in DeferredHandler.all} <= set(found)
    assert {"kconf.server.control_plane_errors", "kconf.server.data_plane_errors"} <= set(found)


def test_a_deferred_import_is_retried_after_a_temporary_error(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[object] = []

    class Busy(DeferredHandler):
        @property
        def function(self) -> Any:
            attempts.append(self)
            if len(attempts) == 1:
                raise OSError(24, "Too many open files")
            return print

    monkeypatch.setattr(DeferredHandler, "all", [])
    Busy("busy.handle")
    monkeypatch.setattr(router, "sleep", lambda seconds: None)

    import_deferred()

    assert len(attempts) == 2
