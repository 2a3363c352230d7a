"""Policies of a server: classes, reloaded files, slow and failing policies. Only their resource fails."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.configdef.server_settings import POLICY_FILE as FILE
from kconf.engine.policy.hooks import (
    AlterProposal,
    CreateTopicPolicy,
    GrowthProposal,
    PolicyHooks,
    PolicyWarning,
    TopicProposal,
)
from kconf.errors import ApiError, ErrorCode, KafkaError, PolicyViolation
from kconf.model.alteration import AlterConfigOp, OpType
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.plan import Plan
from kconf.model.resource import Resource, Topic
from kconf.server.policy.loader import load_policies
from kconf.server.policy.manager import PolicyManager
from kconf.server.policy.policy_check import KEEPS_CHANGING, NOT_EVALUATED, PolicyCheck
from kconf.service import Planner, Service, State
from kconf.store.memory import MemoryStore

CATALOGUE = kafka_43()
ADA = RequestContext("User:ada")
MAX_1H = "rules: [{id: r, selector: topic, key: retention.ms, condition: {max: 1h}}]\n"
MAX_2H = MAX_1H.replace("1h", "2h")
WARN = MAX_1H.replace("condition", "severity: warn, condition")

Outcomes = list[ApiError | None]


@asynccontextmanager
async def service() -> AsyncIterator[Service]:
    made = Service(MemoryStore(), node_id=1, catalog=CATALOGUE, static={})
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


def setting(key: str, value: str, *names: str) -> Callable[[State, PolicyHooks], Plan[Outcomes]]:
    """A planner that calls the hooks like engine/configs/alter.py, one topic after the other."""

    def plan(state: State, hooks: PolicyHooks) -> Plan[Outcomes]:
        outcomes: Outcomes = []
        changes: list[Change] = []
        for name in names or ("orders",):
            resource = Resource.broker(1) if name == "1" else Resource.topic(name)
            stored = state.snapshot.overrides(resource)
            try:
                requested = [AlterConfigOp(OpType.SET, key, value)]
                hooks.alteration(resource, requested, stored, {**stored, key: value}, state.resolver)
            except KafkaError as error:
                outcomes.append(error.failure())
                continue
            outcomes.append(None)
            changes.append(Change(ChangeKind.CONFIG, resource, key, stored.get(key), value, "set"))
        return Plan(outcomes, changes)

    return plan


def outcomes(*questions: Callable[[], None]) -> Plan[Outcomes]:
    """A plan without changes; returns the result of each policy call."""
    found: Outcomes = []
    for ask in questions:
        try:
            ask()
        except KafkaError as error:
            found.append(error.failure())
        else:
            found.append(None)
    return Plan(found)


class Decision(NamedTuple):
    outcome: Outcomes
    warnings: list[PolicyWarning]


class Remembering:
    """Policies that store their last check."""

    def __init__(self, policies: PolicyManager) -> None:
        self._policies = policies
        self.last: PolicyCheck | None = None

    def check(self, context: RequestContext, *, validate_only: bool) -> PolicyCheck | None:
        self.last = self._policies.check(context, validate_only=validate_only)
        return self.last


async def submit(
    policies: PolicyManager, running: Service, plan: Planner[Outcomes], *, validate_only: bool = False
) -> Decision:
    remembering = Remembering(policies)
    outcome = await running.submit(plan, ADA, remembering, validate_only=validate_only)
    return Decision(outcome, remembering.last.warnings if remembering.last is not None else [])


async def alter(
    policies: PolicyManager, running: Service, key: str, value: str, *names: str, validate_only: bool = False
) -> Decision:
    return await submit(policies, running, setting(key, value, *names), validate_only=validate_only)


def refused(text: str) -> ApiError:
    return ApiError(ErrorCode.POLICY_VIOLATION, text)


class Fussy:
    """Refuses 13, warns about 12, fails on 11, and records the calling thread."""

    def __init__(self) -> None:
        self.asked: list[AlterProposal] = []
        self.threads: set[str] = set()
        self.closed = False

    def check_alter(self, proposal: AlterProposal) -> Iterator[str]:
        self.asked.append(proposal)
        self.threads.add(threading.current_thread().name)
        value = proposal.changed.get("retention.ms")
        if value == "13":
            raise PolicyViolation("no thirteens")
        if value == "12":
            yield "twelve is close"
        if value == "11":
            raise SystemExit("leave")

    def close(self) -> None:
        self.closed = True


class Stuck:
    """Waits until it is released."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.came = threading.Event()
        self.asked = 0

    def check_alter(self, proposal: AlterProposal) -> None:
        self.asked += 1
        self.came.set()
        if not self.go.is_set():
            self.go.wait(60)


class Leaky:
    def check_alter(self, proposal: AlterProposal) -> None:
        raise ValueError(f"odd value {proposal.changed['ssl.keystore.password']}")


# -- without a server there is no policy -----------------------------------------------------------------------------


def test_without_policies_a_change_is_made() -> None:
    async def scene() -> None:
        policies = load_policies({}, CATALOGUE)
        async with service() as running:
            assert not policies
            assert await alter(policies, running, "retention.ms", "5") == ([None], [])
            assert running.state.snapshot.overrides(Resource.topic("orders")) == {"retention.ms": "5"}

    asyncio.run(scene())


# -- rules -----------------------------------------------------------------------------------------------------------


def test_a_violated_rule_fails_only_its_resource_in_a_dry_run_too(tmp_path: Path) -> None:
    async def scene() -> None:
        file = tmp_path / "policy.yaml"
        file.write_text(MAX_1H.replace("selector: topic", "selector: topic:orders"))
        policies = load_policies({FILE: str(file)}, CATALOGUE)
        sentence = "retention.ms is 3600001 but must be at most 1h (rule r)"
        async with service() as running:
            dry = await alter(policies, running, "retention.ms", "3600001", "orders", "free", validate_only=True)
            assert dry.outcome == [refused(sentence), None]
            assert running.state.snapshot.revision == 0
            wet = await alter(policies, running, "retention.ms", "3600001", "orders", "free")
            assert wet.outcome == [refused(sentence), None]
            assert dict(running.state.snapshot.configs) == {Resource.topic("free"): {"retention.ms": "3600001"}}

    asyncio.run(scene())


def test_a_warning_is_returned_and_logged_and_the_change_is_made(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        (tmp_path / "p").write_text(WARN)
        policies = load_policies({FILE: str(tmp_path / "p")}, CATALOGUE)
        async with service() as running:
            told = await alter(policies, running, "retention.ms", "3600001")
            text = "retention.ms is 3600001 but must be at most 1h (rule r)"
            assert told == ([None], [PolicyWarning(Resource.topic("orders"), text)])
            assert f"resource=topic:orders principal=User:ada: {text}" in caplog.text

    asyncio.run(scene())


def test_a_rule_that_raises_an_exception_refuses_the_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        (tmp_path / "p").write_text(MAX_1H)
        policies = load_policies({FILE: str(tmp_path / "p")}, CATALOGUE)
        monkeypatch.setattr("kconf.engine.policy.rules.Rules.evaluate", lambda *_: 1 / 0)
        async with service() as running:
            assert (await alter(policies, running, "retention.ms", "1")).outcome == [refused(NOT_EVALUATED)]

    asyncio.run(scene())


# -- classes ---------------------------------------------------------------------------------------------------------


def test_a_policy_class_is_called_once_per_change_in_its_own_thread() -> None:
    async def scene() -> None:
        policy = Fussy()
        policies = PolicyManager(policy)
        async with service() as running:
            values = ["10", "12", "13"]
            told = [await alter(policies, running, "retention.ms", value) for value in values]
            assert [each.outcome for each in told] == [[None], [None], [refused("no thirteens")]]
            assert [each.warnings for each in told] == [
                [],
                [PolicyWarning(Resource.topic("orders"), "twelve is close")],
                [],
            ]
            assert [each.changed["retention.ms"] for each in policy.asked] == values
            assert policy.asked[1].previous == {"retention.ms": "10"}
            assert policy.asked[0].principal == "User:ada"
            assert policy.threads == {"kconf-policy"}
            assert running.state.snapshot.overrides(Resource.topic("orders")) == {"retention.ms": "12"}
        await policies.close()
        assert policy.closed

    asyncio.run(scene())


def test_a_policy_class_that_raises_fails_only_its_resource(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        policies = PolicyManager(Fussy())
        async with service() as running:
            assert (await alter(policies, running, "retention.ms", "11")).outcome == [refused(NOT_EVALUATED)]
            assert (await alter(policies, running, "retention.ms", "10")).outcome == [None]
        assert "policy Fussy failed: SystemExit at " in caplog.text
        assert "test_manager.py:" in caplog.text

    asyncio.run(scene())


def test_the_message_of_a_class_about_a_secret_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        policies = PolicyManager(Leaky())
        async with service() as running:
            told = await alter(policies, running, "ssl.keystore.password", "hunter2", "1")
            assert told.outcome == [refused(NOT_EVALUATED)]
        assert "odd value [hidden]" in caplog.text
        assert "hunter2" not in caplog.text

    asyncio.run(scene())


def test_a_class_that_is_slow_blocks_no_other_change() -> None:
    async def scene() -> None:
        policy = Stuck()
        policies, free = PolicyManager(policy, timeout=60), PolicyManager()
        async with service() as running:
            slow = asyncio.create_task(alter(policies, running, "retention.ms", "1"))
            assert await asyncio.to_thread(policy.came.wait, 60)
            assert (await alter(free, running, "segment.ms", "1", "other")).outcome == [None]
            assert not slow.done()
            policy.go.set()
            assert (await slow).outcome == [None]

    asyncio.run(scene())


def test_a_class_that_hangs_is_called_again_after_it_returns(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        policy = Stuck()
        policies = PolicyManager(policy, timeout=0.5)
        async with service() as running:
            assert (await alter(policies, running, "retention.ms", "1")).outcome == [refused(NOT_EVALUATED)]
            assert policies.hanging
            names = [f"t-{number}" for number in range(20)]  # three spare threads also hang, and then none is left
            told = await alter(policies, running, "retention.ms", "1", *names)
            assert told.outcome == [refused(NOT_EVALUATED)] * 20
            assert policy.asked == 4
            policy.go.set()
            while policies.hanging:
                await asyncio.sleep(0.01)
            assert caplog.text.count("policy Stuck did not return within 0.5 s") == 4
            while (await alter(policies, running, "retention.ms", "1")).outcome != [None]:
                pass  # a busy machine may need longer than the time limit

    asyncio.run(scene())


def test_a_policy_class_that_hangs_after_its_client_disconnected_refuses_the_next_change() -> None:
    async def scene() -> None:
        policy = Stuck()
        policies = PolicyManager(policy, timeout=1.0)
        async with service() as running:
            gone = asyncio.create_task(alter(policies, running, "retention.ms", "1"))
            assert await asyncio.to_thread(policy.came.wait, 60)
            gone.cancel()
            await asyncio.gather(gone, return_exceptions=True)
            assert (await alter(policies, running, "retention.ms", "2")).outcome == [refused(NOT_EVALUATED)]
            assert policies.hanging
            policy.go.set()

    asyncio.run(scene())


class Selective(Stuck):
    """Hangs on one topic only."""

    def check_alter(self, proposal: AlterProposal) -> None:
        if proposal.resource.name == "bad":
            super().check_alter(proposal)


def test_a_class_that_hangs_over_one_resource_fails_that_one_only() -> None:
    async def scene() -> None:
        policy = Selective()
        policies = PolicyManager(policy, timeout=3.0)
        async with service() as running:
            told = await alter(policies, running, "retention.ms", "1", "good", "bad", "better")
            assert told.outcome == [None, refused(NOT_EVALUATED), None]
            assert policies.hanging
            policy.go.set()

    asyncio.run(scene())


def test_two_policy_classes_do_not_wait_for_each_other() -> None:
    def create(state: State, hooks: PolicyHooks) -> Plan[Outcomes]:
        topic = Topic("t", UUID(int=1), ((1,),))
        return outcomes(lambda: hooks.creation(topic, {}, state.resolver, assigned=False))

    async def scene() -> None:
        stuck, both = Stuck(), Both()
        policies = PolicyManager(stuck, both, timeout=30)
        async with service() as running:
            slow = asyncio.create_task(alter(policies, running, "retention.ms", "1"))
            assert await asyncio.to_thread(stuck.came.wait, 60)
            assert (await submit(policies, running, create)).outcome == [None]
            assert not slow.done()
            stuck.go.set()
            assert (await slow).outcome == [None]

    asyncio.run(scene())


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def _for_ever() -> Iterator[str]:
    while True:
        yield "again"


class Odd:
    """Does what a test sets."""

    def __init__(self, deed: Callable[[], object]) -> None:
        self._deed = deed

    def check_alter(self, proposal: AlterProposal) -> object:
        return self._deed()


def _raise(error: BaseException) -> object:
    raise error


@pytest.mark.parametrize(
    ("deed", "outcome"),
    [
        (lambda: False, refused(NOT_EVALUATED)),
        (lambda: 0, refused(NOT_EVALUATED)),
        (lambda: 5, refused(NOT_EVALUATED)),
        (lambda: b"bytes", refused(NOT_EVALUATED)),
        (lambda: [1], refused(NOT_EVALUATED)),
        (lambda: _raise(Unprintable()), refused(NOT_EVALUATED)),
        (lambda: _raise(KeyboardInterrupt()), refused(NOT_EVALUATED)),
        (lambda: _raise(PolicyViolation(5)), refused("5")),  # type: ignore[arg-type]
        (lambda: _raise(PolicyViolation()), refused("refused by the policy")),
        (lambda: _raise(PolicyViolation("half \ud800")), refused("half ?")),
        (lambda: _raise(PolicyViolation("x" * 9999)), refused("x" * 4000)),
        (lambda: "", None),
        (list, None),
        (lambda: "careful", None),
        (_for_ever, None),
    ],
)
def test_an_invalid_result_of_a_policy_refuses_the_change(deed: Callable[[], object], outcome: ApiError | None) -> None:
    """A policy that returns False refuses; an endless list of warnings is limited."""

    async def scene() -> None:
        policies = PolicyManager(Odd(deed))  # type: ignore[arg-type]
        async with service() as running:
            told = await alter(policies, running, "retention.ms", "1")
            assert told.outcome == [outcome]
            assert len(told.warnings) <= 1  # each is returned once

    asyncio.run(scene())


class Chatty:
    """Prints its input, including passwords."""

    def check_alter(self, proposal: AlterProposal) -> Iterator[str]:
        value = proposal.changed["ssl.keystore.password"]
        if value == "refuse-me":
            raise PolicyViolation(f"bad: {value}")
        yield f"fine: {value}"


def test_messages_and_warnings_of_a_class_contain_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        policies = PolicyManager(Chatty())
        async with service() as running:
            told = await alter(policies, running, "ssl.keystore.password", "refuse-me", "1")
            assert told.outcome == [refused("bad: [hidden]")]
            told = await alter(policies, running, "ssl.keystore.password", "hunter2", "1")
            assert [each.text for each in told.warnings] == ["fine: [hidden]"]
        assert "hunter2" not in caplog.text

    asyncio.run(scene())


def test_one_resource_named_in_two_ways_is_checked_in_both() -> None:
    """BROKER "1" and "01" are the same broker, but two requested changes."""

    def plan(state: State, hooks: PolicyHooks) -> Plan[Outcomes]:
        def ask(value: str) -> None:
            requested = [AlterConfigOp(OpType.SET, "background.threads", value)]
            hooks.alteration(Resource.broker(1), requested, {}, {"background.threads": value}, state.resolver)

        return outcomes(lambda: ask("1"), lambda: ask("2"))

    async def scene() -> None:
        policy = Fussy()
        async with service() as running:
            assert (await submit(PolicyManager(policy), running, plan)).outcome == [None, None]
        assert len(policy.asked) == 2

    asyncio.run(scene())


@pytest.mark.parametrize("validate_only", [False, True])
def test_a_request_with_policies_is_planned_twice(validate_only: bool) -> None:
    """Once to collect the input of the policies, and once to commit."""
    planned = 0

    def plan(state: State, hooks: PolicyHooks) -> Plan[Outcomes]:
        nonlocal planned
        planned += 1
        return setting("retention.ms", "1")(state, hooks)

    async def scene() -> None:
        async with service() as running:
            await submit(PolicyManager(Fussy()), running, plan, validate_only=validate_only)
        assert planned == 2

    asyncio.run(scene())


def test_writers_of_one_resource_are_serialized() -> None:
    """Otherwise each would invalidate the policy results of the others, and the last would be refused."""

    async def scene() -> None:
        policy = Fussy()
        policies = PolicyManager(policy)
        async with service() as running:
            values = [str(100 + number) for number in range(30)]
            told = await asyncio.gather(
                *(alter(policies, running, "retention.ms", value, "hot", f"own-{value}") for value in values)
            )
            assert [each.outcome for each in told] == [[None, None]] * 30
        assert len(policy.asked) == 60  # no policy had to be called again

    asyncio.run(scene())


def test_clients_that_disconnect_release_their_turns() -> None:
    async def scene() -> None:
        policy = Stuck()
        policies = PolicyManager(policy, timeout=30)
        async with service() as running:
            gone = asyncio.create_task(alter(policies, running, "retention.ms", "1"))
            assert await asyncio.to_thread(policy.came.wait, 60)
            waiting = asyncio.create_task(alter(policies, running, "retention.ms", "2"))
            await asyncio.sleep(0)
            gone.cancel()
            policy.go.set()
            assert (await waiting).outcome == [None]

    asyncio.run(scene())


class Growing:
    def __init__(self) -> None:
        self.seen: list[tuple[str, int, int]] = []

    def check_create(self, proposal: TopicProposal) -> None:
        raise AssertionError

    def check_growth(self, proposal: GrowthProposal) -> None:
        self.seen.append((proposal.topic.name, proposal.previous, proposal.topic.partitions))
        raise PolicyViolation("large enough")


@pytest.mark.parametrize(("policy", "outcome"), [(Growing, refused("large enough")), (lambda: Both(), None)])
def test_a_class_with_check_growth_checks_added_partitions(
    policy: Callable[[], CreateTopicPolicy], outcome: ApiError
) -> None:
    old, new = (Topic("t", UUID(int=1), ((1,),) * count) for count in (2, 5))

    def plan(state: State, hooks: PolicyHooks) -> Plan[Outcomes]:
        return outcomes(lambda: hooks.growth(old, new, {}, state.resolver))

    async def scene() -> None:
        made = policy()
        async with service() as running:
            assert (await submit(PolicyManager(None, made), running, plan)).outcome == [outcome]
        assert getattr(made, "seen", [("t", 2, 5)]) == [("t", 2, 5)]

    asyncio.run(scene())


class Meddler:
    """Changes the topic with another request while the policy runs."""

    def __init__(self, running: Service, times: int) -> None:
        self._running, self._left = running, times
        self._loop = asyncio.get_running_loop()
        self.asked = 0

    def check_alter(self, proposal: AlterProposal) -> None:
        self.asked += 1
        if self._left:
            self._left -= 1
            change = setting("segment.ms", str(self.asked))
            work = self._running.submit(change, ADA)
            asyncio.run_coroutine_threadsafe(work, self._loop).result(10)


@pytest.mark.parametrize(
    ("times", "outcome"), [(1, None), (3, None), (99, refused(KEEPS_CHANGING.format("topic:orders")))]
)
def test_a_policy_result_is_used_only_for_the_same_call(times: int, outcome: ApiError | None) -> None:
    async def scene() -> None:
        async with service() as running:
            policy = Meddler(running, times)
            told = await alter(PolicyManager(policy), running, "retention.ms", "1")
            assert told.outcome == [outcome]
            assert policy.asked == min(times + 1, 20)

    asyncio.run(scene())


class Both:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def check_alter(self, proposal: AlterProposal) -> None:
        self.asked.append("alter")
        if "bad" in proposal.changed.values():
            raise PolicyViolation("bad")

    def check_create(self, proposal: TopicProposal) -> None:
        self.asked.append("create")


@pytest.mark.parametrize(("value", "asked"), [("bad", ["alter"]), ("good", ["alter", "create"])])
def test_a_topic_whose_configs_are_refused_is_not_shown_to_the_create_policy(value: str, asked: Sequence[str]) -> None:
    """Kafka 4.3 calls the alter policy first, and the create policy only if the first accepts the configs."""

    def plan(state: State, hooks: PolicyHooks) -> Plan[Outcomes]:
        try:
            hooks.creation_configs("t", {"compression.type": value}, state.resolver)
            hooks.creation(
                Topic("t", UUID(int=1), ((1,),)), {"compression.type": value}, state.resolver, assigned=False
            )
        except KafkaError as error:
            return Plan([error.failure()])
        return Plan([None])

    async def scene() -> None:
        policy = Both()
        async with service() as running:
            told = await submit(PolicyManager(policy, policy), running, plan)
        assert told.outcome == ([refused("bad")] if value == "bad" else [None])
        assert policy.asked == asked

    asyncio.run(scene())


def test_the_example_classes_refuse_and_warn() -> None:
    from examples.policies import OfficeHours, TeamNames

    orders = Resource.topic("orders")
    with pytest.raises(PolicyViolation, match="only operators"):
        list(OfficeHours().check_alter(AlterProposal(orders, {"retention.ms": "1"}, {}, {"retention.ms": "2"})))
    assert list(OfficeHours().check_alter(AlterProposal(orders, {"retention.ms": "-1"}, {}, {}))) == [
        "topic:orders: records will be kept forever"
    ]
    teams = TeamNames()
    teams.configure({"team.names": "payments, search"})
    teams.check_create(TopicProposal("payments.in", 3, 1, None, {}))
    with pytest.raises(PolicyViolation, match="teams: payments, search"):
        teams.check_create(TopicProposal("other.in", 3, 1, None, {}))
    with pytest.raises(PolicyViolation, match="at most 12"):
        teams.check_create(TopicProposal("search.in", None, None, dict.fromkeys(range(13), (1,)), {}))
