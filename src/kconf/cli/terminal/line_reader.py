"""Reads the lines of an interactive shell, with completion if prompt_toolkit is installed (extra `shell`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol


class InteractiveShell(Protocol):
    """The interface of a shell for the terminal."""

    @property
    def prompt(self) -> str: ...

    def suggestions(self, line: str) -> Iterator[str]: ...


def read_lines(shell: InteractiveShell) -> Iterator[str]:
    """Read lines until the end of the input. Ctrl-C discards the current line."""
    read = _reader(shell)
    while True:
        try:
            yield read(shell.prompt)
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


def _reader(shell: InteractiveShell) -> Callable[[str], str]:
    try:
        from kconf.cli.terminal.prompt_session import prompt_session
    except ImportError:
        return input
    return prompt_session(shell.suggestions)
