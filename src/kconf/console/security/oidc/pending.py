"""Logins in progress: state, nonce and PKCE verifier, stored only in the session of the visitor.

A response whose state is not in the session of its browser is refused. So a link cannot log a person in as somebody
else (login CSRF), and used or expired responses are refused.
"""

from __future__ import annotations

import time
from base64 import urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from secrets import token_urlsafe
from threading import Lock
from typing import Final

MOST_LOGINS: Final = 5
"""The maximum per session, for several tabs; the oldest is dropped."""
TIME_LIMIT: Final = 600.0  # seconds


@dataclass(frozen=True, slots=True)
class PendingLogin:
    """`to` is the path of the console to go to after the login."""

    to: str
    redirect_uri: str
    begun: float
    state: str = field(default_factory=lambda: token_urlsafe(32), repr=False)
    nonce: str = field(default_factory=lambda: token_urlsafe(32), repr=False)
    verifier: str = field(default_factory=lambda: token_urlsafe(48), repr=False)

    @property
    def challenge(self) -> str:
        """RFC 7636 4.2, S256."""
        return urlsafe_b64encode(sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()


class PendingLogins:
    """The logins in progress of a session. May be used from any thread."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = Lock()
        self._logins: OrderedDict[str, PendingLogin] = OrderedDict()

    def begin(self, to: str, redirect_uri: str) -> PendingLogin:
        login = PendingLogin(to, redirect_uri, self._now())
        with self._lock:
            self._logins[login.state] = login
            while len(self._logins) > MOST_LOGINS:
                self._logins.popitem(last=False)
        return login

    def take(self, state: str) -> PendingLogin | None:
        """Remove and return the login of a state; None if it is unknown or expired."""
        with self._lock:
            found = self._logins.pop(state, None)
        return found if found is not None and self._now() - found.begun <= TIME_LIMIT else None
