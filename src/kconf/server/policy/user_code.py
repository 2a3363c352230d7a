"""Calls user-supplied policy code and catches every exception that it raises.

An error in a policy fails only its resource. The error may be logged, so secrets are removed from it here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import current_thread, main_thread
from typing import TypeVar

from kconf.errors import KconfError

T = TypeVar("T")

_MAX_TEXT = 4000  # maximum length of a message or a warning


class UserCodeFailed(Exception):
    """User code raised an unexpected exception, even SystemExit. Has its type, location and redacted message."""

    def __init__(self, error: BaseException, secrets: Iterable[str]) -> None:
        self.kind, self.place = type(error).__name__, _place(error)
        text = "[the message cannot be shown]"
        with suppress(BaseException):  # the error's own `__str__` is user code too
            text = clean(redact(str(error), secrets))
        super().__init__(f"{self.kind}: {text}")
        self.text = text


def call_user_code(
    work: Callable[[], T], *, secrets: Iterable[str] = (), expected: tuple[type[KconfError], ...] = ()
) -> T:
    """Call `work` and return its result. Raises the expected errors, and UserCodeFailed for all others."""
    try:
        return work()
    except expected:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():
            raise  # Ctrl-C, not an error of the policy
        raise UserCodeFailed(error, secrets) from None


def redact(text: str, secrets: Iterable[str]) -> str:
    """A message from user code, without the secrets that were passed to it."""
    for secret in sorted(filter(None, set(secrets)), key=len, reverse=True):
        text = text.replace(secret, "[hidden]")
    return text


def clean(text: str | None) -> str:
    """Limit a message to a length that fits every response version."""
    return (text or "")[:_MAX_TEXT].encode("utf-8", "replace").decode()


def _place(error: BaseException) -> str:
    """file:line of the innermost frame, without values."""
    trace = error.__traceback__
    if trace is None:
        return "?"
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
