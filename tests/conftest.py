"""The lab's fixtures (real brokers, tools, a real ZooKeeper) and a Spark session, started on first use; and the options
of all tests, which pytest reads only from this file.
"""

from __future__ import annotations

import signal

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = [
    "lab.pytest_plugin",
    *(f"tests.support.{name}" for name in ("random_order", "sessions", "targets", "workers")),
]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background: child processes would ignore Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # nohup: child processes would ignore a hangup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")  # the duration of an example depends on the machine


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fuzz-frames", type=int, default=100_000, help="mutated frames that `make faults` sends")
