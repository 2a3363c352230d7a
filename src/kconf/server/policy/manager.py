"""The policies of a server: found by name, and asked without stopping anyone else.

Rules from a file (`kconf:rules`) are judged inside the plan. A Python class may be slow or hang, so it never runs
there: a request is planned once to see what would be asked, the policy answers in a thread of its own, and the plan
that is committed only looks the verdicts up. Where the state has moved in between, and the question with it, the
request goes round again. Those who are judged about one resource take turns (policy_turns.py).

A policy that raises, hangs, answers nonsense or cannot be asked fails its resource with POLICY_VIOLATION, never the
server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from logging import getLogger
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kconf.configdef.catalog import Catalog
from kconf.configdef.server_settings import POLICY_FILE, POLICY_TIMEOUT, int_setting, text_setting
from kconf.engine.policy.hooks import (
    NO_POLICY,
    AlterPolicy,
    AlterProposal,
    CreateTopicPolicy,
    GrowthProposal,
    PolicyHooks,
    PolicyWarning,
    TopicProposal,
    Values,
    Warnings,
)
from kconf.engine.policy.rules import Rules
from kconf.errors import ConfigurationError, PolicyViolation
from kconf.model.journal import RequestContext
from kconf.model.plan import Plan
from kconf.server.policy.loader import find_class, redacted, where
from kconf.server.policy.resource_locks import ResourceLock, ResourceLocks
from kconf.server.policy.rules_file import RulesFile
from kconf.service import Service, State
from kconf.util.worker_thread import WorkerThread, WorkTimedOut

log = getLogger(__name__)

T = TypeVar("T")

ALTER: Final = "alter.config.policy.class.name"
CREATE: Final = "create.topic.policy.class.name"
RULES: Final = "kconf:rules"

UNABLE: Final = "the policy could not be evaluated"
_LONGEST = 4000  # characters of a refusal or a warning
_MOST_WARNINGS = 100  # of one call
_MOST_ROUNDS = 20  # for a question that keeps moving
_SPARE_THREADS = 3  # for a class of which some calls hang

PolicyPlanner = Callable[[State, PolicyHooks], Plan[T]]
Proposal = AlterProposal | TopicProposal | GrowthProposal


class PolicyDecision(NamedTuple, Generic[T]):
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


_Verdicts = dict[tuple[type, str], list[tuple[Proposal, _Verdict]]]
"""By kind and resource. A request may name one resource in two ways, as broker 1 and broker 01."""


@dataclass
class _Known:
    """Stands in a plan for Python policies: tells the verdicts that are known, and notes what else is asked."""

    verdicts: _Verdicts
    last_round: bool = False
    asked: list[Proposal] = field(default_factory=list)

    def check_alter(self, proposal: AlterProposal) -> Warnings:
        return self._verdict(proposal)

    def check_create(self, proposal: TopicProposal) -> Warnings:
        return self._verdict(proposal)

    def _verdict(self, proposal: Proposal) -> Warnings:
        for judged, verdict in self.verdicts.get(_place(proposal), ()):
            if judged == proposal:
                if verdict.refusal is not None:
                    raise PolicyViolation(verdict.refusal)
                return verdict.warnings
        if self.last_round:
            raise PolicyViolation(f"{UNABLE}: {proposal.resource} keeps changing")
        self.asked.append(proposal)
        raise PolicyViolation(UNABLE)  # so nothing that comes after the policy is done: no second policy, no quota


class _KnownGrowth(_Known):
    """For a create-topic class that also wants to see CreatePartitions."""

    def check_growth(self, proposal: GrowthProposal) -> Warnings:
        return self._verdict(proposal)


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
            return [_clean(each) for each in check(proposal) or ()]
        except PolicyViolation as refusal:
            raise PolicyViolation(_clean(refusal.message)) from None
        except Exception as error:
            log.error("the rules could not be evaluated: %s at %s", type(error).__name__, where(error))
            raise PolicyViolation(UNABLE) from None


class PolicyManager:
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
        self._workers = {
            id(each): WorkerThread("kconf-policy", timeout, spare=_SPARE_THREADS) for each in self._classes
        }
        self._turns = ResourceLocks()
        self._grows = callable(getattr(create, "check_growth", None))

    def __bool__(self) -> bool:
        return self._alter is not None or self._create is not None

    @property
    def hanging(self) -> bool:
        """Whether a call that took too long has still not come back."""
        return any(each.late for each in self._workers.values())

    async def decide(
        self, service: Service, plan: PolicyPlanner[T], caller: RequestContext, *, validate_only: bool = False
    ) -> PolicyDecision[T]:
        """Plan past the policies, and commit unless it is a dry run. Raises what `service.change` raises."""
        if not self:
            return PolicyDecision(await _run(service, lambda state: plan(state, NO_POLICY), caller, validate_only), [])
        if self._file is not None:
            await self._file.refresh()
        verdicts: _Verdicts = {}
        said: list[PolicyWarning] = []
        rounds = 0
        turn, waited = ResourceLock(self._turns), False

        def planner(state: State) -> Plan[T]:
            known = (_KnownGrowth if self._grows else _Known)(verdicts, rounds >= _MOST_ROUNDS)
            gate = self._gate(known, caller.principal, validate_only)
            made = plan(state, gate)
            if known.asked:
                raise _Unjudged(known.asked)
            said[:] = gate.warnings
            return made

        try:
            while True:
                try:
                    if self._classes and (waited or not rounds):  # see first: the writer's time is everybody's
                        planner(service.state)
                    outcome = await _run(service, planner, caller, validate_only)
                    break
                except _Unjudged as unjudged:
                    waited = await turn.take({str(each.resource) for each in unjudged.proposals})
                    if waited:
                        continue  # it may be another question by now
                    rounds += 1
                    for proposal in unjudged.proposals:
                        verdicts.setdefault(_place(proposal), []).append((proposal, await self._judge(proposal)))
        finally:
            turn.leave()
        for warning in said:
            log.warning("policy resource=%s principal=%s: %s", warning.resource, caller.principal, warning.text)
        return PolicyDecision(outcome, said)

    def _gate(self, known: _Known, principal: str, validate_only: bool) -> PolicyHooks:
        rules = _Guarded(self._file.rules) if self._file is not None else None
        alter = rules if isinstance(self._alter, RulesFile) else known if self._alter is not None else None
        create = rules if isinstance(self._create, RulesFile) else known if self._create is not None else None
        return PolicyHooks(alter, create, principal, validate_only)

    async def _judge(self, proposal: Proposal) -> _Verdict:
        policy: Any = self._alter if isinstance(proposal, AlterProposal) else self._create
        check = getattr(policy, _METHODS[type(proposal)])
        worker, name = self._workers[id(policy)], type(policy).__qualname__
        refused_before = worker.stuck
        try:
            return await worker.run(lambda: _ask(check, proposal))
        except WorkTimedOut:
            if not refused_before:
                log.error("policy %s did not answer in %.1f s about %s", name, worker.timeout, proposal.resource)
        except _Raised as raised:
            log.error("policy %s failed: %s", name, raised)
        return _Verdict(UNABLE)

    async def close(self) -> None:
        """Tell the classes that want to know, and wait no longer than for any other call."""
        for policy in self._classes:
            close = getattr(policy, "close", None)
            if callable(close):
                try:
                    await self._workers[id(policy)].run(lambda close=close: _call(close))  # type: ignore[misc]
                except (WorkTimedOut, _Raised):
                    log.warning("policy %s could not be closed", type(policy).__qualname__)
            self._workers[id(policy)].close()
        if self._file is not None:
            self._file.close()


async def _run(service: Service, planner: Callable[[State], Plan[T]], caller: RequestContext, dry: bool) -> T:
    return service.dry_run(planner) if dry else await service.change(planner, caller)


def _place(proposal: Proposal) -> tuple[type, str]:
    return type(proposal), str(proposal.resource)


class _Raised(Exception):
    """A policy raised something that is no `PolicyViolation`, be it SystemExit. Says what and where, and no secret.

    Made in the policy's thread: what the other exception says of itself is the policy's code too.
    """

    def __init__(self, cause: BaseException, secrets: Iterable[str] = ()) -> None:
        try:
            text = _clean(redacted(str(cause), secrets))
        except BaseException:
            text = "[it cannot be shown]"
        super().__init__(f"{type(cause).__name__} at {where(cause)}: {text}")


def _call(work: Callable[[], T]) -> T:
    try:
        return work()
    except BaseException as error:
        raise _Raised(error) from None


def _ask(check: Callable[[Proposal], Warnings], proposal: Proposal) -> _Verdict:
    """In the policy's thread; a policy may also `yield` its warnings, so they are read here."""
    secrets = _secrets(proposal)
    try:
        try:
            warnings = _warnings(check(proposal))
        except PolicyViolation as refusal:
            return _Verdict(_clean(redacted(str(refusal.message or "the policy refuses this"), secrets)))
        return _Verdict(None, tuple(_clean(redacted(each, secrets)) for each in warnings))
    except BaseException as error:
        raise _Raised(error, secrets) from None


def _warnings(said: object) -> list[str]:
    """What a policy returned. Whoever returns False meant to refuse, so anything but texts is a mistake."""
    if said is None or isinstance(said, str):
        return [said] if said else []
    if not isinstance(said, Iterable):
        raise TypeError(f"a policy returns nothing or warnings, not {type(said).__name__}")
    warnings = list(islice(said, _MOST_WARNINGS))
    if not all(isinstance(each, str) for each in warnings):
        raise TypeError("a policy's warnings are texts")
    return warnings


def _clean(text: str | None) -> str:
    """A text that fits every version of every answer."""
    return (text or "")[:_LONGEST].encode("utf-8", "replace").decode()


def _secrets(proposal: Proposal) -> list[str]:
    if not isinstance(proposal, AlterProposal):
        return []
    held = (proposal.changed, proposal.resulting, proposal.previous)
    return [secret for each in held if isinstance(each, Values) for secret in each.secrets.values()]


_METHODS: Final = {AlterProposal: "check_alter", TopicProposal: "check_create", GrowthProposal: "check_growth"}


def load_policies(static: Mapping[str, str], catalog: Catalog) -> PolicyManager:
    """The policies that server.properties names. `ConfigurationError` where one cannot be had: the start stops."""
    named = {name: static.get(name, "").strip() for name in (ALTER, CREATE)}
    path = text_setting(static, POLICY_FILE)
    if path and not any(named.values()):
        named = dict.fromkeys(named, RULES)
    if path and RULES not in named.values():
        raise ConfigurationError(f"{POLICY_FILE} is set, but neither {ALTER} nor {CREATE} is {RULES}")
    if not path and RULES in named.values():
        setting = next(each for each in named if named[each] == RULES)
        raise ConfigurationError(f"{setting}: {RULES} needs {POLICY_FILE}, the path of the rules")
    rules = RulesFile(path, catalog) if path else None
    made: dict[str, Any] = {}
    for setting, method in ((ALTER, "check_alter"), (CREATE, "check_create")):
        name = named[setting]
        if name and name != RULES:
            policy = made.get(name) or _configured(setting, name, static, catalog)
            if not callable(getattr(policy, method, None)):
                raise ConfigurationError(f"{setting}: {name} has no method {method}")
            made[name] = policy
    made[RULES] = rules
    return PolicyManager(
        made.get(named[ALTER]), made.get(named[CREATE]), timeout=int_setting(static, POLICY_TIMEOUT) / 1000
    )


def _configured(setting: str, name: str, static: Mapping[str, str], catalog: Catalog) -> Any:
    """An instance, which has seen the server's properties if it wants to."""
    kind = find_class(setting, name)
    try:
        policy = kind()
        configure = getattr(policy, "configure", None)
        if callable(configure):
            configure(dict(static))
    except (Exception, SystemExit) as error:
        secrets = [value for key, value in static.items() if key not in catalog.broker or catalog.broker[key].sensitive]
        text = redacted(str(error), secrets)
        raise ConfigurationError(f"{setting}: {name} could not be made: {type(error).__name__}: {text}") from None
    return policy
