"""A gateway forwards requests that it does not govern: groups, offsets, log directories, the quorum."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.model.alteration import NewTopic
from lab.broker import KafkaBroker
from lab.tools import Done, ToolServer
from tests.cli.commands.scenarios import a_name
from tests.conformance.consumer_groups import consumed
from tests.conformance.test_gateway import gateway

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
EPOCH = re.compile(r"Epoch: \d+")  # a metadata log offset in the features, which increases


@pytest.fixture(scope="module")
def front(kafka_431: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with gateway(kafka_431, tmp_path_factory.mktemp("front") / "gw.db") as (address, _):
        yield address


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_is_described_altered_and_deleted_through_the_gateway(
    kafka_431: KafkaBroker, front: str, own_tools: ToolServer, protocol: str
) -> None:
    group, topic = a_name("group"), a_name("read")
    with SyncAdminClient(kafka_431.bootstrap) as direct:
        direct.create_topics([NewTopic(topic, 1, 1)]).raise_for_failures()
    consumed(kafka_431.bootstrap, group, [topic], **{"group.protocol": protocol})

    def command(address: str, *words: str) -> Done:
        done = own_tools.run_class(GROUPS, "--bootstrap-server", address, *words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    for words in (("--list",), ("--describe", "--group", group), ("--describe", "--group", group, "--state")):
        ours, theirs = (command(each, *words).stdout for each in (front, kafka_431.bootstrap))
        assert group in ours
        assert ours.replace(front, "") == theirs.replace(kafka_431.bootstrap, "")

    reset = ("--reset-offsets", "--group", group, "--topic", topic, "--to-offset", "2", "--execute")
    assert group in command(front, *reset).stdout
    shown = command(kafka_431.bootstrap, "--describe", "--group", group).stdout
    assert [each.split()[3:6] for each in shown.splitlines() if each.startswith(group)] == [["2", "5", "3"]]

    assert "Successful" in command(front, "--delete-offsets", "--group", group, "--topic", topic).stdout
    assert topic not in command(kafka_431.bootstrap, "--describe", "--group", group).stdout

    command(front, "--delete", "--group", group)
    assert group not in command(kafka_431.bootstrap, "--list").stdout.split()


@pytest.mark.parametrize(
    ("main", "words"),
    [
        (LOG_DIRS, ["--describe"]),
        (OFFSETS, []),
        (FEATURES, ["describe"]),
        (TRANSACTIONS, ["list"]),
        (TRANSACTIONS, ["find-hanging", "--broker-id", "1"]),
    ],
)
def test_tools_print_the_same_through_the_gateway(
    kafka_431: KafkaBroker, front: str, own_tools: ToolServer, main: str, words: list[str]
) -> None:
    ours, theirs = (
        own_tools.run_class(main, "--bootstrap-server", each, *words) for each in (front, kafka_431.bootstrap)
    )
    assert (ours.returncode, ours.stderr) == (theirs.returncode, theirs.stderr) == (0, "")
    shown = [EPOCH.sub("", each.stdout) for each in (ours, theirs)]
    assert shown[0] == shown[1]


def test_the_quorum_is_shown_without_the_addresses_of_controllers(
    kafka_431: KafkaBroker, front: str, own_tools: ToolServer
) -> None:
    ours, theirs = (
        own_tools.run_class(QUORUM, "--bootstrap-server", each, "describe", "--status")
        for each in (front, kafka_431.bootstrap)
    )
    assert (ours.returncode, theirs.returncode) == (0, 0), ours.stderr
    assert "LeaderId:               1" in ours.stdout
    assert kafka_431.address("CONTROLLER") in theirs.stdout
    assert kafka_431.address("CONTROLLER") not in ours.stdout
