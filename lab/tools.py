"""Kafka's command line tools, run against any bootstrap address.

Each function starts a JVM, exactly like the shell scripts. `ToolServer` runs the same classes inside one JVM, a hundred
times faster, for tests with many commands; only the stack traces in stderr are a few frames longer.
"""

from __future__ import annotations

import subprocess

from lab.jars import java_command
from lab.java import QUICK
from lab.jvm import JsonJvm

CONFIGS = "kafka.admin.ConfigCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"

Done = subprocess.CompletedProcess[str]


def run_class(main: str, *args: str, version: str = "4.3.1", timeout: float = 60.0) -> Done:
    """Run a class of a Kafka release in its own JVM; stdout has only its output, stderr its log."""
    command = java_command(version, main, *args, options=QUICK)
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False, timeout=timeout
    )


def kafka_configs(bootstrap: str, *args: str, version: str = "4.3.1", timeout: float = 60.0) -> Done:
    """kafka-configs.sh."""
    return run_class(CONFIGS, "--bootstrap-server", bootstrap, *args, version=version, timeout=timeout)


def kafka_topics(bootstrap: str, *args: str, version: str = "4.3.1", timeout: float = 60.0) -> Done:
    """kafka-topics.sh."""
    return run_class(TOPICS, "--bootstrap-server", bootstrap, *args, version=version, timeout=timeout)


class ToolServer:
    """The same tools in one JVM, one command at a time. Started by the first command; close it, or use `with`."""

    def __init__(self, version: str = "4.3.1") -> None:
        self.version = version
        self._jvm = JsonJvm("ToolServer", version)

    def __enter__(self) -> ToolServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._jvm.close()

    def run_class(self, main: str, *args: str, timeout: float = 60.0) -> Done:
        command = [main, *args]
        answer = self._jvm.ask(command, timeout=timeout)
        return subprocess.CompletedProcess(command, answer["exit"], answer["stdout"], answer["stderr"])

    def kafka_configs(self, bootstrap: str, *args: str, timeout: float = 60.0) -> Done:
        """kafka-configs.sh."""
        return self.run_class(CONFIGS, "--bootstrap-server", bootstrap, *args, timeout=timeout)

    def kafka_topics(self, bootstrap: str, *args: str, timeout: float = 60.0) -> Done:
        """kafka-topics.sh."""
        return self.run_class(TOPICS, "--bootstrap-server", bootstrap, *args, timeout=timeout)
