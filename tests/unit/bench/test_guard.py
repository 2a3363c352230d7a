"""A benchmark that is killed leaves no server behind."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from bench.guard import Guard

ROOT = Path(__file__).parents[3]
_HOLDER = """
import subprocess, sys, time
from pathlib import Path
from bench.guard import Guard
server = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
guard = Guard(server.pid, Path(sys.argv[1]))
print(server.pid, flush=True)
time.sleep(600)
"""


def is_running(pid: int) -> bool:
    """Whether a process is running. A zombie is not."""
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_processes_of_a_killed_benchmark_end_with_it(tmp_path: Path) -> None:
    directory = tmp_path / "files"
    directory.mkdir()
    command = [sys.executable, "-c", _HOLDER, str(directory)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        pid = int(holder.stdout.readline())
        assert is_running(pid)
        holder.kill()
    ends = time.monotonic() + 60
    while is_running(pid) or directory.exists():
        assert time.monotonic() < ends
        time.sleep(0.05)


def test_a_dismissed_guard_kills_nothing(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as server:
        Guard(server.pid, tmp_path).dismiss()
        assert is_running(server.pid)
        server.communicate(b"\n")
    assert server.returncode == 0
    assert tmp_path.exists()
