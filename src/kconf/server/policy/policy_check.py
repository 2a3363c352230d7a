"""Checks one request with the policies, in two phases. service/service.py calls it between plan and commit.

Rules from a file are evaluated inside the plan. A Python class may be slow or hang, so it does not run there: the plan
looks up known verdicts and collects the proposals that have none. These are evaluated in the policy's own thread, and
the request is planned again. If the state changed in the meantime, and the proposal with it, this repeats.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from logging import getLogger
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kconf.engine.policy.hooks import (
    AlterPolicy,
    AlterProposal,
    CreateTopicPolicy,
    GrowthProposal,
    PolicyHooks,
    PolicyWarning,
    TopicProposal,
    Warnings,
)
from kconf.errors import PolicyViolation
from kconf.model.journal import RequestContext
from kconf.server.policy.resource_locks import ResourceLock
from kconf.server.policy.rules_file import RulesFile
from kconf.server.policy.user_code import UserCodeFailed, call_user_code, clean

if TYPE_CHECKING:
    from kconf.engine.policy.rules import Rules

log = getLogger(__name__)

T = TypeVar("T")

NOT_EVALUATED = "the policy could not be evaluated; see the server's log"
KEEPS_CHANGING = "the policy could not be evaluated, because {} keeps changing; try again later"
_MAX_ROUNDS = 20  # rounds, for a resource that keeps changing

Proposal = AlterProposal | TopicProposal | GrowthProposal


class Verdict(NamedTuple):
    """The result of a Python policy for a proposal. `refusal` is None if it is allowed."""

    refusal: str | None = None
    warnings: tuple[str, ...] = ()


_Verdicts = dict[tuple[type, str], list[tuple[Proposal, Verdict]]]
"""By proposal type and resource. A list, because a request can name one resource in two ways, as broker 1 and broker
01.
"""


@dataclass
class _KnownVerdicts:
    """Replaces Python classes inside a plan: returns known verdicts and collects proposals without one."""

    verdicts: _Verdicts
    last_round: bool = False
    open: list[Proposal] = field(default_factory=list)

    def check_alter(self, proposal: AlterProposal) -> Warnings:
        return self._look_up(proposal)

    def check_create(self, proposal: TopicProposal) -> Warnings:
        return self._look_up(proposal)

    def _look_up(self, proposal: Proposal) -> Warnings:
        for known, verdict in self.verdicts.get(_key(proposal), ()):
            if known == proposal:
                if verdict.refusal is not None:
                    raise PolicyViolation(verdict.refusal)
                return verdict.warnings
        if self.last_round:
            raise PolicyViolation(KEEPS_CHANGING.format(proposal.resource))
        self.open.append(proposal)
        raise PolicyViolation(NOT_EVALUATED)  # refused for now, so that no other policy and no quota processes it


class _KnownGrowthVerdicts(_KnownVerdicts):
    """For a create-topic policy class that also checks CreatePartitions."""

    def check_growth(self, proposal: GrowthProposal) -> Warnings:
        return self._look_up(proposal)


@dataclass(frozen=True, slots=True)
class _GuardedRules:
    """Evaluates rules inside a plan. An error is a refusal too."""

    rules: Rules

    def check_alter(self, proposal: AlterProposal) -> Warnings:
        return self._guard(self.rules.check_alter, proposal)

    def check_create(self, proposal: TopicProposal) -> Warnings:
        return self._guard(self.rules.check_create, proposal)

    def check_growth(self, proposal: GrowthProposal) -> Warnings:
        return self._guard(self.rules.check_growth, proposal)

    def _guard(self, check: Callable[[T], Warnings], proposal: T) -> Warnings:
        try:
            warnings = call_user_code(lambda: list(check(proposal) or ()), expected=(PolicyViolation,))
        except PolicyViolation as refusal:
            raise PolicyViolation(clean(refusal.message)) from None
        except UserCodeFailed as failed:
            log.error("the rules could not be evaluated: %s at %s", failed.kind, failed.place)
            raise PolicyViolation(NOT_EVALUATED) from None
        return [clean(each) for each in warnings]


@dataclass(frozen=True, slots=True)
class ActivePolicies:
    """The configured policies: Python classes, the rules file, or None."""

    alter: AlterPolicy | RulesFile | None
    create: CreateTopicPolicy | RulesFile | None

    @property
    def rules_file(self) -> RulesFile | None:
        return next((each for each in (self.alter, self.create) if isinstance(each, RulesFile)), None)

    @property
    def classes(self) -> list[AlterPolicy | CreateTopicPolicy]:
        """Each instance once."""
        own = [each for each in (self.alter, self.create) if each is not None and not isinstance(each, RulesFile)]
        return list({id(each): each for each in own}.values())

    def __bool__(self) -> bool:
        return self.alter is not None or self.create is not None


class PolicyCheck:
    """The `PlanCheck` of one request. `evaluate` calls a Python policy class."""

    def __init__(
        self,
        policies: ActivePolicies,
        context: RequestContext,
        evaluate: Callable[[Proposal], Awaitable[Verdict]],
        lock: ResourceLock,
        *,
        validate_only: bool,
    ) -> None:
        self._policies, self._context, self._evaluate, self._lock = policies, context, evaluate, lock
        self._validate_only = validate_only
        self._known_type = (
            _KnownGrowthVerdicts if callable(getattr(policies.create, "check_growth", None)) else _KnownVerdicts
        )
        self._verdicts: _Verdicts = {}
        self._rounds = 0
        self._known = self._known_type(self._verdicts)
        self._hooks = PolicyHooks()
        self.needs_preview = bool(policies.classes)  # do not block the writer

    @property
    def is_pending(self) -> bool:
        return bool(self._known.open)

    @property
    def warnings(self) -> list[PolicyWarning]:
        """The warnings of the last plan."""
        return self._hooks.warnings

    async def prepare(self) -> None:
        if self._policies.rules_file is not None:
            await self._policies.rules_file.refresh()

    def hooks(self) -> PolicyHooks:
        policies, file = self._policies, self._policies.rules_file
        rules = _GuardedRules(file.rules) if file is not None else None
        known = self._known = self._known_type(self._verdicts, self._rounds >= _MAX_ROUNDS)
        alter = rules if isinstance(policies.alter, RulesFile) else known if policies.alter is not None else None
        create = rules if isinstance(policies.create, RulesFile) else known if policies.create is not None else None
        self._hooks = PolicyHooks(alter, create, self._context.principal, self._validate_only)
        return self._hooks

    async def resolve(self) -> bool:
        proposals, self._known = self._known.open, self._known_type(self._verdicts)
        if await self._lock.acquire({str(each.resource) for each in proposals}):
            return True  # another request held the lock, so the proposals may have changed
        self._rounds += 1
        for proposal in proposals:
            self._verdicts.setdefault(_key(proposal), []).append((proposal, await self._evaluate(proposal)))
        return False

    def committed(self) -> None:
        for warning in self.warnings:
            log.warning("policy resource=%s principal=%s: %s", warning.resource, self._context.principal, warning.text)

    def close(self) -> None:
        self._lock.release()


def _key(proposal: Proposal) -> tuple[type, str]:
    return type(proposal), str(proposal.resource)
