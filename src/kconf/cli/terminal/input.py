"""Values that a command reads from the terminal, or from what is piped in."""

from __future__ import annotations

import sys


def prompt_secret(question: str) -> str:
    """From the terminal without echo, or the next line of stdin."""
    if sys.stdin.isatty():
        from getpass import getpass

        return getpass(question)
    return sys.stdin.readline().rstrip("\r\n")


def read_stdin() -> str:
    return sys.stdin.read()
