"""Clients of the cluster that act as users of a gateway, each with a delegation token (KIP-373).

The gateway creates a token for each user, with its own principal. Tokens are held in memory only and renewed before
they expire. So the cluster's authorizer sees the user, and its logs contain the user. Connections stay open for the
users that were active last.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from logging import getLogger
from threading import Lock
from typing import Final, TypeVar

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.auth.sasl import Scram
from kconf.client.calls.tokens import CreateDelegationToken, DelegationToken, RenewDelegationToken
from kconf.client.settings import ClientSettings
from kconf.errors import (
    ApiError,
    AuthenticationFailed,
    ConfigurationError,
    ErrorCode,
    KafkaError,
    UnsupportedSaslMechanism,
)

log = getLogger(__name__)

T = TypeVar("T")

MAX_IDENTITIES: Final = 100
"""The maximum number of users with tokens and connections. The least recently used one is evicted."""
_KNOWN_WITHIN: Final = 10.0  # seconds for a new token to reach all brokers
_RETRY: Final = 0.1
_TIMEOUT: Final = 10.0
_MECHANISMS: Final = ("SCRAM-SHA-512", "SCRAM-SHA-256")
_WHY: Final = {
    ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED: "the cluster has no delegation.token.secret.key",
    ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: "the gateway must log in with SASL or a client"
    " certificate, not with a delegation token",
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: "the gateway's principal needs CREATE_TOKENS on the user",
}


class _Identity:
    """A token and the client that uses it. `lock` is held while the token is created or renewed."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.token: DelegationToken | None = None
        self.client: SyncAdminClient | None = None
        self.settings: ClientSettings | None = None
        self.renew_at = 0.0
        self.created = 0.0  # by the monotonic clock

    def set(self, token: DelegationToken, now: float) -> None:
        self.token = token
        self.renew_at = now + max(token.expires / 1000 - now, 0.0) * 0.75

    def close(self) -> None:
        if self.client is not None:
            self.client.close()


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
        self._known: OrderedDict[str, _Identity] = OrderedDict()
        self._lock = Lock()
        own = getattr(settings.security.sasl, "mechanism", "")
        self._mechanisms = (own,) if own in _MECHANISMS else _MECHANISMS
        self._mechanism = self._mechanisms[0]

    def check(self) -> None:
        """Check that the cluster supports tokens: log in with a token of the gateway. Raises ConfigurationError."""
        for mechanism in self._mechanisms:
            self._mechanism, own = mechanism, _Identity()
            try:
                self._open(own, None)
            except UnsupportedSaslMechanism:
                continue
            except KafkaError as error:
                raise ConfigurationError(f"the gateway cannot use delegation tokens: {_explained(error)}") from None
            own.close()
            return
        raise ConfigurationError(
            "the gateway cannot use delegation tokens: the listener of --upstream has no SCRAM mechanism, which"
            " tokens require"
        )

    def call(self, principal: str, work: Callable[[SyncAdminClient], T]) -> T:
        """Call the cluster as a user. Raises KafkaError.

        If a broker does not know a new token yet, the call is retried. If it does not know an older one, a new token is
        created.
        """
        identity = self._identity(principal)
        with identity.lock:
            client, is_new = self._ready(identity, principal)
        limit = time.monotonic() + _KNOWN_WITHIN
        while True:
            try:
                return work(client)
            except AuthenticationFailed:
                if time.monotonic() >= limit:
                    raise
                if is_new:
                    time.sleep(_RETRY)
                    continue
                with identity.lock:
                    if identity.client is client:
                        self._open(identity, principal)
                    client, is_new = self._ready(identity, principal)

    def settings(self, principal: str, *, failed: ClientSettings | None = None) -> ClientSettings:
        """The settings for connections as a user.

        `failed` are settings that a broker has not accepted. Raises KafkaError.
        """
        identity = self._identity(principal)
        with identity.lock:
            _, is_new = self._ready(identity, principal)
            if failed is not None and identity.settings is failed and not is_new:
                self._open(identity, principal)
            assert identity.settings is not None
            return identity.settings

    def close(self) -> None:
        with self._lock:
            while self._known:
                self._known.popitem()[1].close()
        self._service.close()

    def _identity(self, principal: str) -> _Identity:
        with self._lock:
            found = self._known.setdefault(principal, _Identity())
            self._known.move_to_end(principal)
            idle = self._known.popitem(last=False)[1] if len(self._known) > MAX_IDENTITIES else None
        if idle is not None:
            idle.close()  # calls that use it open another connection
        return found

    def _ready(self, identity: _Identity, principal: str) -> tuple[SyncAdminClient, bool]:
        """The client of a user with a valid token, and whether some brokers may not know the token yet."""
        if (
            identity.token is None
            or identity.client is None
            or (self._clock() >= identity.renew_at and not self._renew(identity, identity.token))
        ):
            self._open(identity, principal)
        assert identity.client is not None
        return identity.client, time.monotonic() - identity.created < _KNOWN_WITHIN

    def _renew(self, identity: _Identity, token: DelegationToken) -> bool:
        """Renew a token. Returns False if it has reached its maximum lifetime or was removed."""
        if token.expires >= token.latest:
            return False
        try:
            expires = self._service._send(RenewDelegationToken(token), _TIMEOUT)
        except KafkaError as error:
            log.info("could not renew a delegation token: %s", error)
            return False
        identity.set(token._replace(expires=expires), self._clock())
        return True

    def _open(self, identity: _Identity, principal: str | None) -> None:
        try:
            token = self._service._send(CreateDelegationToken(principal), _TIMEOUT)
        except KafkaError as error:
            raise _explained(error) from None
        sasl = Scram(token.id, token.password, self._mechanism, token_auth=True)
        security = self._settings.security._replace(sasl=sasl)
        settings = self._settings._replace(security=security)
        client = self._connect(settings)
        try:
            _log_in(client)
        except BaseException:
            client.close()
            raise
        identity.close()
        identity.client, identity.settings, identity.created = client, settings, time.monotonic()
        identity.set(token, self._clock())


def _log_in(client: SyncAdminClient) -> None:
    """Log in, with retries: a broker learns of a new token a moment after its creation."""
    limit = time.monotonic() + _KNOWN_WITHIN
    while True:
        try:
            client.describe_cluster(timeout=_TIMEOUT)
            return
        except UnsupportedSaslMechanism:
            raise
        except AuthenticationFailed:
            if time.monotonic() >= limit:
                raise
            time.sleep(_RETRY)


def _explained(error: KafkaError) -> KafkaError:
    """Add what to do about an error, if known."""
    why = _WHY.get(ErrorCode(error.code)) if error.code in _WHY else None
    return error if why is None else ApiError(error.code, f"could not create a delegation token: {why}").error()
