"""A program on a terminal: its input, and the content of the screen."""

from __future__ import annotations

import os
import select
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from typing import Self


class Terminal:
    """Runs a program on a pseudo-terminal for the duration of a `with` block."""

    def __init__(
        self, words: Sequence[str], *, environment: Mapping[str, str] | None = None, columns: int = 120
    ) -> None:
        self._words, self._columns = list(words), columns
        self._environment = {**os.environ, "TERM": "xterm", **(environment or {})}
        self.screen = ""
        self._place = 0

    def __enter__(self) -> Self:
        self._near, far = os.openpty()
        termios.tcsetwinsize(far, (40, self._columns))
        self._process = subprocess.Popen(
            self._words, stdin=far, stdout=far, stderr=far, start_new_session=True, env=self._environment
        )
        os.close(far)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._near)

    def type(self, text: str) -> None:
        os.write(self._near, text.encode())

    def expect(self, text: str, *, timeout: float = 60.0) -> None:
        """Wait until this text appears after the last expected one."""
        ends = time.monotonic() + timeout
        while (found := self.screen.find(text, self._place)) < 0:
            if not self._read(ends):
                raise AssertionError(f"{text!r} did not come; the screen shows:\n{self.screen}")
        self._place = found + len(text)

    def end(self, *, timeout: float = 60.0) -> int:
        """Read to the end, and return the exit status."""
        ends = time.monotonic() + timeout
        while self._read(ends):
            pass
        return self._process.wait(timeout)

    def _read(self, ends: float) -> bool:
        ready, _, _ = select.select([self._near], [], [], max(0.0, ends - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._near, 65536)
        except OSError:  # the other side is closed
            return False
        self.screen += data.decode("utf-8", "replace")
        return bool(data)
