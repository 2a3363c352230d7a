"""A failed login: the message for the client, and the reason for the log."""

from __future__ import annotations

from kconf.errors import KconfError


class LoginFailed(KconfError):
    """Authentication failed. The message may be sent to the client; `reason` is for the log."""

    def __init__(self, message: str, reason: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason or message
