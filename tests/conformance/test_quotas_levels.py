"""The eight levels on a real broker: a real producer is throttled by the level that kconf reports, and by no other.

For each level: if it is low and all lower levels are high, the producer is throttled; if it is high and the others are
low, it is not. So every level takes precedence over all lower ones.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from kconf.engine.quotas.alter import plan_alter_quotas
from kconf.engine.quotas.index import QuotaIndex
from kconf.engine.quotas.precedence import PRECEDENCE
from kconf.model.quota import ClientQuotaAlteration, ClientQuotaOp, QuotaEntity, QuotaSource
from kconf.model.snapshot import Snapshot
from lab.admin import AdminProbe
from lab.broker import KafkaBroker
from lab.pytest_plugin import MakeProbe

KEY = "producer_byte_rate"
LOW, HIGH = 2_000.0, 1e12
USER, CLIENT = "alice", "app"
LEVELS = {source: source.entity(USER, CLIENT) for source in PRECEDENCE}
PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";'


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    properties = {
        "listener.name.sasl.plain.sasl.jaas.config": PLAIN,
        "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN",
    }
    with KafkaBroker(listeners={"SASL": "SASL_PLAINTEXT"}, properties=properties) as made:
        yield made


@pytest.fixture(scope="module")
def probe(broker: KafkaBroker, make_probe: MakeProbe) -> AdminProbe:
    probe = make_probe(broker.bootstrap)
    probe.call("createTopics", {"topics": [{"name": "levels", "partitions": 1, "replicationFactor": 1}]})
    return probe


def put(probe: AdminProbe, quotas: dict[QuotaEntity, float]) -> None:
    """Set exactly these quotas."""
    entries = [
        {"entity": dict(entity.parts), "ops": [{"key": KEY, "value": quotas.get(entity)}]} for entity in LEVELS.values()
    ]
    outcomes = probe.call("alterClientQuotas", {"entries": entries})
    assert all(each["outcome"] == {} for each in outcomes)
    wanted = {entity: {KEY: value} for entity, value in quotas.items()}
    probe.wait_for(
        "describeClientQuotas",
        {"components": []},
        until=lambda told: {QuotaEntity.of(each["entity"]): each["quotas"] for each in told} == wanted,
    )


def throttled(broker: KafkaBroker) -> bool:
    """Whether a producer of user alice with client ID app is throttled when it sends 100 kB."""
    events: list[Any] = []
    delivered: list[Any] = []
    producer = Producer(
        {
            "bootstrap.servers": broker.address("SASL"),
            "client.id": CLIENT,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": USER,
            "sasl.password": "secret",
            "throttle_cb": events.append,
        }
    )
    producer.produce("levels", bytes(100_000), on_delivery=lambda error, _: delivered.append(error))
    deadline = time.monotonic() + 60
    while not delivered and time.monotonic() < deadline:
        producer.poll(0.05)
    assert delivered == [None]
    producer.poll(0.2)
    return bool(events)


def becomes(broker: KafkaBroker, expected: bool) -> bool:
    """Wait: a broker applies quotas some milliseconds after it describes them."""
    deadline = time.monotonic() + 60
    while throttled(broker) is not expected:
        if time.monotonic() > deadline:
            return False
    return True


@pytest.mark.parametrize("source", PRECEDENCE, ids=lambda source: source.name.lower())
def test_each_level_takes_precedence_over_all_later_ones(
    broker: KafkaBroker, probe: AdminProbe, source: QuotaSource
) -> None:
    first = LEVELS[source]
    after = [LEVELS[each] for each in PRECEDENCE[PRECEDENCE.index(source) + 1 :]]

    for own, others in ((LOW, HIGH), (HIGH, LOW)):
        quotas = {first: own, **dict.fromkeys(after, others)}
        put(probe, quotas)
        assert becomes(broker, own == LOW), f"{source.name} is {own} and what comes after it {others}"
        assert resolved(quotas) == (own, source)


def resolved(quotas: dict[QuotaEntity, float]) -> tuple[float, QuotaSource]:
    """The effective quota according to kconf."""
    requests = [ClientQuotaAlteration(entity, (ClientQuotaOp(KEY, value),)) for entity, value in quotas.items()]
    found = QuotaIndex.of(Snapshot.EMPTY.apply(plan_alter_quotas(Snapshot.EMPTY, requests).changes, 1)).resolve(
        KEY, USER, CLIENT
    )
    assert found is not None
    return found.value, found.source


def test_without_a_quota_no_client_is_throttled(broker: KafkaBroker, probe: AdminProbe) -> None:
    put(probe, {})

    assert becomes(broker, False)
    assert not throttled(broker)
