"""Following real KRaft clusters: every change by any tool is seen once, in order, and only after it is committed."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from math import inf
from typing import Any
from uuid import uuid4

import pytest

from kconf import AlterConfigOp, NewTopic, OpType, Resource, SyncAdminClient
from kconf.errors import KafkaError
from kconf.model.journal import Revision
from kconf.model.quota import QuotaEntity
from kconf.protocol.records.batches import read_batches
from kconf.protocol.records.metadata import RECORD_TYPES, decode_record
from lab.broker import KafkaBroker
from lab.cluster import KafkaCluster
from lab.tools import ToolServer

RETENTION = "retention.ms"


def shown(revisions: list[Revision]) -> list[tuple[str, str, str, str | None, str | None]]:
    return [
        (str(change.resource), change.op, change.key, change.before, change.after)
        for each in revisions
        for change in each.changes
        if change.kind == "config"
    ]


@pytest.mark.parametrize("release", ["4.3.1", "3.9.2"])
def test_every_change_by_any_tool_is_seen(release: str, request: pytest.FixtureRequest) -> None:
    broker: KafkaBroker = request.getfixturevalue("kafka_431" if release == "4.3.1" else "kafka_392")
    tool: ToolServer = request.getfixturevalue("tools" if release == "4.3.1" else "tools_392")
    name, user = f"follow-{uuid4().hex[:8]}", f"user-{uuid4().hex[:8]}"
    with (
        SyncAdminClient(bootstrap_controllers=broker.address("CONTROLLER")) as controllers,
        controllers.follow() as log,
    ):
        topic = ("--entity-type", "topics", "--entity-name", name)
        person = ("--entity-type", "users", "--entity-name", user)
        tool.kafka_topics(
            broker.bootstrap, "--create", "--topic", name, "--partitions", "2", "--config", f"{RETENTION}=1"
        )
        tool.kafka_configs(broker.bootstrap, "--alter", *topic, "--add-config", f"{RETENTION}=2")
        tool.kafka_configs(broker.bootstrap, "--alter", *topic, "--delete-config", RETENTION)
        tool.kafka_configs(broker.bootstrap, "--alter", *person, "--add-config", "producer_byte_rate=1024")
        tool.kafka_configs(broker.bootstrap, "--alter", *person, "--add-config", "SCRAM-SHA-512=[password=hunter2]")
        with SyncAdminClient(broker.bootstrap) as admin:
            admin.incremental_alter_configs({Resource.topic(name): [AlterConfigOp(OpType.SET, RETENTION, "3")]})
            admin.delete_topics([name]).raise_for_failures()
        found: list[Revision] = []
        for revision in log:
            found += [revision] if any(name in str(each) or user in str(each) for each in revision.changes) else []
            if revision.changes[-1].op == "delete" and revision.changes[-1].kind == "topic":
                break

    kinds = [change.op for each in found for change in each.changes if change.kind == "topic"]
    assert kinds == ["create", "delete"]
    (scram,) = [each for each in shown(found) if each[0].startswith("scram")]
    assert [each for each in shown(found) if not each[0].startswith("scram")] == [
        (f"topic:{name}", "set", RETENTION, None, "1"),
        (f"topic:{name}", "set", RETENTION, "1", "2"),
        (f"topic:{name}", "delete", RETENTION, "2", None),
        (f'quota:{{"user":"{user}"}}', "set", "producer_byte_rate", None, "1024"),
        (f"topic:{name}", "set", RETENTION, None, "3"),
        (f"topic:{name}", "delete", RETENTION, "3", None),
    ]
    assert scram[:4] == (f"scram:{user}", "set", "SCRAM-SHA-512", None)
    assert (scram[4] or "").startswith("iterations=4096 log:")
    numbers = [each.number for each in found]
    assert numbers == sorted(set(numbers))


def test_records_are_decoded_as_kafkas_own_tool_does(kafka_431: KafkaBroker, tools: ToolServer) -> None:
    segment = kafka_431.directory / "data" / "__cluster_metadata-0" / f"{0:020}.log"
    with SyncAdminClient(kafka_431.bootstrap) as admin:
        topics = [NewTopic(f"dump-{uuid4().hex[:8]}", 5, 1, configs=[(RETENTION, "7")]) for _ in range(5)]
        admin.create_topics(topics).raise_for_failures()
        admin.delete_topics([topics[0].name]).raise_for_failures()
        entity = QuotaEntity.of({"user": "dump", "client-id": None})
        admin.alter_client_quotas({entity: {"request_percentage": 10.5}}).raise_for_failures()
    data = segment.read_bytes()
    dumped = tools.run_class(
        "org.apache.kafka.tools.DumpLogSegments",
        "--cluster-metadata-decoder",
        "--skip-record-metadata",
        "--files",
        str(segment),
    )

    payloads = [line.partition("payload: ")[2] for line in dumped.stdout.splitlines()]
    theirs = [json.loads(each) for each in payloads if each]
    ours = [
        decode_record(record.value)
        for batch in read_batches(data)
        if not batch.is_control
        for record in batch.records()
        if record.value is not None
    ]

    keys = {_kafkas_name(row.table.__name__): row for row in RECORD_TYPES.values()}
    assert min(len(ours), len(theirs)) > 20
    for mine, other in zip(ours, theirs, strict=False):  # the cluster has written more records since
        assert type(mine) is keys[other["type"]].table
        for field, value in other["data"].items():
            assert _as_json(_field(mine, field)) == value, (type(mine), field)


def _kafkas_name(name: str) -> str:
    return "".join(f"_{each}" if each.isupper() else each.upper() for each in name).lstrip("_")


def _field(struct: Any, name: str) -> Any:
    return getattr(struct, "".join(f"_{each.lower()}" if each.isupper() else each for each in name))


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return (
            base64.urlsafe_b64encode(value).decode().rstrip("=")
            if len(value) == 16
            else base64.b64encode(value).decode()
        )
    if isinstance(value, list | tuple):
        return [_as_json(each) for each in value]
    if hasattr(value, "FIELDS"):
        return {_camel(each.name): _as_json(getattr(value, each.name)) for each in value.FIELDS}
    return "Infinity" if value == inf else value


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(each.capitalize() for each in others)


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with KafkaCluster() as running:
        yield running


class Reader(threading.Thread):
    """Follows a cluster in the background and stores the values of one topic's key in order."""

    def __init__(self, controllers: str, topic: str) -> None:
        super().__init__(daemon=True)
        self.values: list[str | None] = []
        self.error: Exception | None = None
        self._resource = Resource.topic(topic)
        self._admin = SyncAdminClient(bootstrap_controllers=controllers)
        self._follow = self._admin.follow()
        self._follow.__enter__()

    def run(self) -> None:
        try:
            for revision in self._follow:
                self.values += [
                    each.after for each in revision.changes if (each.resource, each.key) == (self._resource, RETENTION)
                ]
        except Exception as error:
            self.error = error


def leader_of(cluster: KafkaCluster) -> KafkaBroker:
    with SyncAdminClient(bootstrap_controllers=cluster.controllers) as admin, admin.follow() as log:
        leader = log.follower.leader
    (found,) = [node for node in cluster.nodes if node.address("CONTROLLER") == str(leader)]
    return found


def wait(until: Callable[[], object], reader: Reader) -> None:
    ends = time.monotonic() + 120
    while time.monotonic() < ends:
        if until():
            return
        assert reader.error is None, reader.error
        time.sleep(0.05)
    raise AssertionError(f"not seen: {reader.values[-3:]}")


@pytest.mark.faults
def test_nothing_is_lost_or_repeated_when_leaders_are_killed(cluster: KafkaCluster) -> None:
    """SIGKILL, SIGTERM and SIGSTOP of the leader while a writer continues."""
    name = f"kills-{uuid4().hex[:8]}"
    acknowledged: list[str] = []
    uncertain: set[str] = set()
    stop = threading.Event()
    with SyncAdminClient(cluster.bootstrap, timeout=60, request_timeout=5) as admin:
        admin.create_topics([NewTopic(name, 1, 1)]).raise_for_failures()
        reader = Reader(cluster.controllers, name)
        reader.start()

        def write() -> None:
            number = 1000
            while not stop.is_set():
                number += 1
                try:
                    done = admin.incremental_alter_configs(
                        {Resource.topic(name): [AlterConfigOp(OpType.SET, RETENTION, str(number))]}
                    )
                    done.raise_for_failures()
                    acknowledged.append(str(number))
                except KafkaError:
                    uncertain.add(str(number))

        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        for harm in ("kill", "stop", "freeze"):
            before = len(acknowledged)
            wait(lambda before=before: len(acknowledged) > before + 5, reader)  # type: ignore[misc]
            victim = leader_of(cluster)
            getattr(victim, harm)()
            before = len(acknowledged)
            wait(lambda before=before: len(acknowledged) > before + 5, reader)  # type: ignore[misc]
            victim.thaw() if harm == "freeze" else victim.restart()
        stop.set()
        writer.join(120)
        wait(lambda: acknowledged[-1] in reader.values, reader)

    seen = [each for each in reader.values if each is not None]
    assert [each for each in seen if each not in uncertain] == acknowledged
    assert seen == sorted(set(seen), key=int)


@pytest.mark.faults
def test_a_value_that_was_never_committed_is_never_seen(cluster: KafkaCluster) -> None:
    name = f"uncommitted-{uuid4().hex[:8]}"
    with SyncAdminClient(cluster.bootstrap, timeout=30) as admin:
        admin.create_topics([NewTopic(name, 1, 3)]).raise_for_failures()
        reader = Reader(cluster.controllers, name)
        reader.start()
        topic = Resource.topic(name)
        admin.incremental_alter_configs({topic: [AlterConfigOp(OpType.SET, RETENTION, "1000")]}).raise_for_failures()
        wait(lambda: reader.values == ["1000"], reader)

        victim = leader_of(cluster)
        others = [each for each in cluster.nodes if each is not victim]
        for each in others:
            each.freeze()
        with SyncAdminClient(victim.bootstrap, timeout=3, request_timeout=3) as alone, pytest.raises(KafkaError):
            alone.incremental_alter_configs(
                {topic: [AlterConfigOp(OpType.SET, RETENTION, "6666")]}
            ).raise_for_failures()
        victim.kill()
        for each in others:
            each.thaw()
        admin.incremental_alter_configs({topic: [AlterConfigOp(OpType.SET, RETENTION, "2000")]}, timeout=60)
        wait(lambda: "2000" in reader.values, reader)
        live = admin.describe_configs([topic])[topic][RETENTION].value
        victim.restart()

    assert live == "2000"
    assert reader.values == ["1000", "2000"]
