"""Logins that were begun: state, nonce and PKCE verifier, in the session of the visitor and nowhere else.

A response whose state is not in the session of its browser is refused. So nobody can be logged in as somebody else by a
link (login CSRF), and a response that was used, or is too old, is useless.
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
"""Per session; the oldest is forgotten. More than one: people open several tabs."""
TIME_LIMIT: Final = 600.0  # seconds


@dataclass(frozen=True, slots=True)
class PendingLogin:
    """`to` is where the person goes after the login, a path of the console."""

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
    """The logins of a session that were begun. May be used from any thread."""

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
        """The login of a state, which cannot be used again; None: it is unknown or too old."""
        with self._lock:
            found = self._logins.pop(state, None)
        return found if found is not None and self._now() - found.begun <= TIME_LIMIT else None
