"""A server that a benchmark started must not outlive it, also where the benchmark was killed.

The guard is a shell that waits for the end of a pipe which only we hold open. When we are gone, however that came, it
kills the server and removes its files.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

_WATCH: Final = 'read -r _; kill -9 "$1"; sleep 0.1; rm -rf "$2"'


class Guard:
    """Watches over one process and its directory until it is dismissed."""

    def __init__(self, pid: int, directory: Path) -> None:
        shell = shutil.which("sh") or "/bin/sh"
        self._shell = subprocess.Popen(
            [shell, "-c", _WATCH, "guard", str(pid), str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a signal for us is not for it
        )

    def dismiss(self) -> None:
        """Before the process is ended: its number may soon be another's."""
        self._shell.kill()
        self._shell.wait()
        if self._shell.stdin is not None:
            self._shell.stdin.close()
