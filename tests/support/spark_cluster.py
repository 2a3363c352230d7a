"""A real standalone Spark on loopback: a master and workers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from tests.support.process import free_port

HOME = Path(pyspark.__file__).parent
DEADLINE = 600.0
LOOPBACK = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}


class Daemon:
    """A Spark daemon; its log shows when it is ready."""

    def __init__(self, log: Path, name: str, *words: object) -> None:
        self.log = log
        command = [HOME / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *words]
        environment = {
            **LOOPBACK,
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_DIRS": str(log.parent / "spill"),
            "SPARK_DAEMON_MEMORY": "256m",
            # a worker on a busy machine is late with its heartbeat, and the master would forget it
            "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dspark.worker.timeout=600",
            "PYSPARK_PYTHON": sys.executable,
        }
        with log.open("wb") as noise:
            self.process = subprocess.Popen(list(map(str, command)), stdout=noise, stderr=noise, env=environment)

    def __enter__(self) -> Daemon:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(timeout=120)

    def wait_for(self, pattern: str) -> None:
        end = time.monotonic() + DEADLINE
        while not re.search(pattern, self.log.read_text(errors="replace")):
            assert self.process.poll() is None, self.log.read_text(errors="replace")
            assert time.monotonic() < end, f"{self.log} never said {pattern}"
            time.sleep(0.05)


@contextmanager
def standalone(place: Path, workers: int, memory: str = "1g") -> Iterator[str]:
    """The URL of a master with workers of one core and this memory each."""
    port = free_port()
    with ExitStack() as stack:
        words = ("--host", "127.0.0.1", "--port", port, "--webui-port", free_port())
        head = stack.enter_context(Daemon(place / "master.log", "master.Master", *words))
        head.wait_for("I have been elected leader")
        url = f"spark://127.0.0.1:{port}"
        for number in range(1, workers + 1):
            more = ("--host", "127.0.0.1", "--webui-port", free_port(), "--cores", 1, "--memory", memory)
            work = ("--work-dir", place / f"work{number}")
            worker = Daemon(place / f"worker{number}.log", "worker.Worker", *more, *work, url)
            stack.enter_context(worker).wait_for("Successfully registered with master")
        yield url
