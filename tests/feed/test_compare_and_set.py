"""Compare-and-set: a describe returns its revision (tag 40003), an alteration names it (tag 40001); one of two wins."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from threading import Barrier, Thread
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from kconf.protocol.messages.describe_configs import DescribeConfigsResource
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsResource,
)
from tests.feed.reading import changes, revision_of, set_key
from tests.support.admin import BROKER, BROKER_LOGGER, SET, TOPIC, Admin, codes
from tests.support.process import KconfProcess

MOVED = 95
ROUNDS = 200


def test_only_the_resource_that_changed_is_refused(admin: Admin, topic: str) -> None:
    names = [f"{topic}-{n}" for n in range(4)]
    admin.create(*names)
    seen = revision_of(admin, *((TOPIC, name) for name in names))
    set_key(admin, names[1], "1000")

    requests = [
        IncrementalAlterConfigsResource(TOPIC, name, [IncrementalAlterableConfig("segment.ms", SET, "5000")], seen)
        for name in names
    ]
    answer = admin.ask("IncrementalAlterConfigs", 1, resources=requests)

    assert codes(answer.responses) == [0, MOVED, 0, 0]
    assert [admin.overrides(name).get("segment.ms") for name in names] == ["5000", "1000", "5000", "5000"]


def test_any_change_of_a_resource_invalidates_its_expected_revision(admin: Admin, topic: str) -> None:
    """Another key, new partitions and a recreated topic are changes too."""
    admin.create(topic)
    for change in (
        lambda: admin.alter((TOPIC, topic), ("flush.ms", SET, "5")),
        lambda: admin.grow(topic, 2),
        lambda: (admin.delete(topic), admin.create(topic)),
    ):
        seen = revision_of(admin, (TOPIC, topic))
        change()
        assert set_key(admin, topic, "5", expected=seen) == MOVED
        assert set_key(admin, topic, "5", expected=seen, validate_only=True) == MOVED
    assert set_key(admin, topic, "5", expected=revision_of(admin, (TOPIC, topic))) == 0


def test_refusals_no_ops_and_dry_runs_do_not_change_the_revision(admin: Admin, topic: str) -> None:
    admin.create(topic, configs={"segment.ms": "5"})
    seen = revision_of(admin, (TOPIC, topic))
    set_key(admin, topic, "0")
    set_key(admin, topic, "5")
    set_key(admin, topic, "7", validate_only=True)

    assert set_key(admin, topic, "6", expected=seen) == 0


def test_an_expected_revision_higher_than_the_current_one_is_refused(admin: Admin, topic: str) -> None:
    """It comes from another cluster, or from before a backup was restored."""
    admin.create(topic)
    current = changes(admin, -1).current

    assert set_key(admin, topic, "5", expected=current + 1) == MOVED
    assert set_key(admin, topic, "5", expected=current) == 0
    assert set_key(admin, topic, "6", expected=-1) == 0


@pytest.mark.parametrize("name", ["1", "01", "+1"])
def test_a_broker_has_one_revision_for_all_spellings_of_its_id(own_admin: Admin, name: str) -> None:
    seen = revision_of(own_admin, (BROKER, name))
    key = "log.cleaner.backoff.ms"
    assert set_key(own_admin, "1", "20000", key=key, kind=BROKER) == 0

    assert set_key(own_admin, name, "30000", key=key, kind=BROKER, expected=seen) == MOVED
    assert own_admin.entries((BROKER, "1"))[key].value == "20000"


def test_a_logger_has_no_revision_to_compare_with(admin: Admin) -> None:
    assert set_key(admin, "1", "DEBUG", key="root", kind=BROKER_LOGGER, expected=0) == 42
    assert admin.entries((BROKER_LOGGER, "1"))["root"].value == "INFO"


def test_exactly_one_of_two_concurrent_writers_of_a_key_succeeds(server: KconfProcess, topic: str) -> None:
    with Admin(server.bootstrap) as one, Admin(server.bootstrap) as two:
        one.create(topic)
        start, ready, done = changes(one, -1).current, Barrier(2), Barrier(2)
        outcomes: dict[int, list[int]] = {1: [], 2: []}
        revisions: list[int] = []

        def race(who: int, admin: Admin) -> None:
            for turn in range(ROUNDS):
                seen = revision_of(admin, (TOPIC, topic))
                if who == 1:
                    revisions.append(seen)
                ready.wait(20)
                outcomes[who].append(set_key(admin, topic, str(1000 + 2 * turn + who), expected=seen))
                done.wait(20)

        threads = [Thread(target=race, args=each, daemon=True) for each in ((1, one), (2, two))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        journal = changes(one, start, filters=[(TOPIC, topic)]).revisions

    assert [sorted(each) for each in zip(outcomes[1], outcomes[2], strict=True)] == [[0, MOVED]] * ROUNDS
    assert len(revisions) == len(set(revisions)) == len(journal) == ROUNDS
    winners = [1 if code == 0 else 2 for code in outcomes[1]]
    assert [each.changes[0].after for each in journal] == [str(1000 + 2 * n + who) for n, who in enumerate(winners)]


# -- Cached responses --------------------------------------------------------------------------------------------

_NAMES = count()


class Guarded(RuleBasedStateMachine):
    """Describes and alterations in random order: the revision in a cached response is as safe as in a new one.

    A cached response has the revision at which it was created. It must show the current values, and an alteration that
    expects its revision must succeed exactly as long as the topic has not changed since then.
    """

    admin: Admin

    @initialize()
    def create(self) -> None:
        self.topics = [f"guarded-{next(_NAMES)}" for _ in range(3)]
        self.values: dict[str, str | None] = dict.fromkeys(self.topics)
        self.moves = dict.fromkeys(self.topics, 0)
        self.shown: list[tuple[str, int, int]] = []  # topic, returned revision, changes at that time
        self.number = 1000
        self.admin.create(*self.topics)

    @rule(which=st.integers(0, 2))
    def alter(self, which: int) -> None:
        self.number += 1
        assert set_key(self.admin, self.topics[which], str(self.number)) == 0
        self._moved(self.topics[which])

    @rule()
    def alter_what_all_inherit(self) -> None:
        self.number += 1
        assert set_key(self.admin, "", str(self.number), key="log.retention.ms", kind=BROKER) == 0

    @rule(some=st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True).map(sorted))
    def describe(self, some: Sequence[int]) -> None:
        names = [self.topics[each] for each in some]
        wanted = [DescribeConfigsResource(TOPIC, name, ["segment.ms"]) for name in names]
        answer: Any = self.admin.ask("DescribeConfigs", 4, resources=wanted)
        for result in answer.results:
            (entry,) = result.configs
            value = self.values[result.resource_name]
            assert (entry.value, entry.config_source) == ((value, 1) if value else ("604800000", 5))
            self.shown.append((result.resource_name, answer.revision, self.moves[result.resource_name]))

    @rule(pick=st.integers(0, 1_000_000))
    def compare_and_set(self, pick: int) -> None:
        if not self.shown:
            return
        name, revision, moves = self.shown[-1 - pick % min(len(self.shown), 6)]
        self.number += 1
        code = set_key(self.admin, name, str(self.number), expected=revision)
        assert code == (0 if moves == self.moves[name] else MOVED)
        if code == 0:
            self._moved(name)

    @invariant()
    def revisions_never_lie_ahead(self) -> None:
        if getattr(self, "shown", None):
            assert self.shown[-1][1] <= changes(self.admin, -1).current

    def _moved(self, name: str) -> None:
        self.values[name] = str(self.number)
        self.moves[name] += 1


def test_an_old_revision_is_refused_exactly_if_the_resource_changed_since(own_server: KconfProcess) -> None:
    with Admin(own_server.bootstrap) as admin:
        machine = type("Machine", (Guarded,), {"admin": admin})
        checks = [HealthCheck.too_slow, HealthCheck.data_too_large]
        run_state_machine_as_test(
            machine,
            settings=settings(max_examples=40, stateful_step_count=40, deadline=None, suppress_health_check=checks),
        )
