"""Which clients are throttled, and how long. The test controls the clock and never waits."""

from __future__ import annotations

import pytest

from kconf.engine.quotas.alter import plan_alter_quotas
from kconf.engine.quotas.rates import Windows
from kconf.model.journal import RequestContext, Revision
from kconf.model.quota import ClientQuotaAlteration, ClientQuotaOp, QuotaEntity
from kconf.model.snapshot import Snapshot
from kconf.server.quotas import manager as quota_manager
from kconf.server.quotas.manager import QuotaManager, Sensors
from kconf.server.quotas.metrics import MAX_LABELED, quota_families


class World:
    """A manager with a clock and a snapshot."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.snapshot = Snapshot.EMPTY
        self.manager = QuotaManager(lambda: self.time, controller=Windows(10, 1))

    def put(self, entity: dict[str, str | None], **quotas: float | None) -> None:
        alteration = ClientQuotaAlteration(
            QuotaEntity.of(entity), tuple(ClientQuotaOp(key, value) for key, value in quotas.items())
        )
        plan = plan_alter_quotas(self.snapshot, [alteration])
        assert not any(plan.outcome.values())
        self.snapshot = self.snapshot.apply(plan.changes, self.snapshot.revision + 1)
        self.manager.on_commit([Revision(self.snapshot.revision, 0, RequestContext(), plan.changes)], self.snapshot)


def test_nothing_is_measured_without_quotas() -> None:
    world = World()

    assert not world.manager.is_limiting
    assert world.manager.record_request("alice", "app", 100.0) == 0
    assert len(world.manager.requests) == 0
    world.put({"user": "alice"}, producer_byte_rate=1.0)
    assert not world.manager.is_limiting  # byte rates apply only to brokers with data


def test_a_slow_request_throttles_its_client_for_at_most_one_window() -> None:
    world = World()
    world.put({"user": "alice"}, request_percentage=10.0)

    assert world.manager.is_limiting
    assert world.manager.record_request("alice", "app", 1.0) == 0  # 100 in ten seconds: 10 percent, which is allowed
    assert world.manager.record_request("alice", "app", 0.05) == 500
    assert world.manager.record_request("alice", "app", 9.0) == 1000
    assert world.manager.record_request("bob", "app", 9.0) == 0
    world.time += 12
    assert world.manager.record_request("alice", "app", 0.5) == 0


def test_the_clients_of_a_user_share_its_quota_and_those_with_their_own_do_not() -> None:
    world = World()
    world.put({"user": "alice"}, request_percentage=10.0)
    world.manager.record_request("alice", "one", 1.0)

    assert world.manager.record_request("alice", "two", 0.05) > 0
    world.put({"user": "alice", "client-id": None}, request_percentage=10.0)
    assert world.manager.record_request("alice", "two", 0.05) == 0
    assert world.manager.record_request("alice", "one", 0.05) == 0


def test_a_changed_quota_applies_to_the_next_request() -> None:
    world = World()
    world.put({"client-id": "app"}, request_percentage=1.0)
    assert world.manager.record_request("alice", "app", 1.0) == 1000

    world.put({"client-id": "app"}, request_percentage=50.0)
    assert world.manager.record_request("alice", "app", 0.1) == 0
    world.put({"client-id": "app"}, request_percentage=1.0)
    assert world.manager.record_request("alice", "app", 0.1) == 1000
    world.put({"client-id": "app"}, request_percentage=None)
    assert world.manager.record_request("alice", "app", 9.0) == 0
    assert not world.manager.is_limiting


def test_quotas_are_loaded_again_after_a_restart() -> None:
    world = World()
    world.put({"client-id": "app"}, request_percentage=1.0)
    other = QuotaManager(lambda: 0.0)

    other.load(world.snapshot)

    assert other.is_limiting
    assert other.record_request("alice", "app", 1.0) == 1000


def test_mutations_are_refused_or_delayed() -> None:
    world = World()
    world.put({"user": "alice"}, controller_mutation_rate=2.0)
    manager = world.manager

    strict = manager.mutation("alice", "app", strict=True)
    assert strict is not None
    assert [strict.charge(name, 30) for name in ("one", "two")] == [True, False]
    assert manager.record_mutation("alice", "app", strict) == 5000

    world.time += 5
    older = manager.mutation("alice", "app", strict=False)
    assert older is not None
    assert older.charge("two", 30)
    assert manager.record_mutation("alice", "app", older) == 15000
    assert manager.mutation("bob", "app", strict=True) is None
    assert manager.record_mutation("bob", "app", None) == 0


def test_connections_from_an_address_are_counted_and_those_turned_away_are_not() -> None:
    world = World()
    world.put({"ip": "10.0.0.1"}, connection_creation_rate=1.0)
    manager = world.manager

    delays = [manager.record_connection("10.0.0.1") for _ in range(15)]

    assert delays == [0] * 10 + [1000] * 5
    assert manager.record_connection("10.0.0.2") == 0
    world.time += 11
    assert manager.record_connection("10.0.0.1") == 0
    world.put({"ip": "10.0.0.1"}, connection_creation_rate=None)
    assert [manager.record_connection("10.0.0.1") for _ in range(50)] == [0] * 50


def test_an_address_is_recognized_in_any_spelling() -> None:
    world = World()
    world.put({"ip": "0:0:0:0:0:0:0:1"}, connection_creation_rate=1.0)

    assert max(world.manager.record_connection("::1") for _ in range(15)) == 1000
    assert max(world.manager.record_connection("::2") for _ in range(15)) == 0


def test_each_address_is_counted_on_its_own_under_the_default() -> None:
    world = World()
    world.put({"ip": None}, connection_creation_rate=1.0)

    assert [world.manager.record_connection(f"10.0.0.{number}") for number in range(50)] == [0] * 50


def test_the_number_of_measured_clients_is_limited_and_throttle_totals_are_kept() -> None:
    measures: Sensors[object] = Sensors(object, most=2)
    measures.of(("a", ""), 1.0).throttled(70)
    measures.of(("b", ""), 1.0)
    measures.of(("a", ""), 1.0)
    measures.of(("c", ""), 1.0)

    assert [who for who, _ in measures.items()] == [("a", ""), ("c", "")]
    measures.of(("d", ""), 1.0)
    assert (len(measures), measures.throttles, measures.throttled_ms) == (2, 1, 70)


def test_the_list_of_seen_clients_is_limited_and_sorted_by_the_latest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quota_manager, "MAX_SEEN_BYTES", 10_000)
    manager = QuotaManager(lambda: 0.0)
    for number in range(100):
        manager.record_client("User:alice", f"client-{number}")
        manager.record_client("User:alice", "client-0")
    manager.record_client("User:alice", "x" * 32_767)

    assert 10 < len(manager.seen) < 40
    assert manager.seen[:2] == (("alice", "client-0"), ("alice", "client-99"))


def test_sensors_of_clients_with_long_names_use_little_memory_and_are_distinct() -> None:
    measures: Sensors[object] = Sensors(object)
    first, second = measures.of(("", "x" * 30_000 + "1"), 1.0), measures.of(("", "x" * 30_000 + "2"), 1.0)

    assert first is not second
    assert measures.of(("", "x" * 30_000 + "1"), 1.0) is first
    assert [len(client or "") < 400 for (_, client), _ in measures.items()] == [True, True]


def test_metrics_name_the_most_throttled_clients_and_sum_the_others() -> None:
    world = World()
    world.put({"client-id": None}, request_percentage=1.0)
    for number in range(MAX_LABELED + 20):
        world.manager.record_request("alice", f"client-{number}", 0.1 + number / 100_000)

    families = {family.name: family for family in quota_families(world.manager)}

    throttles = families["kconf_quota_throttles"].samples
    requests = [each for each in throttles if each.labels["quota"] == "request_percentage"]
    assert len(requests) == MAX_LABELED + 1
    assert sum(each.value for each in requests) == MAX_LABELED + 19  # the first was just in time
    assert {each.labels["client_id"] for each in requests} >= {"client-119", "(others)"}
    assert families["kconf_quota_entities"].samples[0].value == 1
    assert max(each.value for each in families["kconf_quota_usage"].samples) > 1.0
