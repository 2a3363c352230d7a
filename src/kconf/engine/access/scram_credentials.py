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
    wishes: dict[str, list[UserScramCredentialDeletion | UserScramCredentialUpsertion]] = {}
    for deletion in in_slices(deletions):
        wishes.setdefault(deletion.user, []).append(deletion)
    for upsertion in in_slices(upsertions):
        wishes.setdefault(upsertion.user, []).append(upsertion)
    outcomes: dict[str, ApiError | None] = {}
    changes: list[Change] = []
    guards: dict[Resource, int] = {}
    granted: list[UserScramCredentialDeletion | UserScramCredentialUpsertion] = []
    for user in in_slices(sorted(wishes)):
        try:
            made = _decide(snapshot, user, wishes[user])
        except KafkaError as error:
            outcomes[user] = error.failure()
            continue
        outcomes[user] = None
        changes += made
        granted += wishes[user]
        guards[user_resource(user)] = snapshot.changed.get(user_resource(user), 0)
    return Plan(outcomes, changes, guards, granted, _with_refusals)


def _with_refusals(
    outcomes: dict[str, ApiError | None], refusals: Refusals, _after: Snapshot
) -> dict[str, ApiError | None]:
    return {user: failure or refusals.get(user_resource(user)) for user, failure in outcomes.items()}


def _decide(
    snapshot: Snapshot, user: str, wishes: Sequence[UserScramCredentialDeletion | UserScramCredentialUpsertion]
) -> list[Change]:
    if not user:
        raise UnacceptableCredential("a user needs a name")
    for wish in wishes:
        if wish.mechanism not in _KNOWN:
            raise UnsupportedSaslMechanism(f"unknown SCRAM mechanism {wish.mechanism}")
    for wish in wishes:
        if isinstance(wish, UserScramCredentialUpsertion):
            _check(wish)
    if any(count > 1 for count in Counter(wish.mechanism for wish in wishes).values()):
        raise DuplicateResource("a credential occurs more than once in the request")
    stored = snapshot.overrides(user_resource(user))
    return [_change(stored.get(_KNOWN[wish.mechanism].word), wish) for wish in wishes]


def _check(wish: UserScramCredentialUpsertion) -> None:
    if wish.iterations < MIN_ITERATIONS:
        raise UnacceptableCredential(f"too few iterations: at least {MIN_ITERATIONS}")
    if wish.iterations > MAX_ITERATIONS:
        raise UnacceptableCredential(f"too many iterations: at most {MAX_ITERATIONS}")
    if not wish.salted_password:
        raise UnacceptableCredential("the salted password is empty")


def _change(before: str | None, wish: UserScramCredentialDeletion | UserScramCredentialUpsertion) -> Change:
    mechanism = _KNOWN[wish.mechanism]
    resource = user_resource(wish.user)
    if isinstance(wish, UserScramCredentialDeletion):
        if before is None:
            raise ResourceNotFound(f"user {wish.user} has no {mechanism.word} credential")
        return Change(ChangeKind.CONFIG, resource, mechanism.word, before, None, "delete", sensitive=True)
    kept = to_text(credential(mechanism, wish.salted_password, wish.salt, wish.iterations))
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
