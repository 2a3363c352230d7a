"""`kconf config-command`: KIP-248's options and table (cli-spec 12), on a real kconf process."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from uuid import uuid4

import pytest

from kconf import NewTopic, SyncAdminClient
from kconf.cli.compat.kip248.config_command import _EXAMPLES
from kconf.cli.compat.kip248.config_table import ConfigRow, table
from kconf.cli.main import main
from tests.cli.conftest import Ran, run_in_process, run_program
from tests.support.process import KconfProcess

Run = Callable[[str], Ran]


@pytest.fixture
def command(server: KconfProcess) -> Run:
    def run(line: str) -> Ran:
        words = ["config-command", "--bootstrap-server", server.bootstrap, *shlex.split(line)]
        return run_in_process(main, words)

    return run


@pytest.fixture
def topic(admin: SyncAdminClient) -> str:
    name = f"t-{uuid4().hex[:12]}"
    admin.create_topics([NewTopic(name, 1, 1)]).raise_for_failures()
    return name


def rows(ran: Ran) -> dict[str, list[str]]:
    """Value, sensitive, read-only and source by name; the source keeps its spaces."""
    found = {}
    for line in ran.lines:
        match = re.fullmatch(r" *(\S+) = (.{70})(true|false) +(true|false) +(.*)", line)
        if match:
            found[match[1]] = [match[2].rstrip(), match[3], match[4], match[5]]
    return found


def test_a_topic_is_described_with_all_keys_and_their_sources(command: Run, topic: str) -> None:
    command(f"--alter --entity-type topics --entity-name {topic} --add-config retention.bytes=10")
    told = command(f"--describe --entity-type topics --entity-name {topic}")

    assert told.status == 0
    assert told.lines[0] == ""
    assert told.lines[1] == f"{'CONFIGS FOR TOPIC':>115} {topic}"
    assert len(rows(told)) == 33
    assert rows(told)["retention.bytes"] == ["10", "false", "false", "Dynamic topic config"]
    assert rows(told)["cleanup.policy"] == ["delete", "false", "false", "Default config"]


def test_an_alteration_prints_the_resulting_state(command: Run, topic: str) -> None:
    who = f"--entity-type topics --entity-name {topic}"
    done = command(f"--alter {who} --add-config segment.ms=7,cleanup.policy=[compact,delete]")
    after = command(f"--alter {who} --delete-config segment.ms")
    reset = command(f"--alter {who} --delete-config 'segment.ms, cleanup.policy'")

    assert done.lines[0].endswith("The state is now:")
    assert rows(done)["segment.ms"][0] == "7"
    assert rows(done)["cleanup.policy"][0] == "compact,delete"
    assert rows(after)["segment.ms"][3] == "Default config"
    assert rows(after)["cleanup.policy"][0] == "compact,delete"
    assert rows(reset)["cleanup.policy"][3] == "Default config"


def test_all_topics_and_all_brokers_can_be_described_at_once(command: Run, topic: str) -> None:
    assert f"CONFIGS FOR TOPIC {topic}" in command("--describe --entity-type topics").out
    assert "CONFIGS FOR BROKER 1" in command("--describe --entity-type brokers").out


def test_a_quota_is_described_with_its_level(command: Run) -> None:
    user, client = f"u-{uuid4().hex[:8]}", f"c-{uuid4().hex[:8]}"
    pair = f"--entity-type users --entity-name {user} --entity-type clients"
    command("--alter --entity-type users --entity-default --add-config producer_byte_rate=1")
    command(f"--alter --entity-type users --entity-name {user} --add-config consumer_byte_rate=2")
    done = command(f"--alter {pair} --entity-default --add-config request_percentage=3")
    told = command(f"--describe {pair} --entity-name {client}")
    alone = command(f"--describe --entity-type users --entity-name {user}")
    command("--alter --entity-type users --entity-default --delete-config producer_byte_rate")

    assert f"CONFIGS FOR (USER, CLIENT) ({user}, (default))" in done.out
    assert {name: row[3] for name, row in rows(told).items()} == {
        "consumer_byte_rate": "User",
        "producer_byte_rate": "Default user",
        "request_percentage": "Default client of user",
    }
    assert rows(told)["consumer_byte_rate"][0] == "2.0"
    assert "request_percentage" not in rows(alone)


def test_a_quota_may_have_a_fraction(command: Run) -> None:
    done = command(
        f"--alter --entity-type users --entity-name u-{uuid4().hex[:8]} --add-config producer_byte_rate=100.5"
    )

    assert rows(done)["producer_byte_rate"] == ["100.5", "false", "false", "User"]


@pytest.mark.parametrize(
    "change", ["--add-config SCRAM-SHA-256=[password=the-secret]", "--delete-config SCRAM-SHA-512"]
)
def test_a_credential_is_refused_with_a_hint_to_scram_credentials(command: Run, change: str) -> None:
    done = command(f"--alter --entity-type users --entity-name alice {change}")

    assert done.status == 1
    assert "is a credential: use kconf scram-credentials" in done.err
    assert "the-secret" not in done.err


def test_the_server_can_be_named_by_repeated_properties(server: KconfProcess) -> None:
    words = ["config-command", "--describe", "--entity-type", "brokers"]
    for each in ("client.id=a=b", f"bootstrap.servers=127.0.0.1:1,{server.bootstrap}"):
        words += ["--adminclient-property", each]

    assert run_in_process(main, words).status == 0


def test_a_long_value_is_wrapped() -> None:
    *_, first, second = table("TOPIC", "t", [ConfigRow("k", "x" * 100, False, True, "Default config")])

    assert first[63:133] == "x" * 70
    assert second == " " * 63 + "x" * 30


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--bootstrap-servers x:1 --describe", "--entity-type"),
        ("--entity-type topics --describe", "--bootstrap-server"),
        ("--bootstrap-server x:1 --entity-type topics", "one of the arguments --describe --alter is required"),
        ("--bootstrap-server x:1 --entity-type topics --describe --alter", "not allowed with argument"),
        ("--bootstrap-server x:1 --entity-type invalid_type --describe", "argument --entity-type: invalid choice"),
        ("--bootstrap-server x:1 --adminclient.config f --entity-type topics --describe", "not allowed with argument"),
        ("--zookeeper x:1 --entity-type topics --describe", "--bootstrap-server"),
        ("--bootstrap-server x:1 --zookeeper x:1 --entity-type topics --describe", "arguments: --zookeeper"),
    ],
)
def test_invalid_options_are_usage_errors(line: str, said: str) -> None:
    done = run_program("config-command", *line.split())

    assert done.status == 2
    assert said in done.err


@pytest.mark.parametrize(
    "line",
    [
        "--entity-type topics --entity-name t --alter",
        "--entity-type topics --alter --add-config a=b",
        "--entity-type topics --entity-name t --describe --add-config a=b",
        "--entity-type topics --entity-type users --describe",
        "--entity-type topics --entity-default --describe",
        "--entity-type topics --entity-name t --entity-default --describe",
        "--entity-type users --entity-name u --entity-default --describe",
        "--entity-type topics --entity-name a --entity-name b --describe",
        "--entity-type users --entity-name u --alter --add-config producer_byte_rate=much",
        "--entity-type topics --entity-name nowhere --describe",
        "--entity-type topics --entity-name nowhere --alter --add-config a=b=c",
    ],
)
def test_invalid_arguments_are_reported_in_one_sentence(command: Run, line: str) -> None:
    done = command(line)

    assert (done.status, done.err.count("\n")) == (1, 1)


@pytest.mark.parametrize("kind", ["users", "clients"])
def test_all_users_or_clients_cannot_be_described_at_once(command: Run, kind: str) -> None:
    done = command(f"--describe --entity-type {kind}")

    assert (done.status, done.out) == (1, "")
    assert "--entity-name" in done.err


def test_every_example_works(server: KconfProcess, admin: SyncAdminClient) -> None:
    admin.create_topics([NewTopic("orders", 1, 1)]).raise_for_failures()
    found = re.findall(r"^  kconf (.*)$", _EXAMPLES.replace("\\\n", " "), re.MULTILINE)
    for line in found:
        done = run_program(*shlex.split(line.replace("localhost:9092", server.bootstrap)))
        assert (done.status, done.err) == (0, ""), line
    assert len(found) == 5


def test_a_properties_file_is_accepted_under_each_option_name(server: KconfProcess, tmp_path: object) -> None:
    file = f"{tmp_path}/admin.properties"
    with open(file, "w", encoding="utf-8") as out:
        out.write(f"bootstrap.servers={server.bootstrap}\n")
    for option in ("--adminclient.config", "--command-config", "--config.properties"):
        words = ["config-command", option, file, "--force", "yes", "--describe", "--entity-type", "brokers"]
        assert run_in_process(main, words).status == 0
