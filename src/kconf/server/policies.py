"""The policies of a server: found by name, and asked without stopping anyone else.

Rules from a file (`kconf:rules`) are judged inside the plan. A Python class may be slow or hang, so it never runs
there: a request is planned once to see what would be asked, the policy answers in a thread of its own, and the plan
that is committed only looks the verdicts up. Where the state has moved in between, and the question with it, the
request goes round again.

A policy that raises, hangs or cannot be asked fails its resource with POLICY_VIOLATION, never the server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from logging import getLogger
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kconf.engine.policy import (
    NO_POLICY,
    AlterPolicy,
    AlterProposal,
    CreateTopicPolicy,
    Gate,
    GrowthProposal,
    PolicyWarning,
    TopicProposal,
    Values,
    Warnings,
)
from kconf.engine.policy_rules import Rules
from kconf.errors import ConfigurationError, PolicyViolation
from kconf.keys.catalogue import Catalogue
from kconf.model.journal import Caller
from kconf.model.plan import Plan
from kconf.server.policy_classes import find_class, redacted, where
from kconf.server.policy_file import RulesFile
from kconf.server.policy_worker import TooLate, Worker
from kconf.service import Service, State

log = getLogger(__name__)

T = TypeVar("T")

ALTER: Final = "alter.config.policy.class.name"
CREATE: Final = "create.topic.policy.class.name"
RULES: Final = "kconf:rules"
FILE: Final = "policy.file"
TIMEOUT: Final = "policy.timeout.ms"

UNABLE: Final = "the policy could not be evaluated"
_LONGEST = 4000  # characters of a refusal or a warning
_MOST_ROUNDS = 8  # for a question that keeps moving

PolicyPlanner = Callable[[State, Gate], Plan[T]]
Proposal = AlterProposal | TopicProposal


class Decided(NamedTuple, Generic[T]):
    """What a caller is told, and what the policies had to say beside it."""

    outcome: T
    warnings: list[PolicyWarning]


class _Verdict(NamedTuple):
    refusal: str | None = None
    warnings: tuple[str, ...] = ()


class _Unjudged(Exception):
    """A plan asked what no one has answered yet."""

    def __init__(self, proposals: list[Proposal]) -> None:
        self.proposals = proposals


@dataclass(slots=True)
class _Known:
    """Stands in a plan for Python policies: tells the verdicts that are known, and notes what else is asked."""

    verdicts: Mapping[tuple[type, str], tuple[Proposal, _Verdict]]
    last_round: bool = False
    asked: list[Proposal] = field(default_factory=list)

    def check_alter(self, proposal: AlterProposal) -> Warnings:
        return self._verdict(proposal)

    def check_create(self, proposal: TopicProposal) -> Warnings:
        return self._verdict(proposal)

    def _verdict(self, proposal: Proposal) -> Warnings:
        known = self.verdicts.get(_place(proposal))
        if known is not None and known[0] == proposal:
            if known[1].refusal is not None:
                raise PolicyViolation(known[1].refusal)
            return known[1].warnings
        if self.last_round:
            raise PolicyViolation(f"{UNABLE}: {proposal.resource} keeps changing")
        self.asked.append(proposal)
        raise PolicyViolation(UNABLE)  # so nothing that comes after the policy is done: no second policy, no quota


@dataclass(frozen=True, slots=True)
class _Guarded:
    """Rules, inside a plan: their own failure is a refusal too."""

    rules: Rules

    def check_alter(self, proposal: AlterProposal) -> Warnings:
        return self._guard(self.rules.check_alter, proposal)

    def check_create(self, proposal: TopicProposal) -> Warnings:
        return self._guard(self.rules.check_create, proposal)

    def check_growth(self, proposal: GrowthProposal) -> Warnings:
        return self._guard(self.rules.check_growth, proposal)

    def _guard(self, check: Callable[[T], Warnings], proposal: T) -> Warnings:
        try:
            return check(proposal)
        except PolicyViolation:
            raise
        except Exception as error:
            log.error("the rules could not be evaluated: %s at %s", type(error).__name__, where(error))
            raise PolicyViolation(UNABLE) from None


class Policies:
    """The policies in force. `decide` is how a handler changes something; without policies it costs nothing."""

    def __init__(
        self,
        alter: AlterPolicy | RulesFile | None = None,
        create: CreateTopicPolicy | RulesFile | None = None,
        *,
        timeout: float = 1.0,
    ) -> None:
        self._alter, self._create = alter, create
        self._file = next((each for each in (alter, create) if isinstance(each, RulesFile)), None)
        own = [each for each in (alter, create) if each is not None and not isinstance(each, RulesFile)]
        self._classes = list({id(each): each for each in own}.values())
        self._worker = Worker("kconf-policy", timeout)

    def __bool__(self) -> bool:
        return self._alter is not None or self._create is not None

    @property
    def hanging(self) -> bool:
        """Whether a call that took too long has still not come back: until it does, what it should judge is refused."""
        return self._worker.stuck

    async def decide(
        self, service: Service, plan: PolicyPlanner[T], caller: Caller, *, validate_only: bool = False
    ) -> Decided[T]:
        """Plan past the policies, and commit unless it is a dry run. Raises what `service.change` raises."""
        if not self:
            return Decided(await _run(service, lambda state: plan(state, NO_POLICY), caller, validate_only), [])
        if self._file is not None:
            await self._file.refresh()
        verdicts: dict[tuple[type, str], tuple[Proposal, _Verdict]] = {}
        said: list[PolicyWarning] = []
        rounds = 0

        def planner(state: State) -> Plan[T]:
            known = _Known(verdicts, rounds >= _MOST_ROUNDS)
            gate = self._gate(known, caller.principal, validate_only)
            made = plan(state, gate)
            if known.asked:
                raise _Unjudged(known.asked)
            said[:] = gate.warnings
            return made

        while True:
            try:
                if self._classes:  # see first what would be asked: the writer's time is everybody's
                    planner(service.state)
                outcome = await _run(service, planner, caller, validate_only)
                break
            except _Unjudged as unjudged:
                rounds += 1
                for proposal in unjudged.proposals:
                    verdicts[_place(proposal)] = proposal, await self._judge(proposal)
        for warning in said:
            log.warning("policy resource=%s principal=%s: %s", warning.resource, caller.principal, warning.text)
        return Decided(outcome, said)

    def _gate(self, known: _Known, principal: str, validate_only: bool) -> Gate:
        rules = _Guarded(self._file.rules) if self._file is not None else None
        alter = rules if isinstance(self._alter, RulesFile) else known if self._alter is not None else None
        create = rules if isinstance(self._create, RulesFile) else known if self._create is not None else None
        return Gate(alter, create, principal, validate_only)

    async def _judge(self, proposal: Proposal) -> _Verdict:
        policy: Any = self._alter if isinstance(proposal, AlterProposal) else self._create
        check = policy.check_alter if isinstance(proposal, AlterProposal) else policy.check_create
        name = type(policy).__qualname__
        late = self._worker.stuck
        try:
            return await self._worker.run(lambda: _ask(check, proposal))
        except TooLate:
            if not late:
                log.error("policy %s did not answer in %.1f s", name, self._worker.timeout)
        except _Raised as raised:
            cause = raised.cause
            text = redacted(str(cause), _secrets(proposal))
            log.error("policy %s failed: %s at %s: %s", name, type(cause).__name__, where(cause), text)
        return _Verdict(UNABLE)

    async def close(self) -> None:
        """Tell the classes that want to know, and wait no longer than for any other call."""
        for policy in self._classes:
            close = getattr(policy, "close", None)
            if callable(close):
                try:
                    await self._worker.run(lambda close=close: _call(close))  # type: ignore[misc]
                except (TooLate, _Raised):
                    log.warning("policy %s could not be closed", type(policy).__qualname__)
        self._worker.close()
        if self._file is not None:
            self._file.close()


async def _run(service: Service, planner: Callable[[State], Plan[T]], caller: Caller, dry: bool) -> T:
    return service.dry_run(planner) if dry else await service.change(planner, caller)


def _place(proposal: Proposal) -> tuple[type, str]:
    return type(proposal), str(proposal.resource)


class _Raised(Exception):
    """A policy raised something that is no `PolicyViolation`, be it SystemExit."""

    def __init__(self, cause: BaseException) -> None:
        self.cause = cause


def _call(work: Callable[[], T]) -> T:
    try:
        return work()
    except BaseException as error:
        raise _Raised(error) from None


def _ask(check: Callable[[Proposal], Warnings], proposal: Proposal) -> _Verdict:
    """In the policy's thread; a policy may also `yield` its warnings, so they are read here."""
    try:
        said = check(proposal)
        warnings = [said] if isinstance(said, str) else list(said or ())
    except PolicyViolation as refusal:
        return _Verdict((refusal.message or "the policy refuses this")[:_LONGEST])
    except BaseException as error:
        raise _Raised(error) from None
    return _Verdict(None, tuple(str(each)[:_LONGEST] for each in warnings))


def _secrets(proposal: Proposal) -> list[str]:
    if not isinstance(proposal, AlterProposal):
        return []
    held = (proposal.changed, proposal.resulting, proposal.previous)
    return [secret for each in held if isinstance(each, Values) for secret in each.secrets.values()]


def load_policies(static: Mapping[str, str], catalogue: Catalogue) -> Policies:
    """The policies that server.properties names. `ConfigurationError` where one cannot be had: the start stops."""
    named = {name: static.get(name, "").strip() for name in (ALTER, CREATE)}
    path = static.get(FILE, "").strip()
    if path and not any(named.values()):
        named = dict.fromkeys(named, RULES)
    if path and RULES not in named.values():
        raise ConfigurationError(f"{FILE} is set, but neither {ALTER} nor {CREATE} is {RULES}")
    if not path and RULES in named.values():
        raise ConfigurationError(f"{RULES} needs {FILE}, the path of the rules")
    rules = RulesFile(path, catalogue) if path else None
    made: dict[str, Any] = {}
    for setting, method in ((ALTER, "check_alter"), (CREATE, "check_create")):
        name = named[setting]
        if name and name != RULES:
            policy = made.get(name) or _configured(setting, name, static, catalogue)
            if not callable(getattr(policy, method, None)):
                raise ConfigurationError(f"{setting}: {name} has no method {method}")
            made[name] = policy
    made[RULES] = rules
    return Policies(made.get(named[ALTER]), made.get(named[CREATE]), timeout=_timeout(static))


def _configured(setting: str, name: str, static: Mapping[str, str], catalogue: Catalogue) -> Any:
    """An instance, which has seen the server's properties if it wants to."""
    kind = find_class(setting, name)
    try:
        policy = kind()
        configure = getattr(policy, "configure", None)
        if callable(configure):
            configure(dict(static))
    except Exception as error:
        secrets = [
            value for key, value in static.items() if key not in catalogue.broker or catalogue.broker[key].sensitive
        ]
        text = redacted(str(error), secrets)
        raise ConfigurationError(f"{setting}: {name} could not be made: {type(error).__name__}: {text}") from None
    return policy


def _timeout(static: Mapping[str, str]) -> float:
    text = static.get(TIMEOUT, "1000").strip()
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= 600_000):
        raise ConfigurationError(f"{TIMEOUT} must be a number of milliseconds from 1 to 600000: {text!r}")
    return int(text) / 1000
