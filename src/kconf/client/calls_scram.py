"""SCRAM credentials (KIP-554). The password stays here: the controller gets it salted and iterated."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from os import urandom

from kconf.client.calls import CONTROLLER, Answer, Call, Each, Peer, failure
from kconf.errors import DuplicateResource, Failure, Results
from kconf.model.scram import CredentialInfo, Deletion, Mechanism, Upsertion

_ADVICE = "before Kafka 2.7 SCRAM credentials are kept in ZooKeeper alone"
_SALT_BYTES = 20
MIN_ITERATIONS = 4096

Credential = tuple[str, int]
"""A user and a mechanism."""


class DescribeUserScramCredentials(Each[str, tuple[CredentialInfo, ...]]):
    """Of the named users, or (None) of all that have a credential."""

    name = "DescribeUserScramCredentials"
    advice = _ADVICE

    def __init__(self, users: Iterable[str]) -> None:
        super().__init__(dict.fromkeys(users))

    def write(self, peer: Peer, version: int, items: Sequence[str]) -> object:
        from kconf.wire.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, ScramUserName

        return DescribeUserScramCredentialsRequest([ScramUserName(each) for each in items])

    def read(self, version: int, frame: bytes, start: int, items: Sequence[str]) -> Answer:
        body = self.body(version, frame, start)
        if body.error_code:
            return Answer(dict.fromkeys(items, failure(body.error_code, body.error_message)), body.throttle_time_ms)
        return Answer(_infos(body), body.throttle_time_ms)


def _infos(body: object) -> dict[str, tuple[CredentialInfo, ...] | Failure]:
    return {
        each.user: (
            failure(each.error_code, each.error_message)
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
    Call[None, dict[str, tuple[CredentialInfo, ...] | Failure], Results[str, tuple[CredentialInfo, ...]]]
):
    name = "DescribeUserScramCredentials"
    advice = _ADVICE

    def __init__(self) -> None:
        super().__init__((None,))

    def write(self, peer: Peer, version: int, items: Sequence[None]) -> object:
        from kconf.wire.describe_user_scram_credentials import DescribeUserScramCredentialsRequest

        return DescribeUserScramCredentialsRequest(None)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> Answer:
        body = self.body(version, frame, start)
        if body.error_code:
            return Answer({None: failure(body.error_code, body.error_message)}, body.throttle_time_ms)
        return Answer({None: _infos(body)}, body.throttle_time_ms)

    def finish(
        self, outcomes: dict[None, dict[str, tuple[CredentialInfo, ...] | Failure] | Failure]
    ) -> Results[str, tuple[CredentialInfo, ...]]:
        outcome = outcomes[None]
        if isinstance(outcome, Failure):
            raise outcome.error()
        return Results({user: outcome[user] for user in sorted(outcome)})


class AlterUserScramCredentials(Call[Credential, None, Results[str, None]]):
    """One result per user. Kafka takes a user but once in a request, so two mechanisms travel in two."""

    name = "AlterUserScramCredentials"
    route = CONTROLLER
    advice = _ADVICE

    def __init__(self, alterations: Iterable[Upsertion | Deletion]) -> None:
        wishes = list(alterations)
        self.wishes = {(each.user, int(each.mechanism)): each for each in wishes}
        if len(self.wishes) < len(wishes):
            raise DuplicateResource("a credential is altered twice")
        super().__init__(self.wishes)
        self.repeatable = not any(isinstance(each, Deletion) for each in wishes)

    def apart(self, item: Credential) -> Hashable:
        return item[0]

    def write(self, peer: Peer, version: int, items: Sequence[Credential]) -> object:
        from kconf.wire.alter_user_scram_credentials import (
            AlterUserScramCredentialsRequest,
            ScramCredentialDeletion,
            ScramCredentialUpsertion,
        )

        wishes = [self.wishes[each] for each in items]
        return AlterUserScramCredentialsRequest(
            [ScramCredentialDeletion(each.user, each.mechanism) for each in wishes if isinstance(each, Deletion)],
            [
                ScramCredentialUpsertion(each.user, each.mechanism, each.iterations, each.salt, each.salted_password)
                for each in wishes
                if isinstance(each, Upsertion)
            ],
        )

    def read(self, version: int, frame: bytes, start: int, items: Sequence[Credential]) -> Answer:
        body = self.body(version, frame, start)
        by_user = {
            each.user: failure(each.error_code, each.error_message) if each.error_code else None
            for each in body.results
        }
        return Answer({item: by_user[item[0]] for item in items if item[0] in by_user}, body.throttle_time_ms)

    def finish(self, outcomes: dict[Credential, Failure | None]) -> Results[str, None]:
        by_user: dict[str, Failure | None] = {}
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
) -> Upsertion:
    """A credential to be set. Without a salt one is made. The password itself goes no further."""
    from kconf.engine.scram import salted_password

    salt = urandom(_SALT_BYTES) if salt is None else salt
    return Upsertion(user, mechanism, iterations, salt, salted_password(mechanism, password, salt, iterations))


def describe(
    users: Iterable[str] | None,
) -> (
    Call[None, dict[str, tuple[CredentialInfo, ...] | Failure], Results[str, tuple[CredentialInfo, ...]]]
    | Each[str, tuple[CredentialInfo, ...]]
):
    """To a broker an empty list means everyone; here None does, and an empty list means nobody."""
    return AllUserScramCredentials() if users is None else DescribeUserScramCredentials(users)
