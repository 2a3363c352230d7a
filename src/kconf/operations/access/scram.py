"""Requests that set or delete the SCRAM credentials of a user, on a cluster or in a store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from kconf.configdef.sensitive import HIDDEN
from kconf.errors import ApiError, ConfigurationError, ErrorCode
from kconf.model.resource import Resource, ResourceType
from kconf.model.scram import Mechanism, UserScramCredentialDeletion, UserScramCredentialUpsertion
from kconf.operations.execute import ChangeRequest
from kconf.operations.planned_change import ChangePlan, PlannedChange
from kconf.security.scram import MAX_ITERATIONS, MIN_ITERATIONS

if TYPE_CHECKING:
    from kconf.model.results import Results
    from kconf.model.scram import CredentialInfo
    from kconf.operations.execute import SendResult

MECHANISMS: Final[dict[str, Mechanism]] = {each.word: each for each in Mechanism if each is not Mechanism.UNKNOWN}

Alterations = Sequence[UserScramCredentialUpsertion | UserScramCredentialDeletion]


class CredentialAdmin(Protocol):
    """The two methods of an admin client for credentials. `scram_store` implements them for a store."""

    def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None
    ) -> Results[str, tuple[CredentialInfo, ...]]: ...

    def alter_user_scram_credentials(
        self,
        alterations: Iterable[UserScramCredentialUpsertion | UserScramCredentialDeletion],
        *,
        reason: str | None = None,
    ) -> Results[str, None]: ...


class NewPassword(NamedTuple):
    """A password to set. Without mechanisms or iterations, those of the user stay the same.

    A new user gets all mechanisms, and a new credential the fewest iterations that Kafka accepts.
    """

    user: str
    password: str
    mechanisms: Sequence[Mechanism] = ()
    iterations: int | None = None


def set_request(
    credentials: CredentialAdmin, new: NewPassword, reason: str | None = None
) -> tuple[ChangeRequest, list[Mechanism]]:
    """The request, and the mechanisms for which the old password stays valid.

    The password itself is not sent, only the keys derived from it.
    """
    from kconf.client.calls.scram import scram_upsertion

    _check_iterations(new)
    present = _iterations(credentials, new.user)
    counts = {
        each: new.iterations if new.iterations is not None else present.get(each, MIN_ITERATIONS)
        for each in new.mechanisms or present or MECHANISMS.values()
    }
    alterations = [scram_upsertion(new.user, each, new.password, iterations=count) for each, count in counts.items()]
    plan = ChangePlan([_change(new.user, each, present, iterations=count) for each, count in counts.items()], {})
    request = _request("scram set", credentials, plan, alterations, f"set the password of {new.user}", reason)
    return request, [each for each in present if each not in counts]


def credential_lines(new: NewPassword) -> list[str]:
    """The lines of a user in a file of SCRAM credentials. They do not contain the password."""
    from kconf.client.calls.scram import scram_upsertion
    from kconf.security.scram import credential
    from kconf.security.scram_file import credential_line

    _check_iterations(new)
    lines = []
    for mechanism in new.mechanisms or MECHANISMS.values():
        made = scram_upsertion(new.user, mechanism, new.password, iterations=new.iterations or MIN_ITERATIONS)
        stored = credential(mechanism, made.salted_password, made.salt, made.iterations)
        lines.append(credential_line(new.user, mechanism, stored))
    return lines


def _check_iterations(new: NewPassword) -> None:
    if new.iterations is not None and not MIN_ITERATIONS <= new.iterations <= MAX_ITERATIONS:
        raise ConfigurationError(f"--iterations must be {MIN_ITERATIONS} to {MAX_ITERATIONS}, not {new.iterations}")


def delete_request(
    credentials: CredentialAdmin, user: str, mechanisms: Sequence[Mechanism], reason: str | None = None
) -> ChangeRequest:
    """Delete credentials of a user; without mechanisms, all of them."""
    present = _iterations(credentials, user)
    named = list(mechanisms) or list(present)
    plan = ChangePlan([_change(user, each, present) for each in named], {})
    if any(each not in present for each in named) or not named:
        plan.failures[_resource(user)] = ApiError(ErrorCode.RESOURCE_NOT_FOUND, "no such credential")
    alterations = [UserScramCredentialDeletion(user, each) for each in named]
    return _request("scram delete", credentials, plan, alterations, f"delete credentials of {user}", reason)


def _request(
    command: str,
    credentials: CredentialAdmin,
    plan: ChangePlan,
    alterations: Alterations,
    summary: str,
    reason: str | None,
) -> ChangeRequest:
    def send(resources: Sequence[Resource], _: bool) -> SendResult:
        failures = credentials.alter_user_scram_credentials(alterations, reason=reason).failures
        return {each: failures.get(each.name) for each in resources}

    return ChangeRequest(command, plan, send, summary, confirm=False, validates=False)


def _change(
    user: str, mechanism: Mechanism, present: dict[Mechanism, int], *, iterations: int | None = None
) -> PlannedChange:
    old = f"{HIDDEN}, iterations={present[mechanism]}" if mechanism in present else None
    new = None if iterations is None else f"{HIDDEN}, iterations={iterations}"
    return PlannedChange(
        _resource(user),
        mechanism.word,
        before=None if old is None else HIDDEN,
        after=None if new is None else HIDDEN,
        op="delete" if iterations is None else "set",
        old=old,
        new=new,
        sensitive=True,
        shown={"resource": f"user:{user}"},
    )


def _resource(user: str) -> Resource:
    return Resource(ResourceType.SCRAM, user)


def _iterations(credentials: CredentialAdmin, user: str) -> dict[Mechanism, int]:
    """The user's credentials: their iterations by mechanism."""
    found = credentials.describe_user_scram_credentials([user])
    failure = found.failures.get(user)
    if failure is None:
        return {each.mechanism: each.iterations for each in found[user]}
    if failure.code == ErrorCode.RESOURCE_NOT_FOUND:
        return {}
    raise failure.error()
