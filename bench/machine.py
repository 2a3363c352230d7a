"""Data about this machine, the resource usage of processes, and the load of other processes during a measurement.

Linux only, from /proc; elsewhere the figures are zero, and other load is not reported.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def describe() -> str:
    model = "unknown processor"
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return f"{cores()} cores ({model}), {platform.system()} {platform.release()}, Python {platform.python_version()}"


def rss_bytes(pid: int) -> int:
    """The memory of a process and its children."""
    own = sum(int(line.split()[1]) * 1024 for line in _lines(f"/proc/{pid}/status") if line.startswith("VmRSS:"))
    return own + sum(rss_bytes(child) for child in _children(pid))


def cpu_seconds(pid: int) -> float:
    """Processor time of a process and its living children."""
    lines = _lines(f"/proc/{pid}/stat")
    if not lines:
        return 0.0
    after_name = lines[0].rpartition(")")[2].split()
    own = (int(after_name[11]) + int(after_name[12])) / _TICKS
    return own + sum(cpu_seconds(child) for child in _children(pid))


def busy_seconds() -> float:
    """Processor time of all processes since the machine started."""
    lines = _lines("/proc/stat")
    if not lines:
        return 0.0
    user, nice, system, _, _, irq, soft = (int(each) for each in lines[0].split()[1:8])
    return (user + nice + system + irq + soft) / _TICKS


def _children(pid: int) -> list[int]:
    """The children of all threads: the executors of Spark are started by a thread of the worker."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for each in tasks for line in _lines(str(each)) for child in line.split()]


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
