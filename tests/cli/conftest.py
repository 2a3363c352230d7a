"""One kconf server for all tests of commands, and functions that run commands."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pytest

from kconf import SyncAdminClient
from tests.support.process import KconfProcess


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of a command."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Command = Callable[..., Ran]


@pytest.fixture(scope="module")
def server() -> Iterator[KconfProcess]:
    with KconfProcess() as process:
        yield process


@pytest.fixture
def admin(server: KconfProcess) -> Iterator[SyncAdminClient]:
    with SyncAdminClient(server.bootstrap) as client:
        yield client


def run_in_process(main: Callable[[list[str]], int], args: list[str]) -> Ran:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(args)
    return Ran(status, out.getvalue(), err.getvalue())


def run_program(
    *words: str, stdin: str | None = None, environment: Mapping[str, str] | None = None, timeout: float = 60.0
) -> Ran:
    """Run `python -m kconf …` in its own process."""
    done = subprocess.run(
        [sys.executable, "-m", "kconf", *words],
        input=stdin if stdin is not None else "",
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        env={**os.environ, **(environment or {})},
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def configs(server: KconfProcess) -> Command:
    """Run kafka-configs on the server, in this process."""
    from kconf.cli.compat.kafka_configs.main import main

    return lambda *args: run_in_process(main, ["--bootstrap-server", server.bootstrap, *args])
