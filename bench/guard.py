"""Makes sure that a server does not outlive its benchmark, even if the benchmark is killed.

The guard is a shell that waits for the end of a pipe which only the benchmark has open. When the benchmark ends in any
way, the guard kills the server and removes its files.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

_WATCH: Final = 'read -r _; kill -9 "$1"; sleep 0.1; rm -rf "$2"'


class Guard:
    """Guards one process and its directory until it is dismissed."""

    def __init__(self, pid: int, directory: Path) -> None:
        shell = shutil.which("sh") or "/bin/sh"
        self._shell = subprocess.Popen(
            [shell, "-c", _WATCH, "guard", str(pid), str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # signals for the benchmark must not end it
        )

    def dismiss(self) -> None:
        """Call this before the process ends, because its pid may be reused."""
        self._shell.kill()
        self._shell.wait()
        if self._shell.stdin is not None:
            self._shell.stdin.close()
