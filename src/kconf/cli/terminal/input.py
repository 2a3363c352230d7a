"""Reads values from the terminal or from piped input."""

from __future__ import annotations

import sys


def prompt_secret(question: str) -> str:
    """Read a secret from the terminal without echo, or from the next line of stdin."""
    if sys.stdin.isatty():
        from getpass import getpass

        return getpass(question)
    return sys.stdin.readline().rstrip("\r\n")


def read_stdin() -> str:
    return sys.stdin.read()
