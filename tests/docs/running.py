"""Runs a page of the docs like a reader: in an empty directory, in a shell, one block after the other.

`localhost:9092` and `127.0.0.1:9092` on a page are replaced by the address of a server started for the page.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from kconf.spark.startup import cache
from tests.docs.blocks import ROOT, Block, Page, Step, differences, steps
from tests.support.process import free_port

LONGEST = 600.0
_SERVES = re.compile(r"^\s*kconf serve\b")
_NAMED = re.compile(r"\b(?:localhost|127\.0\.0\.1):(9\d\d\d|2181)\b")


class Reader:
    """Runs the commands of a page. `addresses` replaces the addresses on the page."""

    def __init__(self, page: Page, directory: Path, addresses: dict[str, str]) -> None:
        self.page = page
        self._directory = directory
        self._addresses = dict(addresses)
        self._servers: list[subprocess.Popen[str]] = []
        (directory / "examples").symlink_to(ROOT / "examples")
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("KCONF_", "XDG_"))},
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(directory),
            "XDG_CACHE_HOME": str(cache.directory().parent),  # where Delta Lake's jars are
            "COLUMNS": "120",
            "NO_COLOR": "1",
            "LC_ALL": "C.UTF-8",
        }

    def read(self) -> None:
        for block in self.page.blocks:
            match block.language:
                case "sh":
                    self._shell(block)
                case "console":
                    for step in steps(block.text):
                        self._step(block, step)
                case "python":
                    self._python(block)
                case _ if block.title is not None:
                    (self._directory / block.title).parent.mkdir(parents=True, exist_ok=True)
                    (self._directory / block.title).write_text(self._here(block.text))

    def close(self) -> None:
        for server in self._servers:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(30)
            if server.stdout is not None:
                server.stdout.close()

    def _shell(self, block: Block) -> None:
        for line in block.text.replace("\\\n", "\0").splitlines():
            if _SERVES.match(line):
                self._serve(block, line.replace("\0", "\\\n"))
            elif line.strip() and not line.startswith("#"):
                self._step(block, Step(line.replace("\0", "\\\n"), ["…"], 0))

    def _step(self, block: Block, step: Step) -> None:
        if _SERVES.match(step.command):
            printed = self._serve(block, step.command)
            wrong = differences(step.expected, printed) if step.expected else []
            assert not wrong, self._complaint(block, step.command, "\n".join(wrong))
            return
        done = self._run(["bash", "-c", self._here(step.command)])
        printed = self._there(done.stdout)
        assert done.returncode == step.status, self._complaint(
            block, step.command, f"exit {done.returncode}, not {step.status}\n{printed}"
        )
        wrong = differences(step.expected, printed)
        assert not wrong, self._complaint(block, step.command, "\n".join(wrong))

    def _python(self, block: Block) -> None:
        done = self._run([sys.executable, "-c", self._here(block.text)])
        assert done.returncode == 0, self._complaint(block, "python", done.stdout)

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self._directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST,
            check=False,
        )

    def _serve(self, block: Block, command: str) -> str:
        """Start a server and leave it running; returns its output until it was ready."""
        if "--listen" not in command:
            command = command.replace("kconf serve", "kconf serve --listen 127.0.0.1:9092", 1)
        server = subprocess.Popen(
            ["bash", "-c", "exec " + self._here(command).strip().removesuffix("&")],
            cwd=self._directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._servers.append(server)
        assert server.stdout is not None
        said = self._until_ready(server.stdout)
        assert " ready: " in said, self._complaint(block, command, said)
        return self._there(said)

    @staticmethod
    def _until_ready(lines: IO[str]) -> str:
        said, ends = "", time.monotonic() + LONGEST
        while time.monotonic() < ends and (line := lines.readline()):
            said += line
            if " ready: " in line:
                break
        return said

    def _here(self, text: str) -> str:
        return _NAMED.sub(lambda found: self._address(found[1]), text)

    def _address(self, port: str) -> str:
        return self._addresses.setdefault(port, f"127.0.0.1:{free_port()}")

    def _there(self, text: str) -> str:
        for port, address in self._addresses.items():
            text = text.replace(address, f"127.0.0.1:{port}")
        return text.replace(str(self._directory), "~")

    def _complaint(self, block: Block, command: str, what: str) -> str:
        return f"{self.page.name}:{block.line}\n$ {command}\n{what}"


@contextmanager
def reader(page: Page, **addresses: str) -> Iterator[Reader]:
    """A reader in an empty directory. `addresses` are the replacements by port (`p9092=…`)."""
    with tempfile.TemporaryDirectory(prefix="docs-") as directory:
        made = Reader(page, Path(directory), {name.removeprefix("p"): value for name, value in addresses.items()})
        try:
            yield made
        finally:
            made.close()
