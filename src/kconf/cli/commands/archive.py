"""`kconf archive`: show the state of an archive, or make its server flush it."""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from kconf.errors import ConfigurationError, StoreError, StoreLocked

_EXAMPLES = """\
examples:
  kconf serve --archive /var/lib/kconf/archive
  kconf archive flush /var/lib/kconf/archive       returns once all committed changes are archived
  kconf archive status /var/lib/kconf/archive
"""
_TIMEOUT = 60.0  # seconds


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "archive",
        help="show or flush an archive of changes",
        description="Show the state of an archive of changes, or flush it.",
        epilog=_EXAMPLES,
    )
    words = command.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, about, run in (
        ("flush", "make the server archive all committed changes, and wait", flush),
        ("status", "show the last archived revision and the writing process", status),
    ):
        word = words.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
        word.add_argument("directory", metavar="DIR", type=Path, help="the directory passed to `kconf serve --archive`")
        word.set_defaults(run=run)


def flush(options: argparse.Namespace) -> int:
    from kconf.server.journal.archive import REQUEST

    running = [(each, pid) for each in _clusters(options.directory) if (pid := _writer(each)) is not None]
    if not running:
        raise StoreError(f"no server on this machine archives to {options.directory}")
    for cluster, pid in running:
        request = cluster / f"{REQUEST}-{token_hex(4)}"
        try:
            request.touch(0o600)
            os.kill(pid, signal.SIGUSR1)
            _wait_for(request, pid)
        except OSError as error:
            raise StoreError(f"cannot ask process {pid} to archive its changes: {error.strerror}") from None
        finally:
            with suppress(OSError):
                request.unlink()
        print(f"{cluster.name}: {_reach(cluster)}")
    return 0


def status(options: argparse.Namespace) -> int:
    for cluster in _clusters(options.directory):
        pid = _writer(cluster)
        who = "no server is writing" if pid is None else f"written by process {pid}"
        print(f"{cluster.name}: {_reach(cluster)}, {who}")
    return 0


def _clusters(directory: Path) -> Sequence[Path]:
    try:
        found = sorted(each for each in directory.iterdir() if each.is_dir() and not each.name.startswith("."))
    except OSError as error:
        raise ConfigurationError(f"cannot read {directory}: {error.strerror}") from None
    if not found:
        raise StoreError(f"{directory} contains no archive")
    return found


def _writer(cluster: Path) -> int | None:
    """The process that writes a cluster's archive; None if there is none."""
    from kconf.util.atomic_files import FileLock

    path = cluster / ".archiver"
    if not path.with_name(".archiver.lock").exists():
        return None
    try:
        FileLock(path).release()
    except StoreLocked:
        text = path.with_name(".archiver.lock").read_text().strip()
        return int(text) if text.isdecimal() else None
    return None


def _wait_for(request: Path, pid: int) -> None:
    deadline = time.monotonic() + _TIMEOUT
    while request.exists():
        if time.monotonic() > deadline:
            raise StoreError(f"process {pid} did not archive within {_TIMEOUT:.0f} s; see its log and /health")
        time.sleep(0.01)


def _reach(cluster: Path) -> str:
    from kconf.server.journal.archive import last_line, segments

    changes = [each for each in segments(cluster) if not each.kind]
    if not changes:
        return "nothing archived yet"
    last = max(changes, key=lambda each: (each.epoch, each.last))
    return f"archived up to revision {last_line(last.path)['revision']} in {len(changes)} segments"
