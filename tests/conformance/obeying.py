"""Shared by tests with a real Kafka 3.9.2 on ZooKeeper: clients that make changes, and checks of their effect."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, Producer

from kconf.model.journal import Revision
from lab.admin import AdminError, AdminProbe
from lab.broker import KafkaBroker
from lab.pytest_plugin import MakeProbe
from lab.tools import ToolServer
from tests.support.process import KconfProcess

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"


@dataclass(frozen=True, slots=True)
class Shared:
    """One ensemble with kconf and a broker. `ask` is a Java client of kconf, `own` one of the broker."""

    broker: KafkaBroker
    kconf: KconfProcess
    ask: AdminProbe
    own: AdminProbe

    def create(self, name: str) -> None:
        made = self.ask.call("createTopics", {"topics": [{"name": name, "partitions": 1, "replicationFactor": 1}]})
        assert "error" not in made[name], made

    def produce(self, topic: str, size: int = 10, user: str | None = None) -> KafkaError | None:
        """Send one message to the real broker; returns the result."""
        address = self.broker.bootstrap if user is None else self.broker.address("SASL")
        outcome: list[KafkaError | None] = []
        producer = Producer({"bootstrap.servers": address, "message.timeout.ms": 20_000, **credentials(user)})
        producer.produce(topic, b"x" * size, on_delivery=lambda error, _: outcome.append(error))
        producer.flush(30)
        return outcome[0]

    def refuses(self, code: int, topic: str, size: int = 10, user: str | None = None) -> Callable[[], bool]:
        def refused() -> bool:
            error = self.produce(topic, size, user)
            return error is not None and error.code() == code

        return refused

    def takes(self, topic: str, size: int = 10, user: str | None = None) -> Callable[[], bool]:
        return lambda: self.produce(topic, size, user) is None

    def described(self, kind: str, name: str, key: str) -> tuple[str, str]:
        """Value and source as the broker describes them; empty while it does not know a new topic yet."""
        answer = self.own.call("describeConfigs", {"resources": [{"type": kind, "name": name}]})
        entry = answer[f"{kind}:{name}"].get("entries", {}).get(key, {})
        return entry.get("value", ""), entry.get("source", "")


def until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"it still does not hold after {seconds:.0f} s"
        time.sleep(0.02)


@contextmanager
def producing(broker: KafkaBroker, client_id: str) -> Iterator[Callable[[], float]]:
    """A producer that sends as fast as allowed; the function sends more and returns the throttle time."""
    seen: list[float] = [0.0]
    requests: dict[str, Any] = {
        "bootstrap.servers": broker.bootstrap,
        "client.id": client_id,
        "batch.size": 100_000,
        "throttle_cb": lambda event: seen.append(event.throttle_time),
    }
    producer = Producer(requests)

    def throttled() -> float:
        for _ in range(10):
            producer.produce(client_id, b"x" * 20_000)
        producer.flush(1)
        return max(seen)

    yield throttled
    producer.purge()
    producer.flush(5)


def credentials(user: str | None) -> dict[str, str]:
    if user is None:
        return {}
    login = {"sasl.username": user, "sasl.password": user}
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-256", **login}


def altered_by_java(probe: AdminProbe, kind: str, name: str, values: Mapping[str, str]) -> None:
    if kind == "client":
        ops = [{"key": key, "value": float(value)} for key, value in values.items()]
        answer = probe.call("alterClientQuotas", {"entries": [{"entity": {"client-id": name}, "ops": ops}]})
        assert all("error" not in each["outcome"] for each in answer), answer
        return
    requests = [{"op": "SET", "name": key, "value": value} for key, value in values.items()]
    resource = {"type": "TOPIC" if kind == "topic" else "BROKER", "name": name, "ops": requests}
    answer = probe.call("incrementalAlterConfigs", {"resources": [resource]})
    assert all("error" not in each for each in answer.values()), answer


def altered_by_tool(tools: ToolServer, address: str, kind: str, name: str, values: Mapping[str, str]) -> None:
    whom = ["--broker-defaults"] if kind == "brokers" else [f"--{kind}", name]
    requested = ",".join(f"{key}={value}" for key, value in values.items())
    done = tools.kafka_configs(address, "--alter", *whom, "--add-config", requested)
    assert done.returncode == 0, done.stderr


def alter_scram(shared: Shared, requested: Mapping[str, object]) -> None:
    answer = shared.ask.call("alterUserScramCredentials", {"alterations": [requested]})
    assert all("error" not in each for each in answer.values()), answer


def logs_in(shared: Shared, make_probe: MakeProbe, user: str, password: str) -> bool:
    """Whether a Java client can log in to the real broker."""
    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": f'{SCRAM} username="{user}" password="{password}";',
    }
    probe = make_probe(shared.broker.address("SASL"), "3.9.2", properties=login)
    try:
        probe.call("listTopics")
    except AdminError as error:
        if error.name != "SaslAuthenticationException":
            raise
        return False
    finally:
        probe.close()
    return True


def next_about(watch: Iterator[Revision], key: str) -> Revision:
    return next(each for each in watch if any(change.key == key for change in each.changes))


def next_named(watch: Iterator[Revision], name: str) -> Revision:
    return next(each for each in watch if any(change.resource.name == name for change in each.changes))
