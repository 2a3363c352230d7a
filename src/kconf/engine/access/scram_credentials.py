"""SCRAM credentials as state: what setting and removing them would change, and what may be shown (KIP-554).

A credential is stored as a key of its user (`Resource` of type SCRAM), salted and in Kafka's own format; in the journal
it is hashed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kconf.errors import (
    ApiError,
    DuplicateResource,
    ErrorCode,
    KafkaError,
    ResourceNotFound,
    UnacceptableCredential,
    UnsupportedSaslMechanism,
)
from kconf.model.journal import Change, ChangeKind
from kconf.model.plan import Plan, Refusals
from kconf.model.resource import Resource, ResourceType
from kconf.model.scram import CredentialInfo, Mechanism, UserScramCredentialDeletion, UserScramCredentialUpsertion
from kconf.model.snapshot import Snapshot
from kconf.security.scram import MAX_ITERATIONS, MIN_ITERATIONS, credential, iterations_of, to_text
from kconf.util.slices import in_slices

_KNOWN = {int(each): each for each in Mechanism if each is not Mechanism.UNKNOWN}


def user_resource(user: str) -> Resource:
    """The resource under which the credentials of a user are stored."""
    return Resource(ResourceType.SCRAM, user)


def credential_text(snapshot: Snapshot, user: str, mechanism: Mechanism) -> str | None:
    """A user's stored credential, or None."""
    return snapshot.overrides(user_resource(user)).get(mechanism.word)


def plan_alter_credentials(
    snapshot: Snapshot,
    deletions: Sequence[UserScramCredentialDeletion],
    upsertions: Sequence[UserScramCredentialUpsertion],
) -> Plan[dict[str, ApiError | None]]:
    """One result per user, by name. If one change of a user is invalid, none of that user is applied."""
    requests: dict[str, list[UserScramCredentialDeletion | UserScramCredentialUpsertion]] = {}
    for deletion in in_slices(deletions):
        requests.setdefault(deletion.user, []).append(deletion)
    for upsertion in in_slices(upsertions):
        requests.setdefault(upsertion.user, []).append(upsertion)
    outcomes: dict[str, ApiError | None] = {}
    changes: list[Change] = []
    guards: dict[Resource, int] = {}
    granted: list[UserScramCredentialDeletion | UserScramCredentialUpsertion] = []
    for user in in_slices(sorted(requests)):
        try:
            made = _decide(snapshot, user, requests[user])
        except KafkaError as error:
            outcomes[user] = error.failure()
            continue
        outcomes[user] = None
        changes += made
        granted += requests[user]
        guards[user_resource(user)] = snapshot.changed.get(user_resource(user), 0)
    return Plan(outcomes, changes, guards, granted, _with_refusals)


def _with_refusals(
    outcomes: dict[str, ApiError | None], refusals: Refusals, _after: Snapshot
) -> dict[str, ApiError | None]:
    return {user: failure or refusals.get(user_resource(user)) for user, failure in outcomes.items()}


def _decide(
    snapshot: Snapshot, user: str, requests: Sequence[UserScramCredentialDeletion | UserScramCredentialUpsertion]
) -> list[Change]:
    if not user:
        raise UnacceptableCredential("a user needs a name")
    for request in requests:
        if request.mechanism not in _KNOWN:
            raise UnsupportedSaslMechanism(f"unknown SCRAM mechanism {request.mechanism}")
    for request in requests:
        if isinstance(request, UserScramCredentialUpsertion):
            _check(request)
    if any(count > 1 for count in Counter(request.mechanism for request in requests).values()):
        raise DuplicateResource("a credential occurs more than once in the request")
    stored = snapshot.overrides(user_resource(user))
    return [_change(stored.get(_KNOWN[request.mechanism].word), request) for request in requests]


def _check(request: UserScramCredentialUpsertion) -> None:
    if request.iterations < MIN_ITERATIONS:
        raise UnacceptableCredential(f"too few iterations: at least {MIN_ITERATIONS}")
    if request.iterations > MAX_ITERATIONS:
        raise UnacceptableCredential(f"too many iterations: at most {MAX_ITERATIONS}")
    if not request.salted_password:
        raise UnacceptableCredential("the salted password is empty")


def _change(before: str | None, request: UserScramCredentialDeletion | UserScramCredentialUpsertion) -> Change:
    mechanism = _KNOWN[request.mechanism]
    resource = user_resource(request.user)
    if isinstance(request, UserScramCredentialDeletion):
        if before is None:
            raise ResourceNotFound(f"user {request.user} has no {mechanism.word} credential")
        return Change(ChangeKind.CONFIG, resource, mechanism.word, before, None, "delete", sensitive=True)
    kept = to_text(credential(mechanism, request.salted_password, request.salt, request.iterations))
    return Change(ChangeKind.CONFIG, resource, mechanism.word, before, kept, "set", sensitive=True)


def describe_credentials(snapshot: Snapshot, users: Sequence[str] | None) -> dict[str, list[CredentialInfo] | ApiError]:
    """The mechanisms and iterations of the users named, or of all that have a credential."""
    if not users:
        return {user: _infos(snapshot, user) for user in in_slices(snapshot.names(ResourceType.SCRAM))}
    found: dict[str, list[CredentialInfo] | ApiError] = {}
    for user, count in in_slices(Counter(users).items()):
        infos = _infos(snapshot, user)
        if count > 1:
            found[user] = ApiError(ErrorCode.DUPLICATE_RESOURCE, "the user occurs more than once in the request")
        elif not infos:
            found[user] = ApiError(ErrorCode.RESOURCE_NOT_FOUND, f"user {user} has no SCRAM credential")
        else:
            found[user] = infos
    return found


def _infos(snapshot: Snapshot, user: str) -> list[CredentialInfo]:
    stored = snapshot.overrides(user_resource(user))
    return [
        CredentialInfo(mechanism, iterations_of(stored[mechanism.word]))
        for mechanism in _KNOWN.values()
        if mechanism.word in stored
    ]
