"""Clients in other languages: npm packages and Go programs, in the lab's cache."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lab.java import LabError, cache_dir, settle

_SECONDS = 900.0


def node_modules(package: str, version: str) -> Path:
    """The directory with an npm package, for NODE_PATH; downloaded the first time."""
    target = cache_dir() / f"npm-{package}-{version}"
    if not target.is_dir():
        work = Path(tempfile.mkdtemp(prefix=".npm-", dir=cache_dir()))
        try:
            flags = ["--no-audit", "--no-fund", "--no-save", "--prefix", str(work)]
            _run("npm", ["install", *flags, f"{package}@{version}"], work)
            settle(work, target)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return target / "node_modules"


def go_program(directory: Path) -> Path:
    """The program of a Go module, built if necessary."""
    sources = sorted([*directory.glob("*.go"), directory / "go.mod", directory / "go.sum"])
    digest = hashlib.sha256(b"\0".join(each.read_bytes() for each in sources)).hexdigest()[:16]
    target = cache_dir() / f"go-{digest}"
    if not target.is_dir():
        work = Path(tempfile.mkdtemp(prefix=".go-", dir=cache_dir()))
        try:
            _run("go", ["build", "-o", str(work / "program"), "."], directory)
            settle(work, target)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return target / "program"


def _run(tool: str, arguments: Sequence[str], directory: Path) -> None:
    if shutil.which(tool) is None:
        raise LabError(f"The lab needs `{tool}` for this client, but it is not on the PATH: install it.")
    command = [tool, *arguments]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, timeout=_SECONDS)
    if done.returncode != 0:
        raise LabError(f"`{tool} {arguments[0]}` failed: {(done.stdout + done.stderr)[-2000:]}")
