"""One long-lived JVM that processes JSON lines: one request line, one response line.

Starting a JVM takes a second; a request to a running one takes milliseconds. The JVM ends when its input is closed, so
it cannot outlive this process. After a timeout the JVM is ended, and the next request starts a new one.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import queue
import subprocess
import tempfile
import threading
from typing import IO, Any, Self

from lab.jars import classpath, java_command
from lab.java import QUICK, LabError, compiled


class JsonJvm:
    """Runs `lab/java/<main>.java` with the jars of a Kafka release; started by the first request."""

    def __init__(self, main: str, version: str, *, options: tuple[str, ...] = ()) -> None:
        self.version = version
        self._main, self._options = main, options
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str] = queue.Queue()
        self._errors: IO[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def running(self) -> bool:
        return self._process is not None

    def ask(self, question: object, *, timeout: float) -> Any:
        """Send one request and return its response. Thread-safe: threads wait for each other."""
        with self._lock:
            if self._process is None:
                self._start()
            assert self._process is not None
            assert self._process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(json.dumps(question) + "\n")
                self._process.stdin.flush()
            try:
                line = self._answers.get(timeout=timeout)
            except queue.Empty:
                tail = self._end()
                raise LabError(f"{self._main} did not respond within {timeout:.0f} s to {question}.\n{tail}") from None
            if not line:
                raise LabError(f"{self._main} exited without a response to {question}.\n{self._end()}")
            return json.loads(line)

    def close(self) -> None:
        with self._lock:
            self._end()

    def _start(self) -> None:
        classes = compiled(self.version, classpath(self.version))
        command = java_command(self.version, self._main, options=(*QUICK, "-Xmx512m", *self._options), classes=classes)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by _end
        self._answers = queue.Queue()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="utf-8",
            start_new_session=True,
        )
        atexit.register(self.close)
        threading.Thread(target=_forward, args=(self._process.stdout, self._answers), daemon=True).start()

    def _end(self) -> str:
        """End the JVM and return the end of its stderr."""
        atexit.unregister(self.close)
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            if process.stdin is not None:
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.close()
        errors, self._errors = self._errors, None
        if errors is None:
            return ""
        with errors:
            errors.seek(0)
            return errors.read().decode(errors="replace")[-4000:]


def _forward(lines: IO[str], answers: queue.Queue[str]) -> None:
    """Forward responses to the waiting caller; an empty line marks the end."""
    with lines:
        for line in lines:
            answers.put(line)
    answers.put("")
