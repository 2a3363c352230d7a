"""`kconf watch` runs until it is interrupted, so an interrupt must always stop it."""

from __future__ import annotations

import subprocess
import sys

DROPPED = """
import os, signal, time
from kconf.cli.commands.history.watch import interruptible

class Finaliser:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass

before = signal.getsignal(signal.SIGINT)
try:
    with interruptible():
        Finaliser()
        print("dropped", flush=True)
        time.sleep(60)
except KeyboardInterrupt:
    print("heard", signal.getsignal(signal.SIGINT) is before, signal.getitimer(signal.ITIMER_REAL)[0])
"""

DEAF = """
import os, signal
from kconf.cli.commands.history.watch import interruptible

signal.signal(signal.SIGINT, signal.SIG_IGN)
with interruptible():
    os.kill(os.getpid(), signal.SIGINT)
    print("went on")
"""


def test_an_interrupt_that_python_dropped_is_raised_again() -> None:
    done = subprocess.run([sys.executable, "-c", DROPPED], capture_output=True, text=True, timeout=120, check=True)

    assert "Exception ignored" in done.stderr, "else this tries nothing"
    assert done.stdout.splitlines() == ["dropped", "heard True 0.0"]


def test_a_watch_in_the_background_of_a_script_ignores_an_interrupt() -> None:
    done = subprocess.run([sys.executable, "-c", DEAF], capture_output=True, text=True, timeout=120, check=True)

    assert (done.stdout, done.stderr) == ("went on\n", "")
