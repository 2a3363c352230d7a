"""SCRAM credentials (KIP-554). The client sends the salted and hashed password, never the password itself."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from os import urandom

from kconf.client.calls.arguments import items_of
from kconf.client.calls.base import CONTROLLER, Call, CallResult, NodeVersions, PerItemCall, api_error
from kconf.errors import ApiError, DuplicateResource
from kconf.model.results import Results
from kconf.model.scram import CredentialInfo, Mechanism, UserScramCredentialDeletion, UserScramCredentialUpsertion

_HINT = "before Kafka 2.7, SCRAM credentials can be altered in ZooKeeper only"
_SALT_BYTES = 20
MIN_ITERATIONS = 4096

CredentialKey = tuple[str, int]
"""A user and a mechanism."""


class DescribeUserScramCredentials(PerItemCall[str, tuple[CredentialInfo, ...]]):
    """Describes the credentials of the given users, or of all users if None."""

    name = "DescribeUserScramCredentials"
    hint = _HINT

    def __init__(self, users: Iterable[str]) -> None:
        super().__init__(dict.fromkeys(items_of("users", users, str)))

    def write(self, node: NodeVersions, version: int, items: Sequence[str]) -> object:
        from kconf.protocol.messages.describe_user_scram_credentials import (
            DescribeUserScramCredentialsRequest,
            ScramUserName,
        )

        return DescribeUserScramCredentialsRequest([ScramUserName(each) for each in items])

    def read(self, version: int, frame: bytes, start: int, items: Sequence[str]) -> CallResult:
        body = self.body(version, frame, start)
        if body.error_code:
            return CallResult(
                dict.fromkeys(items, api_error(body.error_code, body.error_message)), body.throttle_time_ms
            )
        return CallResult(_infos(body), body.throttle_time_ms)


def _infos(body: object) -> dict[str, tuple[CredentialInfo, ...] | ApiError]:
    return {
        each.user: (
            api_error(each.error_code, each.error_message)
            if each.error_code
            else tuple(
                CredentialInfo(_MECHANISMS.get(info.mechanism, Mechanism.UNKNOWN), info.iterations)
                for info in sorted(each.credential_infos, key=lambda info: int(info.mechanism))
            )
        )
        for each in body.results  # type: ignore[attr-defined]  # decoded by its table
    }


_MECHANISMS = {int(each): each for each in Mechanism}


class AllUserScramCredentials(
    Call[None, dict[str, tuple[CredentialInfo, ...] | ApiError], Results[str, tuple[CredentialInfo, ...]]]
):
    name = "DescribeUserScramCredentials"
    hint = _HINT

    def __init__(self) -> None:
        super().__init__((None,))

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        from kconf.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest

        return DescribeUserScramCredentialsRequest(None)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        if body.error_code:
            return CallResult({None: api_error(body.error_code, body.error_message)}, body.throttle_time_ms)
        return CallResult({None: _infos(body)}, body.throttle_time_ms)

    def finish(
        self, outcomes: dict[None, dict[str, tuple[CredentialInfo, ...] | ApiError] | ApiError]
    ) -> Results[str, tuple[CredentialInfo, ...]]:
        outcome = outcomes[None]
        if isinstance(outcome, ApiError):
            raise outcome.error()
        return Results({user: outcome[user] for user in sorted(outcome)})


class AlterUserScramCredentials(Call[CredentialKey, None, Results[str, None]]):
    """One result per user.

    A request may contain a user only once, so two mechanisms of a user are sent in two requests.
    """

    name = "AlterUserScramCredentials"
    route = CONTROLLER
    hint = _HINT

    def __init__(
        self,
        alterations: Iterable[UserScramCredentialUpsertion | UserScramCredentialDeletion],
        *,
        reason: str | None = None,
    ) -> None:
        given = items_of("alterations", alterations, UserScramCredentialUpsertion, UserScramCredentialDeletion)
        self.reason = reason
        self.alterations = {(each.user, int(each.mechanism)): each for each in given}
        if len(self.alterations) < len(given):
            raise DuplicateResource("a credential is altered twice")
        super().__init__(self.alterations)
        self.is_change = True
        self.repeatable = not any(isinstance(each, UserScramCredentialDeletion) for each in given)

    def conflict_key(self, item: CredentialKey) -> Hashable:
        return item[0]

    def write(self, node: NodeVersions, version: int, items: Sequence[CredentialKey]) -> object:
        from kconf.protocol.messages.alter_user_scram_credentials import (
            AlterUserScramCredentialsRequest,
            ScramCredentialDeletion,
            ScramCredentialUpsertion,
        )

        alterations = [self.alterations[each] for each in items]
        return AlterUserScramCredentialsRequest(
            [
                ScramCredentialDeletion(each.user, each.mechanism)
                for each in alterations
                if isinstance(each, UserScramCredentialDeletion)
            ],
            [
                ScramCredentialUpsertion(each.user, each.mechanism, each.iterations, each.salt, each.salted_password)
                for each in alterations
                if isinstance(each, UserScramCredentialUpsertion)
            ],
            self.reason if node.is_kconf else None,
        )

    def read(self, version: int, frame: bytes, start: int, items: Sequence[CredentialKey]) -> CallResult:
        body = self.body(version, frame, start)
        by_user = {
            each.user: api_error(each.error_code, each.error_message) if each.error_code else None
            for each in body.results
        }
        return CallResult({item: by_user[item[0]] for item in items if item[0] in by_user}, body.throttle_time_ms)

    def finish(self, outcomes: dict[CredentialKey, ApiError | None]) -> Results[str, None]:
        by_user: dict[str, ApiError | None] = {}
        for (user, _), outcome in outcomes.items():
            by_user[user] = by_user.get(user) or outcome
        return Results(by_user)


def scram_upsertion(
    user: str,
    mechanism: Mechanism,
    password: str,
    *,
    iterations: int = MIN_ITERATIONS,
    salt: bytes | None = None,
) -> UserScramCredentialUpsertion:
    """A credential to set, with a random salt unless one is given. The result does not contain the password."""
    from kconf.security.scram import salted_password

    salt = urandom(_SALT_BYTES) if salt is None else salt
    return UserScramCredentialUpsertion(
        user, mechanism, iterations, salt, salted_password(mechanism, password, salt, iterations)
    )


def describe_scram_call(
    users: Iterable[str] | None,
) -> (
    Call[None, dict[str, tuple[CredentialInfo, ...] | ApiError], Results[str, tuple[CredentialInfo, ...]]]
    | PerItemCall[str, tuple[CredentialInfo, ...]]
):
    """The call to describe credentials. None means all users, and an empty list no users."""
    return AllUserScramCredentials() if users is None else DescribeUserScramCredentials(users)
