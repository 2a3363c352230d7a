"""The policies of a server. Python classes are called in separate threads, with a time limit.

If a policy raises, hangs or returns an invalid value, the resource fails with POLICY_VIOLATION and the server
continues. policy_check.py and service/service.py call the policies during a change; this module does not plan or
commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from logging import getLogger
from typing import Any, Final

from kconf.engine.policy.hooks import (
    AlterPolicy,
    AlterProposal,
    CreateTopicPolicy,
    GrowthProposal,
    TopicProposal,
    Values,
    Warnings,
)
from kconf.errors import PolicyViolation
from kconf.model.journal import RequestContext
from kconf.server.policy.policy_check import NOT_EVALUATED, ActivePolicies, PolicyCheck, Proposal, Verdict
from kconf.server.policy.resource_locks import ResourceLock, ResourceLocks
from kconf.server.policy.rules_file import RulesFile
from kconf.server.policy.user_code import UserCodeFailed, call_user_code, clean, redact
from kconf.util.threads.worker_thread import WorkerThread, WorkTimedOut

log = getLogger(__name__)

_MAX_WARNINGS: Final = 100  # of one call
_SPARE_THREADS: Final = 3  # threads of a class, in case some calls hang
_METHODS: Final = {AlterProposal: "check_alter", TopicProposal: "check_create", GrowthProposal: "check_growth"}


class PolicyManager:
    """The service's `Policy`. Has no cost if no policies are configured."""

    def __init__(
        self,
        alter: AlterPolicy | RulesFile | None = None,
        create: CreateTopicPolicy | RulesFile | None = None,
        *,
        timeout: float = 1.0,
    ) -> None:
        self._policies = ActivePolicies(alter, create)
        self._workers = {
            id(each): WorkerThread("kconf-policy", timeout, spare=_SPARE_THREADS) for each in self._policies.classes
        }
        self._locks = ResourceLocks()

    def __bool__(self) -> bool:
        return bool(self._policies)

    @property
    def hanging(self) -> bool:
        """Whether a call that timed out has still not returned."""
        return any(each.late for each in self._workers.values())

    def check(self, context: RequestContext, *, validate_only: bool) -> PolicyCheck | None:
        """A check for one request, or None if there are no policies."""
        if not self._policies:
            return None
        lock = ResourceLock(self._locks)
        return PolicyCheck(self._policies, context, self._evaluate, lock, validate_only=validate_only)

    async def _evaluate(self, proposal: Proposal) -> Verdict:
        policy: Any = self._policies.alter if isinstance(proposal, AlterProposal) else self._policies.create
        check = getattr(policy, _METHODS[type(proposal)])
        worker, name = self._workers[id(policy)], type(policy).__qualname__
        was_stuck = worker.stuck
        try:
            return await worker.run(lambda: _call(check, proposal))
        except WorkTimedOut:
            if not was_stuck:
                log.error("policy %s did not return within %.1f s for %s", name, worker.timeout, proposal.resource)
        except UserCodeFailed as failed:
            log.error("policy %s failed: %s at %s: %s", name, failed.kind, failed.place, failed.text)
        return Verdict(NOT_EVALUATED)

    async def close(self) -> None:
        """Call `close` of the classes that have it, with the same time limit."""
        for policy in self._policies.classes:
            close = getattr(policy, "close", None)
            if callable(close):
                try:
                    await self._workers[id(policy)].run(lambda close=close: call_user_code(close))  # type: ignore[misc]
                except WorkTimedOut:
                    log.warning("closing policy %s did not finish in time", type(policy).__qualname__)
                except UserCodeFailed as failed:
                    name = type(policy).__qualname__
                    log.warning("closing policy %s failed: %s at %s", name, failed.kind, failed.place)
            self._workers[id(policy)].close()
        if self._policies.rules_file is not None:
            self._policies.rules_file.close()


def _call(check: Callable[[Proposal], Warnings], proposal: Proposal) -> Verdict:
    """Call a policy, in its thread. Also reads the warnings, since a policy may `yield` them."""
    secrets = _secrets(proposal)
    try:
        warnings = call_user_code(lambda: _warnings(check(proposal)), secrets=secrets, expected=(PolicyViolation,))
    except PolicyViolation as refusal:
        message: object = refusal.message or "refused by the policy"
        return Verdict(clean(redact(call_user_code(partial(str, message), secrets=secrets), secrets)))
    return Verdict(None, tuple(clean(redact(each, secrets)) for each in warnings))


def _warnings(returned: object) -> list[str]:
    """The warnings that a policy returned.

    Other types are an error, since a policy that returns False probably means to refuse.
    """
    if returned is None or isinstance(returned, str):
        return [returned] if returned else []
    if not isinstance(returned, Iterable):
        raise TypeError(f"a policy must return None or warnings, not {type(returned).__name__}")
    warnings = list(islice(returned, _MAX_WARNINGS))
    if not all(isinstance(each, str) for each in warnings):
        raise TypeError("a policy's warnings must be strings")
    return warnings


def _secrets(proposal: Proposal) -> list[str]:
    if not isinstance(proposal, AlterProposal):
        return []
    values = (proposal.changed, proposal.resulting, proposal.previous)
    return [secret for each in values if isinstance(each, Values) for secret in each.secrets.values()]
