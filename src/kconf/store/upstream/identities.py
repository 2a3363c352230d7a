"""Clients of the cluster that act as users of a gateway, each with a delegation token (KIP-373).

The gateway creates a token for each user, with its own principal. It is also the renewer of the token, because Kafka
lets only the owner and the renewers renew and remove it. So the cluster's authorizer sees the user, and its logs
contain the user. Tokens are held in memory only, renewed before they expire, and removed from the cluster when they are
not needed anymore. Connections stay open for the users that were active last.

Changes of several users wait for each other's responses, so a user without a token must not use up their time: creating
a token and logging in with it ends at the deadline of the change, and after at most `_OPEN`. If it fails, the user's
requests get the same error for as long as the attempt took.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from logging import getLogger
from math import inf
from threading import TIMEOUT_MAX, Lock
from typing import Final, TypeVar

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.auth.sasl import Scram
from kconf.client.calls.tokens import (
    CreateDelegationToken,
    DelegationToken,
    ExpireDelegationToken,
    RenewDelegationToken,
)
from kconf.client.settings import ClientSettings
from kconf.errors import (
    ApiError,
    AuthenticationFailed,
    ConfigurationError,
    ConnectionFailed,
    ErrorCode,
    KafkaError,
    KconfError,
    RequestTimedOut,
    UnsupportedSaslMechanism,
)
from kconf.store.upstream.deadline import not_sent, remaining

log = getLogger(__name__)

T = TypeVar("T")

MAX_TOKENS: Final = 10_000
MAX_CONNECTED: Final = 100
"""The maximum number of users with a token, and of users with connections, unless more are active. The least recently
active ones are evicted."""
_KNOWN_WITHIN: Final = 10.0  # seconds for a new token to reach all brokers
_RETRY: Final = 0.1
_TIMEOUT: Final = 10.0
_OPEN: Final = 10.0  # seconds to create a token and log in with it
_CLOSE: Final = 10.0  # seconds for the removal of all tokens
_MECHANISMS: Final = ("SCRAM-SHA-512", "SCRAM-SHA-256")
_WHY: Final = {
    ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED: "the cluster has no delegation.token.secret.key;"
    " set the same key on all brokers and controllers",
    ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: "the gateway must log in with SASL or a client"
    " certificate, not with a delegation token",
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: "the gateway's principal needs CREATE_TOKENS on the user",
}


class _Identity:
    """A token and the client that uses it. `lock` is held while the token is created or renewed."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.calls = 0  # those in progress; such an identity is not evicted
        self.token: DelegationToken | None = None
        self.clients: dict[bool, SyncAdminClient] = {}  # the one for validations, and that for everything else
        self.settings: ClientSettings | None = None
        self.renew_at = 0.0
        self.failure: KafkaError | None = None  # of the last attempt to create a token
        self.retry_at = 0.0  # by the monotonic clock
        self.created = 0.0  # by the monotonic clock

    def set(self, token: DelegationToken, now: float) -> None:
        self.token = token
        self.renew_at = now + max(token.expires / 1000 - now, 0.0) * 0.75

    def set_failure(self, failure: KafkaError, began: float, now: float) -> None:
        """Return this failure to others for as long as the attempt took."""
        self.failure, self.retry_at = failure, now + (now - began)

    @contextmanager
    def locked(self, deadline: float) -> Iterator[None]:
        if not self.lock.acquire(timeout=min(remaining(deadline), TIMEOUT_MAX)):
            raise not_sent()
        try:
            yield
        finally:
            self.lock.release()

    @property
    def known_at(self) -> float:
        """When all nodes of the cluster know the token."""
        return self.created + _KNOWN_WITHIN

    def take_clients(self) -> Collection[SyncAdminClient]:
        clients, self.clients = self.clients, {}
        return clients.values()


class _Removal:
    """Closes clients and removes tokens from the cluster, in a thread of its own.

    Tokens that it cannot remove expire there later.
    """

    def __init__(self, service: SyncAdminClient) -> None:
        self._service = service
        self._thread = ThreadPoolExecutor(1, "kconf-tokens")  # started when needed
        self._deadline = inf
        self._remaining = 0

    def close_client(self, client: SyncAdminClient) -> None:
        """Close a client in the background, since that waits for its calls in progress."""
        try:
            self._thread.submit(client.close)
        except RuntimeError:  # closed
            client.close()

    def remove(self, token: DelegationToken, known_at: float) -> None:
        """Remove a token in the background. Before `known_at`, some nodes may not know it yet."""
        with suppress(RuntimeError):  # closed
            self._thread.submit(self._remove, token, known_at)

    def _remove(self, token: DelegationToken, known_at: float) -> None:
        while (limit := min(self._deadline - time.monotonic(), _TIMEOUT)) > 0:
            try:
                self._service._send(ExpireDelegationToken(token), limit)
                return
            except KconfError as error:
                if isinstance(error, ConnectionFailed | RequestTimedOut):
                    break
                if getattr(error, "code", None) != ErrorCode.DELEGATION_TOKEN_NOT_FOUND:
                    log.info("could not remove a delegation token, which expires later: %s", error)
                    return
                if time.monotonic() >= known_at:
                    return
            time.sleep(_RETRY)
        self._remaining += 1
        if self._deadline < inf:
            self._deadline = 0.0  # no broker responds; do not wait for each of the other tokens

    def close(self) -> None:
        """Wait for a limited time until all tokens are removed."""
        self._deadline = time.monotonic() + _CLOSE
        self._thread.shutdown()
        if self._remaining:
            log.warning("%d delegation tokens were not removed; they expire later", self._remaining)


class Identities:
    """Used from any thread. `settings` are those of the gateway's own principal."""

    def __init__(
        self,
        settings: ClientSettings,
        *,
        connect: Callable[[ClientSettings], SyncAdminClient] = SyncAdminClient._from_settings,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings, self._connect, self._clock = settings, connect, clock
        self._service = connect(settings)
        self._removal = _Removal(self._service)
        self._known: OrderedDict[str, _Identity] = OrderedDict()  # the least recently active one first
        self._connected: OrderedDict[str, _Identity] = OrderedDict()  # likewise
        self._lock = Lock()
        self._is_closed = False
        own = getattr(settings.security.sasl, "mechanism", "")
        self._mechanisms = (own,) if own in _MECHANISMS else _MECHANISMS
        self._mechanism = self._mechanisms[0]
        self._own: str | None = None  # the gateway's principal

    def check(self) -> None:
        """Check that the cluster supports tokens: log in with a token of the gateway. Raises ConfigurationError.

        The token also contains the gateway's principal.
        """
        for mechanism in self._mechanisms:
            self._mechanism, own = mechanism, _Identity()
            try:
                self._open(own, None)
            except UnsupportedSaslMechanism:
                continue
            except KafkaError as error:
                raise ConfigurationError(f"the gateway cannot use delegation tokens: {_explained(error)}") from None
            assert own.token is not None
            self._own = own.token.owner
            self._discard(own)
            return
        raise ConfigurationError(
            "the gateway cannot use delegation tokens: the listener of --upstream has no SCRAM mechanism, which"
            " tokens require"
        )

    def call(
        self,
        principal: str,
        work: Callable[[SyncAdminClient], T],
        *,
        validates: bool = False,
        deadline: float = inf,
    ) -> T:
        """Call the cluster as a user. Raises KafkaError. `deadline` is the end of all waiting, in monotonic seconds.

        With `validates` it uses a connection of its own, so that changes do not wait for its response. If a broker does
        not know a new token yet, the call is retried. If it does not know an older one, a new token is created.
        """
        with self._active(principal) as identity:
            with identity.locked(deadline):
                is_new = self._renew(identity, principal, deadline)
                client = self._client(identity, validates)
            limit = min(deadline, time.monotonic() + _KNOWN_WITHIN)
            while True:
                try:
                    return work(client)
                except AuthenticationFailed:
                    if time.monotonic() >= limit:
                        raise
                    if is_new:
                        time.sleep(_RETRY)
                        continue
                    with identity.locked(deadline):
                        if identity.clients.get(validates) is client:
                            self._open(identity, principal, deadline)
                        is_new = self._renew(identity, principal, deadline)
                        client = self._client(identity, validates)

    def settings(self, principal: str, *, failed: ClientSettings | None = None) -> ClientSettings:
        """The settings for connections as a user.

        `failed` are settings that a broker has not accepted. Raises KafkaError.
        """
        with self._active(principal) as identity, identity.locked(inf):
            is_new = self._renew(identity, principal)
            if failed is not None and identity.settings is failed and not is_new:
                self._open(identity, principal)
            assert identity.settings is not None
            return identity.settings

    def close(self) -> None:
        """Close all connections and remove all tokens."""
        with self._lock:
            self._is_closed = True
            known = list(self._known.values())
            self._known.clear()
            self._connected.clear()
        for each in known:
            self._discard(each)
        self._removal.close()
        self._service.close()

    @contextmanager
    def _active(self, principal: str) -> Iterator[_Identity]:
        """The identity of a user during a call. It is not evicted before the call ends."""
        with self._lock:
            if self._is_closed:
                raise ConnectionFailed("the gateway is stopping")
            identity = self._known.setdefault(principal, _Identity())
            self._known.move_to_end(principal)
            identity.calls += 1
        try:
            yield identity
        finally:
            with self._lock:
                identity.calls -= 1
                if identity.clients:
                    self._connected[principal] = identity
                    self._connected.move_to_end(principal)
                discarded = _evict(self._known, MAX_TOKENS)
                for name in discarded:
                    self._connected.pop(name, None)
                disconnected = _evict(self._connected, MAX_CONNECTED).values()
                clients = [client for each in disconnected for client in each.take_clients()]
            for client in clients:
                client.close()
            for each in discarded.values():
                self._discard(each)

    def _discard(self, identity: _Identity) -> None:
        """Close the connections of an identity and remove its token, in the background."""
        for client in identity.take_clients():
            self._removal.close_client(client)
        if identity.token is not None and identity.token.expires > self._clock() * 1000:
            self._removal.remove(identity.token, identity.known_at)

    def _client(self, identity: _Identity, validates: bool) -> SyncAdminClient:
        found = identity.clients.get(validates)
        if found is None:
            assert identity.settings is not None
            found = identity.clients[validates] = self._connect(identity.settings)
        return found

    def _renew(self, identity: _Identity, principal: str, deadline: float = inf) -> bool:
        """Renew the token or create a new one if necessary. Returns whether some brokers may not know it yet."""
        token = identity.token
        if token is None or (self._clock() >= identity.renew_at and not self._prolong(identity, token, deadline)):
            self._open(identity, principal, deadline)
        return time.monotonic() < identity.known_at

    def _prolong(self, identity: _Identity, token: DelegationToken, deadline: float) -> bool:
        """Renew a token. Returns False if it has reached its maximum lifetime or was removed."""
        if token.expires >= token.latest:
            return False
        try:
            expires = self._service._send(RenewDelegationToken(token), min(remaining(deadline), _TIMEOUT))
        except KafkaError as error:
            log.info("could not renew a delegation token: %s", error)
            return False
        identity.set(token._replace(expires=expires), self._clock())
        return True

    def _open(self, identity: _Identity, principal: str | None, deadline: float = inf) -> None:
        """Create a token and log in with it. Raises KafkaError: nothing else was sent."""
        began = time.monotonic()
        if identity.failure is not None and began < identity.retry_at:
            raise identity.failure.with_traceback(None)
        try:
            self._try_open(identity, principal, min(deadline, began + _OPEN))
        except KconfError as error:
            failure = error if isinstance(error, KafkaError) else ConnectionFailed(f"cannot log in as a user: {error}")
            if isinstance(failure, ConnectionFailed | RequestTimedOut):
                failure.sent = False
            identity.set_failure(failure, began, time.monotonic())
            raise failure from None
        identity.failure = None

    def _try_open(self, identity: _Identity, principal: str | None, limit: float) -> None:
        try:
            token = self._service._send(CreateDelegationToken(principal, renewer=self._own), remaining(limit))
        except KafkaError as error:
            raise _explained(error) from None
        sasl = Scram(token.id, token.password, self._mechanism, token_auth=True)
        security = self._settings.security._replace(sasl=sasl)
        settings = self._settings._replace(security=security)
        client = self._connect(settings)
        try:
            _log_in(client, limit)
        except BaseException:
            client.close()
            self._removal.remove(token, time.monotonic() + _KNOWN_WITHIN)
            raise
        self._discard(identity)
        identity.clients[False] = client
        identity.settings, identity.created = settings, time.monotonic()
        identity.set(token, self._clock())


def _evict(identities: OrderedDict[str, _Identity], most: int) -> dict[str, _Identity]:
    """Remove the least recently active identities beyond the limit, except those with calls in progress."""
    evicted: dict[str, _Identity] = {}
    while len(identities) > most:
        idle = next((name for name, each in identities.items() if not each.calls), None)
        if idle is None:
            break
        evicted[idle] = identities.pop(idle)
    return evicted


def _log_in(client: SyncAdminClient, limit: float) -> None:
    """Log in, with retries: a broker learns of a new token a moment after its creation."""
    while True:
        try:
            client.describe_cluster(timeout=remaining(limit))
            return
        except UnsupportedSaslMechanism:
            raise
        except AuthenticationFailed:
            if time.monotonic() + _RETRY >= limit:
                raise
            time.sleep(_RETRY)


def _explained(error: KafkaError) -> KafkaError:
    """Add what to do about an error, if known."""
    why = _WHY.get(ErrorCode(error.code)) if error.code in _WHY else None
    return error if why is None else ApiError(error.code, f"could not create a delegation token: {why}").error()
