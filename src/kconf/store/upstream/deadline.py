"""The deadline of a change, in monotonic seconds. After it, nothing is sent to the cluster anymore."""

from __future__ import annotations

from time import monotonic

from kconf.errors import RequestTimedOut


def remaining(deadline: float) -> float:
    """The seconds until a deadline. Raises RequestTimedOut if it has passed."""
    seconds = deadline - monotonic()
    if seconds <= 0:
        raise not_sent()
    return seconds


def not_sent() -> RequestTimedOut:
    error = RequestTimedOut("earlier requests took too long")
    error.sent = False
    return error
