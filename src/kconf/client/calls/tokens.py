"""Delegation tokens (KIP-48), with which a service acts as another user (KIP-373)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import NamedTuple

from kconf.client.calls.base import CallResult, ClusterCall, NodeVersions, api_error


class DelegationToken(NamedTuple):
    """A token. `expires` and `latest` are milliseconds since 1970. It can be renewed until `latest`.

    `owner` is a principal such as `User:alice`.
    """

    id: str
    hmac: bytes
    expires: int
    latest: int
    owner: str

    def __repr__(self) -> str:
        return f"DelegationToken({self.id!r})"

    @property
    def password(self) -> str:
        return b64encode(self.hmac).decode()


class CreateDelegationToken(ClusterCall[DelegationToken]):
    """Creates a token. `owner` is a principal such as `User:alice`, or None for the caller.

    Only the owner and the `renewer` may renew and remove the token, not the caller (unlike KIP-373).
    """

    name = "CreateDelegationToken"
    hint = "a token for another user needs Kafka 3.3"
    repeatable = False

    def __init__(self, owner: str | None, lifetime_ms: int = -1, *, renewer: str | None = None) -> None:
        super().__init__()
        self._owner, self._lifetime, self._renewer = owner, lifetime_ms, renewer
        self.min_version = 1 if owner is None else 3

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        from kconf.protocol.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest

        kind, _, name = (self._owner or "").partition(":")
        renewers = () if self._renewer is None else (CreatableRenewers(*self._renewer.split(":", 1)),)
        return CreateDelegationTokenRequest(kind or None, name or None, renewers, self._lifetime)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        if body.error_code:
            return CallResult({None: api_error(body.error_code, None)}, body.throttle_time_ms)
        owner = f"{body.principal_type}:{body.principal_name}"
        token = DelegationToken(body.token_id, body.hmac, body.expiry_timestamp_ms, body.max_timestamp_ms, owner)
        return CallResult({None: token}, body.throttle_time_ms)


class RenewDelegationToken(ClusterCall[int]):
    """Renews a token, as its owner or renewer. Returns its new expiry time."""

    name = "RenewDelegationToken"

    def __init__(self, token: DelegationToken) -> None:
        super().__init__()
        self._hmac = token.hmac

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        from kconf.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest

        return RenewDelegationTokenRequest(self._hmac, -1)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        outcome = api_error(body.error_code, None) if body.error_code else body.expiry_timestamp_ms
        return CallResult({None: outcome}, body.throttle_time_ms)


class ExpireDelegationToken(ClusterCall[int]):
    """Removes a token immediately, as its owner or renewer. Returns its expiry time."""

    name = "ExpireDelegationToken"

    def __init__(self, token: DelegationToken) -> None:
        super().__init__()
        self._hmac = token.hmac

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        from kconf.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest

        return ExpireDelegationTokenRequest(self._hmac, -1)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        outcome = api_error(body.error_code, None) if body.error_code else body.expiry_timestamp_ms
        return CallResult({None: outcome}, body.throttle_time_ms)
