"""Calls user-supplied policy code: the one place that catches whatever it raises.

A policy that fails must fail its resource only, and its error may be logged, so secrets are removed from it here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import current_thread, main_thread
from typing import TypeVar

from kconf.errors import KconfError

T = TypeVar("T")

_MAX_TEXT = 4000  # characters of a message or a warning


class UserCodeFailed(Exception):
    """User code raised something unexpected, even SystemExit. Holds the type, the place and the redacted message."""

    def __init__(self, error: BaseException, secrets: Iterable[str]) -> None:
        self.kind, self.place = type(error).__name__, _place(error)
        text = "[it cannot be shown]"
        with suppress(BaseException):  # the error's own `__str__` is user code too
            text = clean(redact(str(error), secrets))
        super().__init__(f"{self.kind}: {text}")
        self.text = text


def call_user_code(
    work: Callable[[], T], *, secrets: Iterable[str] = (), expected: tuple[type[KconfError], ...] = ()
) -> T:
    """What `work` returns. Raises the expected errors, and UserCodeFailed for everything else."""
    try:
        return work()
    except expected:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():
            raise  # Ctrl-C, and not the policy
        raise UserCodeFailed(error, secrets) from None


def redact(text: str, secrets: Iterable[str]) -> str:
    """A message from user code, without the secrets that it could see."""
    for secret in sorted(filter(None, set(secrets)), key=len, reverse=True):
        text = text.replace(secret, "[hidden]")
    return text


def clean(text: str | None) -> str:
    """A message that fits in every version of every response."""
    return (text or "")[:_MAX_TEXT].encode("utf-8", "replace").decode()


def _place(error: BaseException) -> str:
    """file:line of the innermost frame, without any value."""
    trace = error.__traceback__
    if trace is None:
        return "?"
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
