"""Logins with a Kafka credential, which the cluster checks. Attempts are limited.

Logins at an OIDC provider are in `oidc/`.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import Final, Protocol

from kconf.errors import AuthenticationFailed, ConfigurationError
from kconf.operations.target import Target, UserCredential
from kconf.util.token_bucket import TokenBucket

ATTEMPTS_PER_MINUTE: Final = 10.0
_BURST_SECONDS: Final = 60.0
_MOST_CLIENTS: Final = 10_000


class LoginRefused(Exception):
    """The credential was not accepted. The message is shown to the person."""


class LoginLimited(LoginRefused):
    """Too many attempts."""


class LoginMethod(Protocol):
    """A way to log in to a cluster."""

    def check(self, target: Target, user: str, password: str, client: str) -> UserCredential:
        """The credential that the cluster accepts, or LoginRefused. `client` is the address of the browser."""


class LoginLimiter:
    """Limits attempts per client address, and per user and context, because an attacker can change either of them."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._lock = Lock()
        self._buckets: dict[tuple[str, ...], TokenBucket] = {}

    def spend(self, *keys: tuple[str, ...]) -> None:
        now, rate = self._now() * 1000, ATTEMPTS_PER_MINUTE / 60
        with self._lock:
            buckets = [self._bucket(each) for each in keys]
            if any(each.tokens(rate, now) < 1 for each in buckets):
                raise LoginLimited("too many attempts; try again in a minute")
            for each in buckets:
                each.spend(1, rate, now)

    def _bucket(self, key: tuple[str, ...]) -> TokenBucket:
        found = self._buckets.pop(key, None) or TokenBucket(_BURST_SECONDS)
        self._buckets[key] = found
        if len(self._buckets) > _MOST_CLIENTS:
            del self._buckets[next(iter(self._buckets))]
        return found


class KafkaLogin:
    """SASL with user and password, with the mechanism of the context."""

    def __init__(self, limiter: LoginLimiter | None = None) -> None:
        self._limiter = limiter or LoginLimiter()

    def check(self, target: Target, user: str, password: str, client: str) -> UserCredential:
        self._limiter.spend(("client", client), ("user", target.name, user))
        credential = UserCredential(user, password)
        try:
            with target._replace(credential=credential).open() as admin:
                admin.describe_cluster()
        except AuthenticationFailed:
            raise LoginRefused(f"{target.name} did not accept this user and password") from None
        except ConfigurationError as error:
            raise LoginRefused(str(error)) from None
        return credential
