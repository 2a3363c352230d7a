"""kafka-topics of 4.3.1 and 3.9.2, on kconf and on a real 4.3.1 broker: the same commands, the same output."""

from __future__ import annotations

import pytest

from lab.tools import ToolServer
from tests.conformance.tooling import Pair

SCENARIOS = {
    "life": """
        topics --create --topic NAME --partitions 3 --replication-factor 1 --config flush.ms=5 --config segment.ms=6
        topics --describe --topic NAME
        topics --list
        topics --list --exclude-internal
        topics --list --topic NAM.*
        topics --describe
        topics --describe --exclude-internal
        topics --describe --topics-with-overrides
        topics --describe --under-replicated-partitions
        topics --describe --unavailable-partitions
        topics --describe --under-min-isr-partitions
        topics --describe --at-min-isr-partitions
        topics --alter --topic NAME --partitions 5
        topics --describe --topic NAME
        topics --delete --topic NAME
        topics --list
        topics --create --topic NAME
        topics --describe --topic NAME
        topics --delete --topic NAME
        topics --list
    """,
    "many": """
        topics --create --topic NAME-one
        topics --create --topic NAME-two --partitions 2
        topics --create --topic NAME-three --replica-assignment 1,1,1
        topics --list --topic 'NAME-t.*'
        topics --describe --topic 'NAME-(one|two)'
        topics --describe --topic NAME-three
        topics --alter --topic 'NAME-(one|two)' --partitions 4
        topics --describe --topic 'NAME-.*'
        topics --delete --topic 'NAME-(one|two)'
        topics --list
        topics --delete --topic NAME-three
        topics --list
    """,
    "errors": """
        topics --create --topic NAME --partitions 2
        topics --describe --topic NAME
        topics --create --topic NAME
        topics --create --topic NAME --if-not-exists
        topics --create --topic 'bad name'
        topics --create --topic ..
        topics --create --topic NAME-x --replication-factor 3
        topics --create --topic NAME-x --replication-factor 0
        topics --create --topic NAME-x --partitions 0
        topics --create --topic NAME-x --config no.such.key=1
        topics --create --topic NAME-x --config retention.ms=soon
        topics --create --topic NAME-x --replica-assignment 1:1
        topics --create --topic NAME-x --replica-assignment 9
        topics --create --topic NAME-x --replica-assignment 1 --partitions 2
        topics --alter --topic NAME --partitions 2
        topics --alter --topic NAME --partitions 1
        topics --alter --topic NAME --partitions 4 --replica-assignment 1,1,9,1
        topics --alter --topic NAME-missing --partitions 2
        topics --alter --topic NAME-missing --partitions 2 --if-exists
        topics --describe --topic NAME-missing
        topics --describe --topic NAME-missing --if-exists
        topics --delete --topic NAME-missing
        topics --delete --topic NAME-missing --if-exists
        topics
        topics --create
        topics --nonsense
        topics --delete --topic NAME
        topics --list
    """,
    "colliding": """
        topics --create --topic NAME.a
        topics --describe --topic NAME.a
        topics --create --topic NAME_a
        topics --delete --topic NAME.a
        topics --list
    """,
}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_tool_prints_the_same_on_kconf_and_on_kafka(beside: Pair, tool_server: ToolServer, scenario: str) -> None:
    name = f"{scenario}-{tool_server.version.replace('.', '-')}"

    for line in SCENARIOS[scenario].strip().splitlines():
        beside.check(tool_server, line.strip().replace("NAME", name))


def test_topics_are_described_by_id(beside: Pair, tool_server: ToolServer) -> None:
    name = f"by-id-{tool_server.version.replace('.', '-')}"
    beside.on_kconf(tool_server, f"topics --create --topic {name} --partitions 2")
    by_name = tool_server.kafka_topics(beside.kconf.bootstrap, "--describe", "--topic", name)
    topic_id = by_name.stdout.split("TopicId: ")[1].split()[0]

    by_id = tool_server.kafka_topics(beside.kconf.bootstrap, "--describe", "--topic-id", topic_id)
    beside.on_kconf(tool_server, f"topics --delete --topic {name}")
    gone = beside.on_kconf(tool_server, f"topics --describe --topic-id {topic_id}")

    assert by_id.returncode == 0
    assert by_id.stdout.splitlines()[0] == by_name.stdout.splitlines()[0]
    assert len(by_id.stdout.splitlines()) == 3
    assert gone.status == 1
