"""kafka-configs of 4.3.1 and 3.9.2, on kconf and on a real 4.3.1 broker: the same commands, the same output.

A scenario is a list of command lines that leaves nothing stored. NAME is the scenario's own entity. A read follows each
change, so that the real broker can catch up.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import tools as fresh
from lab.tools import ToolServer
from tests.conformance.tooling import Pair

SCENARIOS = {
    "topic": """
        topics --create --topic NAME --partitions 2 --config retention.ms=5000
        configs --describe --topic NAME
        configs --describe --topic NAME --all
        configs --describe --entity-type topics --entity-name NAME --all
        configs --describe --entity-type topics
        configs --alter --topic NAME --add-config cleanup.policy=[delete,compact],segment.ms=6000
        configs --describe --topic NAME
        configs --alter --topic NAME --delete-config retention.ms,segment.ms
        configs --describe --topic NAME
        configs --alter --topic NAME --add-config retention.ms=7000 --delete-config cleanup.policy
        configs --describe --topic NAME
        configs --alter --topic NAME --add-config follower.replication.throttled.replicas=[0:1,1:1]
        configs --describe --topic NAME --all
        configs --alter --topic NAME --add-config 'compression.type= gzip ,min.cleanable.dirty.ratio=1'
        configs --describe --topic NAME
        topics --delete --topic NAME
        topics --list
    """,
    "topic-errors": """
        topics --create --topic NAME
        topics --describe --topic NAME
        configs --alter --topic NAME --add-config no.such.key=1
        configs --alter --topic NAME --add-config segment.ms=soon
        configs --alter --topic NAME --add-config segment.ms=0
        configs --alter --topic NAME --add-config segment.ms=
        configs --alter --topic NAME --add-config cleanup.policy=[delete,shred]
        configs --alter --topic NAME --add-config min.compaction.lag.ms=10,max.compaction.lag.ms=5
        configs --alter --topic NAME --add-config remote.storage.enable=true
        configs --alter --topic NAME --delete-config no.such.key
        configs --alter --topic NAME --delete-config segment.ms
        configs --alter --topic NAME --add-config segment.ms=1 --delete-config segment.ms
        configs --alter --topic NAME-missing --add-config segment.ms=1
        configs --alter --topic 'bad name' --add-config segment.ms=1
        configs --describe --topic NAME
        configs --describe --topic NAME-missing
        configs --describe --topic 'bad name'
        topics --delete --topic NAME
        topics --list
    """,
    "broker": """
        configs --describe --broker 1
        configs --describe --broker 1 --all
        configs --alter --broker 1 --add-config log.retention.ms=70000,log.cleaner.backoff.ms=20000
        configs --describe --broker 1
        configs --describe --broker 1 --all
        configs --describe --entity-type brokers
        configs --describe --entity-type brokers --all
        configs --alter --broker 1 --add-config my.plugin.token=hidden
        configs --describe --broker 1
        configs --alter --broker 1 --add-config listener.name.inside.ssl.keystore.password=hidden
        configs --describe --broker 1
        configs --alter --broker 1 --delete-config listener.name.inside.ssl.keystore.password
        configs --describe --broker 1
        configs --alter --broker 1 --delete-config log.retention.ms,log.cleaner.backoff.ms,my.plugin.token
        configs --describe --broker 1
    """,
    "broker-defaults": """
        topics --create --topic NAME
        topics --describe --topic NAME
        configs --describe --broker-defaults
        configs --alter --broker-defaults --add-config log.retention.ms=60000,log.cleanup.policy=[compact,delete]
        configs --describe --broker-defaults
        configs --describe --broker-defaults --all
        configs --describe --entity-type brokers --entity-default
        configs --describe --topic NAME --all
        configs --alter --broker 1 --add-config log.retention.ms=80000
        configs --describe --broker 1
        configs --describe --topic NAME --all
        configs --alter --topic NAME --add-config retention.ms=90000
        configs --describe --topic NAME
        configs --alter --broker 1 --delete-config log.retention.ms
        configs --describe --broker 1
        configs --alter --broker-defaults --delete-config log.retention.ms,log.cleanup.policy
        configs --describe --broker-defaults
        configs --describe --topic NAME
        topics --delete --topic NAME
        topics --list
    """,
    "broker-errors": """
        configs --alter --broker 1 --add-config broker.id=5
        configs --alter --broker 1 --add-config log.retention.hours=5
        configs --alter --broker 1 --add-config log.retention.ms=soon
        configs --alter --broker 1 --add-config num.io.threads=100
        configs --alter --broker 1 --add-config ssl.keystore.location=/nowhere
        configs --alter --broker-defaults --add-config listeners=PLAINTEXT://:0
        configs --alter --broker-defaults --add-config listener.name.inside.ssl.keystore.location=/nowhere
        configs --alter --broker-defaults --add-config log.roll.ms=0
        configs --describe --broker x
        configs --alter --broker 1,2,3 --add-config log.retention.ms=1
        configs --describe --broker 1
        configs --describe --broker-defaults
    """,
    "loggers": """
        configs --alter --broker-logger 1 --add-config no.such.logger=INFO
        configs --alter --broker-logger 1 --delete-config no.such.logger
        configs --alter --broker-logger 1 --add-config root=SILENT
        configs --alter --broker-logger 1 --add-config root=OFF
        configs --alter --broker-logger 1 --delete-config root
        configs --alter --broker-logger 1 --add-config root=WARN
        configs --alter --broker-logger 1 --add-config root=INFO
        configs --describe --entity-type broker-loggers
        configs --describe --entity-type broker-loggers --entity-default
        configs --alter --entity-type broker-loggers --add-config root=INFO
    """,
    "client-metrics": """
        configs --describe --entity-type client-metrics
        configs --alter --entity-type client-metrics --entity-name NAME --add-config interval.ms=1000,metrics=[a.,b.]
        configs --describe --entity-type client-metrics --entity-name NAME
        configs --alter --entity-type client-metrics --entity-name NAME --add-config match=[client_id=x.*,client_id=y]
        configs --describe --entity-type client-metrics --entity-name NAME
        configs --describe --entity-type client-metrics --entity-name NAME --all
        configs --describe --entity-type client-metrics
        configs --alter --entity-type client-metrics --entity-name NAME --add-config interval.ms=1
        configs --alter --entity-type client-metrics --entity-name NAME --add-config interval.ms=soon
        configs --alter --entity-type client-metrics --entity-name NAME --add-config no.such.key=1
        configs --alter --entity-type client-metrics --entity-name NAME --add-config match=[planet=mars]
        configs --alter --entity-type client-metrics --entity-name NAME --add-config 'match=[client_id=(]'
        configs --alter --entity-type client-metrics --entity-name NAME --delete-config metrics
        configs --describe --entity-type client-metrics --entity-name NAME
        configs --alter --entity-type client-metrics --add-config interval.ms=1000
        configs --alter --entity-type client-metrics --entity-name NAME --delete-config interval.ms,match
        configs --describe --entity-type client-metrics --entity-name NAME
    """,
    "groups": """
        configs --describe --entity-type groups
        configs --alter --entity-type groups --entity-name NAME --add-config consumer.session.timeout.ms=50000
        configs --describe --entity-type groups --entity-name NAME
        configs --describe --entity-type groups --entity-name NAME --all
        configs --describe --entity-type groups
        configs --alter --entity-type groups --entity-name NAME --add-config share.auto.offset.reset=earliest
        configs --describe --entity-type groups --entity-name NAME
        configs --alter --entity-type groups --entity-name NAME --add-config consumer.session.timeout.ms=5
        configs --alter --entity-type groups --entity-name NAME --add-config consumer.heartbeat.interval.ms=soon
        configs --alter --entity-type groups --entity-name NAME --add-config share.isolation.level=loose
        configs --alter --entity-type groups --entity-name NAME --add-config no.such.key=1
        configs --alter --entity-type groups --add-config consumer.session.timeout.ms=50000
        configs --alter --entity-type groups --entity-name NAME --delete-config consumer.session.timeout.ms
        configs --describe --entity-type groups --entity-name NAME
        configs --alter --entity-type groups --entity-name NAME --delete-config share.auto.offset.reset
        configs --describe --entity-type groups --entity-name NAME
    """,
    "clients": """
        configs --alter --client NAME --add-config producer_byte_rate=1024,consumer_byte_rate=10485760
        configs --describe --client NAME
        configs --alter --client NAME --add-config request_percentage=0.0005
        configs --describe --client NAME
        configs --describe --entity-type clients
        configs --alter --client NAME --add-config producer_byte_rate=soon
        configs --alter --client NAME --add-config producer_byte_rate=10.5
        configs --alter --client NAME --add-config producer_byte_rate=-1
        configs --alter --client NAME --add-config no.such.key=1
        configs --alter --client NAME --delete-config controller_mutation_rate
        configs --alter --client-defaults --add-config consumer_byte_rate=7
        configs --describe --entity-type clients --entity-default
        configs --alter --user NAME --client NAME --add-config consumer_byte_rate=8
        configs --describe --user NAME --client NAME
        configs --alter --user NAME --client-defaults --add-config consumer_byte_rate=9
        configs --describe --entity-type users --entity-type clients
        configs --alter --user NAME --client-defaults --delete-config consumer_byte_rate
        configs --alter --user NAME --client NAME --delete-config consumer_byte_rate
        configs --alter --client-defaults --delete-config consumer_byte_rate
        configs --alter --client NAME --delete-config producer_byte_rate,consumer_byte_rate,request_percentage
        configs --describe --entity-type clients
        configs --describe --entity-type users --entity-type clients
    """,
    "users-and-ips": """
        configs --alter --user-defaults --add-config producer_byte_rate=5
        configs --describe --user-defaults
        configs --alter --user-defaults --delete-config producer_byte_rate
        configs --describe --user-defaults
        configs --alter --ip 10.0.0.1 --add-config connection_creation_rate=10
        configs --describe --ip 10.0.0.1
        configs --alter --ip-defaults --add-config connection_creation_rate=7
        configs --describe --entity-type ips
        configs --alter --ip 10.0.0.1 --add-config connection_creation_rate=-1
        configs --alter --ip 10.0.0.1 --add-config producer_byte_rate=1
        configs --describe --ip-defaults
        configs --alter --ip-defaults --delete-config connection_creation_rate
        configs --alter --ip 10.0.0.1 --delete-config connection_creation_rate
        configs --describe --entity-type ips
    """,
    "arguments": """
        configs
        configs --describe
        configs --describe --entity-type planets
        configs --describe --alter --topic NAME
        configs --describe --topic NAME --add-config a=b
        configs --alter --topic NAME
        configs --alter --topic NAME --add-config a==b
        configs --alter --topic NAME --add-config a;c=b
        configs --alter --entity-type topics --add-config segment.ms=1
        configs --describe --entity-type topics --entity-default
        configs --describe --topic NAME --broker 1
        configs --nonsense
    """,
}


def lines(scenario: str, name: str) -> list[str]:
    return [line.strip().replace("NAME", name) for line in SCENARIOS[scenario].strip().splitlines()]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_tool_prints_the_same_on_kconf_and_on_kafka(beside: Pair, tool_server: ToolServer, scenario: str) -> None:
    name = f"{scenario}-{tool_server.version.replace('.', '-')}"

    for line in lines(scenario, name):
        beside.check(tool_server, line)


def test_there_are_more_than_a_hundred_command_lines() -> None:
    assert sum(len(lines(scenario, "x")) for scenario in SCENARIOS) > 100


def test_loggers_of_kconf_are_altered_and_described(beside: Pair, tool_server: ToolServer) -> None:
    """Logger names are kconf's own; levels, texts and format are Kafka's."""
    change = beside.on_kconf(tool_server, "configs --alter --broker-logger 1 --add-config kconf.service=DEBUG")
    seen = beside.on_kconf(tool_server, "configs --describe --broker-logger 1")
    undo = beside.on_kconf(tool_server, "configs --alter --broker-logger 1 --delete-config kconf.service")
    after = beside.on_kconf(tool_server, "configs --describe --broker-logger 1")

    assert (change.status, undo.status) == (0, 0)
    assert "  kconf.service=DEBUG sensitive=false synonyms={}" in seen.lines
    assert "  kconf.service=INFO sensitive=false synonyms={}" in after.lines
    assert "Dynamic configs for broker-logger 1 are:" in seen.lines


def test_values_can_be_read_from_a_file(beside: Pair, tool_server: ToolServer, tmp_path: Path) -> None:
    name = f"file-{tool_server.version.replace('.', '-')}"
    file = tmp_path / "requests.properties"
    file.write_text("segment.ms = 5\ncleanup.policy=compact,delete\n")

    beside.check(tool_server, f"topics --create --topic {name}")
    beside.check(tool_server, f"topics --describe --topic {name}")
    beside.check(tool_server, f"configs --alter --topic {name} --add-config-file {file}")
    said = beside.check(tool_server, f"configs --describe --topic {name}")
    beside.check(tool_server, f"topics --delete --topic {name}")

    assert len(said.lines) == 3


def test_describing_a_missing_broker_prints_nothing_as_on_kafka(beside: Pair, tools: ToolServer) -> None:
    """3.9.2 waits for such a broker until it times out; 4.3.1 reports it immediately."""
    said = beside.check(tools, "configs --describe --broker 9")

    assert said.status == 0


def test_a_tool_in_its_own_process_exits_with_the_same_status(beside: Pair) -> None:
    good = fresh.kafka_configs(beside.kconf.bootstrap, "--describe", "--broker-defaults")
    bad = fresh.kafka_configs(beside.kconf.bootstrap, "--alter", "--broker", "1", "--add-config", "broker.id=5")

    assert (good.returncode, good.stdout.strip()) == (0, "Default configs for brokers in the cluster are:")
    assert bad.returncode == 1
    assert "InvalidRequestException" in bad.stderr
