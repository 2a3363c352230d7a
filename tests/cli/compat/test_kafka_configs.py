"""kafka-configs on a real kconf process, without --strict-compat: cli-spec 6 to 9, 16 and 17.

tests/conformance/test_our_kafka_configs.py compares the same command with Kafka's own, with --strict-compat.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from uuid import uuid4

import pytest

from kconf import NewTopic, Resource, SyncAdminClient
from kconf.cli.compat.kafka_configs.help import EXAMPLES
from tests.cli.conftest import Command, run_program
from tests.support.process import KconfProcess


@pytest.fixture
def name() -> str:
    return f"n-{uuid4().hex[:12]}"


@pytest.fixture
def topic(admin: SyncAdminClient, name: str) -> str:
    admin.create_topics([NewTopic(name, 1, 1)]).raise_for_failures()
    return name


class TestTopics:
    def test_altered_keys_are_described_with_their_synonyms(self, configs: Command, topic: str) -> None:
        altered = configs(
            "--alter", "--topic", topic, "--add-config", "retention.ms=5000,cleanup.policy=[compact,delete]"
        )
        described = configs("--describe", "--topic", topic)
        synonyms = ["DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact,delete", "DEFAULT_CONFIG:log.cleanup.policy=delete"]

        assert (altered.status, altered.out, altered.err) == (0, f"Completed updating config for topic {topic}.\n", "")
        assert described.lines == [
            f"Dynamic configs for topic {topic} are:",
            f"  cleanup.policy=compact,delete sensitive=false synonyms={{{', '.join(synonyms)}}}",
            "  retention.ms=5000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=5000}",
        ]

    def test_the_option_all_shows_inherited_values(self, configs: Command, topic: str) -> None:
        described = configs("--describe", "--topic", topic, "--all")

        assert described.lines[0] == f"All configs for topic {topic} are:"
        assert len(described.lines) == 34

    def test_several_entity_names_are_altered_and_described_together(
        self, configs: Command, admin: SyncAdminClient, name: str
    ) -> None:
        names = [f"{name}-{number}" for number in range(3)]
        admin.create_topics([NewTopic(each, 1, 1) for each in names]).raise_for_failures()
        who = [word for each in names for word in ("--entity-name", each)]

        altered = configs("--alter", "--entity-type", "topics", *who, "--add-config", "segment.ms=77")
        described = configs("--describe", "--entity-type", "topics", *who)

        assert altered.lines == [f"Completed updating config for topic {each}." for each in names]
        assert sum("segment.ms=77" in line for line in described.lines) == 3

    def test_entity_names_can_come_from_a_file_or_a_pattern(
        self, configs: Command, admin: SyncAdminClient, name: str, tmp_path: Path
    ) -> None:
        """cli-spec 17 and 18: many entities in one command."""
        names = [f"{name}-{number}" for number in range(3)]
        admin.create_topics([NewTopic(each, 1, 1) for each in [*names, f"{name}-other"]]).raise_for_failures()
        path = tmp_path / "names"
        path.write_text("\n".join([*names[:2], "", f"{name}-missing", ""]))
        kind, change = ("--entity-type", "topics"), ("--add-config", "segment.ms=77")

        of_file = configs("--alter", *kind, "--entity-names-file", str(path), *change)
        dry = configs("--alter", *kind, "--entity-regex", f"{name}-[0-9]", *change, "--dry-run")
        matched = configs("--describe", *kind, "--entity-regex", f"{name}-[0-9]")
        brokers = configs("--describe", "--entity-type", "brokers", "--entity-regex", ".")

        assert of_file.status == 1
        assert of_file.lines == [f"Completed updating config for topic {each}." for each in names[:2]]
        assert of_file.err.startswith(f"topic {name}-missing: ")
        assert (dry.status, sum("segment.ms" in line for line in dry.lines)) == (0, 3)
        assert (matched.status, sum("segment.ms=77" in line for line in matched.lines)) == (0, 2)
        assert (brokers.status, brokers.err) == (0, "")

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("--describe --entity-type topics --entity-regex no-such-topic.*", "None of the topics has a name"),
            ("--describe --entity-type topics --entity-regex [", "is not a regular expression"),
            (
                "--describe --entity-type topics --entity-regex a --entity-name b",
                "cannot be combined with entity names",
            ),
            ("--alter --entity-type users --entity-regex a --add-config producer_byte_rate=1", "require one"),
            ("--describe --entity-type topics --entity-names-file /dev/null", "There are no names in"),
            ("--describe --entity-type topics --entity-names-file /nonexistent", "cannot be read"),
            ("--describe --entity-type brokers --entity-names-file /etc/hostname", "valid integer broker id"),
            ("--describe --entity-type topics --entity-regex a --strict-compat", "--strict-compat supports neither"),
        ],
    )
    def test_an_invalid_selection_of_entity_names_is_refused(self, configs: Command, line: str, said: str) -> None:
        done = configs(*line.split())

        assert (done.status, done.out) == (1, "")
        assert said in done.err

    def test_a_general_pattern_does_not_match_internal_topics(
        self, configs: Command, admin: SyncAdminClient, name: str
    ) -> None:
        own = "__consumer_offsets"
        if own not in admin.list_topics(internal=True):
            admin.create_topics([NewTopic(own, 1, 1)]).raise_for_failures()
        admin.create_topics([NewTopic(name, 1, 1)]).raise_for_failures()

        by_chance = configs("--describe", "--entity-type", "topics", "--entity-regex", ".*", "--output", "json")
        named = configs("--describe", "--entity-type", "topics", "--entity-regex", "__.*", "--output", "json")

        assert own not in by_chance.out
        assert name in by_chance.out
        assert own in named.out

    def test_describing_or_altering_a_missing_topic_fails(self, configs: Command, name: str) -> None:
        for more in ((), ("--all",)):
            described = configs("--describe", "--topic", name, *more)
            assert described.status == 1
        missing = configs("--describe", "--topic", name)
        altered = configs("--alter", "--topic", name, "--add-config", "segment.ms=1")

        assert missing.out == f"The topic '{name}' doesn't exist and doesn't have dynamic config.\n"
        assert altered.status == 1
        assert re.fullmatch(r"UnknownTopicOrPartitionException: .*\n", altered.err)

    def test_deleting_a_key_that_is_not_set_causes_a_note(self, configs: Command, topic: str) -> None:
        done = configs("--alter", "--topic", topic, "--delete-config", "retention.mss,segment.ms")

        assert done.status == 0
        assert [line.split()[5].rstrip(";") for line in done.err.splitlines()] == ["retention.mss", "segment.ms"]

    def test_other_topics_are_described_if_one_is_missing(self, configs: Command, topic: str) -> None:
        done = configs("--describe", "--entity-type", "topics", "--entity-name", topic, "--entity-name", "nowhere")

        assert done.status == 1
        assert f"Dynamic configs for topic {topic} are:" in done.lines
        assert "The topic 'nowhere' doesn't exist and doesn't have dynamic config." in done.lines

    def test_values_can_be_read_from_a_file(self, configs: Command, topic: str, tmp_path: Path) -> None:
        file = tmp_path / "requests.properties"
        file.write_text("segment.ms = 5\ncleanup.policy=compact,delete\n")

        assert configs("--alter", "--topic", topic, "--add-config-file", str(file)).status == 0
        assert len(configs("--describe", "--topic", topic).lines) == 3
        missing = configs("--alter", "--topic", topic, "--add-config-file", str(tmp_path / "nothing"))
        assert (missing.status, missing.err.count("\n")) == (1, 1)


class TestDryRun:
    def test_a_dry_run_prints_old_and_new_values_and_changes_nothing(self, configs: Command, topic: str) -> None:
        configs("--alter", "--topic", topic, "--add-config", "segment.ms=60000,flush.ms=9")
        before = configs("--describe", "--topic", topic).out

        line = (
            "--alter",
            "--topic",
            topic,
            "--add-config",
            "retention.ms=5,flush.ms=9",
            "--delete-config",
            "segment.ms",
        )
        tried = configs(*line, "--dry-run")

        assert tried.status == 0
        assert tried.lines == [
            f"Dry run, nothing was changed; the server accepts this change to topic:{topic}:",
            "  retention.ms: 604800000 -> 5",
            "  flush.ms: 9 (unchanged)",
            "  segment.ms: 60000 -> 604800000 (DEFAULT_CONFIG:log.roll.hours)"
            if "log.roll.hours" in tried.out
            else tried.lines[3],
        ]
        assert configs("--describe", "--topic", topic).out == before

    def test_a_dry_run_is_validated_by_the_server(self, configs: Command, topic: str) -> None:
        tried = configs("--alter", "--topic", topic, "--add-config", "segment.ms=soon", "--dry-run")

        assert tried.status == 1
        assert tried.err.startswith("InvalidConfigurationException: ")

    def test_a_dry_run_hides_secrets(self, configs: Command, name: str) -> None:
        broker = configs("--alter", "--broker", "1", "--add-config", "my.plugin.thing=hush", "--dry-run")
        user = configs("--alter", "--user", name, "--add-config", "SCRAM-SHA-256=[password=hush]", "--dry-run")

        assert "my.plugin.thing: (unset) -> [hidden]" in broker.out
        assert "SCRAM-SHA-256: (unset) -> [hidden], iterations=4096" in user.out
        assert "hush" not in broker.out + broker.err + user.out + user.err
        assert configs("--describe", "--user", name).out == ""

    def test_a_dry_run_of_quotas_prints_old_and_new_values_as_json(self, configs: Command, name: str) -> None:
        configs("--alter", "--user", name, "--add-config", "producer_byte_rate=1024")
        line = (
            "--alter",
            "--user",
            name,
            "--add-config",
            "consumer_byte_rate=5",
            "--delete-config",
            "producer_byte_rate",
        )
        tried = configs(*line, "--dry-run", "--output", "json")

        assert json.loads(tried.out)["changes"] == [
            {"name": "consumer_byte_rate", "old": None, "new": "5.0"},
            {"name": "producer_byte_rate", "old": "1024.0", "new": None},
        ]
        assert "producer_byte_rate=1024.0" in configs("--describe", "--user", name).out


class TestJson:
    def test_a_described_topic_is_printed_as_json(self, configs: Command, topic: str) -> None:
        configs("--alter", "--topic", topic, "--add-config", "segment.ms=60000")
        (entity,) = json.loads(configs("--describe", "--topic", topic, "--output", "json").out)["entities"]

        assert (entity["type"], entity["name"]) == ("topic", topic)
        (config,) = entity["configs"]
        assert (config["name"], config["value"], config["source"]) == ("segment.ms", "60000", "DYNAMIC_TOPIC_CONFIG")

    def test_every_entity_type_can_be_described_as_json(self, configs: Command) -> None:
        for kind in ("topics", "brokers", "client-metrics", "groups", "users", "clients", "ips"):
            done = configs("--describe", "--entity-type", kind, "--output", "json")
            assert done.status == 0
            assert isinstance(json.loads(done.out)["entities"], list)

    def test_an_alteration_and_a_missing_topic_are_reported_as_json(self, configs: Command, topic: str) -> None:
        altered = json.loads(configs("--alter", "--topic", topic, "--add-config", "segment.ms=1", "--output=json").out)
        missing = configs("--describe", "--topic", "nowhere", "--output", "json")

        assert altered == {"altered": {"topics": topic}, "set": ["segment.ms"], "deleted": []}
        assert (missing.status, json.loads(missing.out)["entities"][0]["missing"]) == (1, True)


class TestUsersAndClients:
    WHO = ("--user NAME --client NAME", "--user NAME --client-defaults", "--user NAME", "--client NAME")
    DEFAULTS = (
        "--user-defaults --client NAME",
        "--user-defaults --client-defaults",
        "--user-defaults",
        "--client-defaults",
    )

    @pytest.mark.parametrize("who", [*WHO, *DEFAULTS])
    def test_quotas_of_every_level_are_added_described_and_deleted(self, configs: Command, name: str, who: str) -> None:
        words = who.replace("NAME", name).split()
        added = configs(
            "--alter", *words, "--add-config", "producer_byte_rate=10485760,controller_mutation_rate=0.0005"
        )
        described = configs("--describe", *words)
        configs("--alter", *words, "--add-config", "consumer_byte_rate=1", "--delete-config", "producer_byte_rate")
        after = configs("--describe", *words)
        gone = configs("--alter", *words, "--delete-config", "consumer_byte_rate,controller_mutation_rate")

        assert (added.status, gone.status) == (0, 0)
        assert described.out.endswith(" are controller_mutation_rate=5.0E-4, producer_byte_rate=1.048576E7\n")
        assert after.out.endswith(" are consumer_byte_rate=1.0, controller_mutation_rate=5.0E-4\n")
        assert configs("--describe", *words).out == ""

    def test_the_message_about_a_pair_names_its_client_unless_that_is_the_default(
        self, configs: Command, name: str
    ) -> None:
        pair = configs("--alter", "--user", name, "--client", "c1", "--add-config", "producer_byte_rate=1")
        default = configs("--alter", "--user", name, "--client-defaults", "--add-config", "producer_byte_rate=1")

        assert pair.out == "Completed updating config for client c1.\n"
        assert default.out == f"Completed updating config for user {name}.\n"

    def test_describing_a_user_does_not_show_the_quotas_of_its_clients(self, configs: Command, name: str) -> None:
        configs("--alter", "--user", name, "--client", "c1", "--add-config", "producer_byte_rate=1")

        assert configs("--describe", "--user", name).out == ""

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("--user NAME --add-config bad=1", r"Unexpected config names: Set\(bad\)"),
            ("--user NAME -delete-config bad", r"Unexpected config names: ArrayBuffer\(bad\)"),
            ("--client NAME -add-config bad=1", r"Only quota configs can be added for 'clients'"),
            (
                "--client NAME --add-config SCRAM-SHA-256=[password=hush]",
                "Only quota configs can be added for 'clients'",
            ),
            ("--user NAME --add-config producer_byte_rate=1,SCRAM-SHA-256=[password=hush]", "Cannot alter both quota"),
            (
                "--user NAME --add-config SCRAM-SHA-256=[password=hush] --delete-config producer_byte_rate",
                "Cannot alter",
            ),
            (
                "--user-defaults --add-config SCRAM-SHA-256=[password=hush]",
                "is not allowed with User SCRAM Credentials",
            ),
            ("--user NAME --add-config SCRAM-SHA-256=[password=]", "UnacceptableCredentialException"),
            ("--user NAME --delete-config SCRAM-SHA-256", "ResourceNotFoundException"),
            ("--user NAME --delete-config producer_byte_rate", r"Invalid config\(s\): producer_byte_rate"),
            ("--user NAME --add-config producer_byte_rate=x", "Cannot parse quota configuration value"),
            ("--ip 10.0.0.1 --add-config producer_byte_rate=1", "Unexpected config names: producer_byte_rate"),
            ("--ip 10.0.0.1 --delete-config bad", "Unexpected config names: bad"),
        ],
    )
    def test_an_invalid_alteration_is_refused_without_showing_secrets(
        self, configs: Command, name: str, line: str, said: str
    ) -> None:
        done = configs("--alter", *line.replace("NAME", name).split())

        assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
        assert re.search(said, done.err)
        assert "hush" not in done.err

    def test_names_may_have_any_characters(self, configs: Command, name: str) -> None:
        for user in (f"CN={name},O=x", f"{name}?@% ", "<default>", f"{name} Ω"):
            assert configs("--alter", "--user", user, "--add-config", "producer_byte_rate=1").status == 0
            assert f"user-principal '{user}' are" in configs("--describe", "--user", user).out
        configs("--alter", "--user", "<default>", "--delete-config", "producer_byte_rate")
        assert configs("--describe", "--user-defaults").out == ""

    def test_connection_rates_of_an_address_and_of_the_default_are_described(self, configs: Command) -> None:
        configs("--alter", "--ip", "10.0.0.1", "--add-config", "connection_creation_rate=10")
        configs("--alter", "--ip-defaults", "--add-config", "connection_creation_rate=7")

        assert configs("--describe", "--entity-type", "ips").lines == [
            "Quota configs for ip '10.0.0.1' are connection_creation_rate=10.0",
            "Quota configs for the default ip are connection_creation_rate=7.0",
        ]
        for who in (("--ip", "10.0.0.1"), ("--ip-defaults",)):  # it also limits the connections of these tests
            assert configs("--alter", *who, "--delete-config", "connection_creation_rate").status == 0


class TestCredentials:
    """UserScramCredentialsCommandTest's checklist."""

    def test_quotas_and_credentials_are_listed_after_they_are_set_and_not_after_they_are_deleted(
        self, configs: Command, name: str
    ) -> None:
        scram = f"SCRAM credential configs for user-principal '{name}' are SCRAM-SHA-256=iterations=4096"
        quota = f"Quota configs for user-principal '{name}' are consumer_byte_rate=20000.0"
        add = ("--alter", "--user", name, "--add-config")
        delete = ("--alter", "--user", name, "--delete-config")

        assert configs(*add, "SCRAM-SHA-256=[password=secret]").out == f"Completed updating config for user {name}.\n"
        assert configs("--describe", "--user", name).lines == [scram]
        configs(*add, "consumer_byte_rate=20000")
        assert configs("--describe", "--user", name).lines == [quota, scram]
        configs(*delete, "consumer_byte_rate")
        assert configs("--describe", "--user", name).lines == [scram]
        configs(*delete, "SCRAM-SHA-256")
        gone = configs("--describe", "--user", name)
        assert (gone.status, gone.out, gone.err) == (0, "", "")

    def test_credentials_of_two_mechanisms_are_added_at_once(self, configs: Command, name: str) -> None:
        pairs = "SCRAM-SHA-256=[password=a],SCRAM-SHA-512=[iterations=8192,password=b]"
        done = configs("--alter", "--user", name, "--add-config", pairs)
        told = configs("--describe", "--user", name).out

        assert done.status == 0
        assert told.endswith(" are SCRAM-SHA-256=iterations=4096, SCRAM-SHA-512=iterations=8192\n")

    def test_a_password_can_come_from_stdin_or_the_environment(self, server: KconfProcess, name: str) -> None:
        for text, more in (("-", {}), ("env:ALICE_PASSWORD", {"ALICE_PASSWORD": "hush"})):
            pairs = f"SCRAM-SHA-256=[password={text}]"
            line = ("--bootstrap-server", server.bootstrap, "--alter", "--user", name, "--add-config", pairs)
            done = run_program("kafka-configs", *line, stdin="hush\n", environment=more)
            assert (done.status, done.err) == (0, "")


class TestBrokersAndTheRest:
    def test_a_deleted_broker_config_falls_back_to_the_cluster_default(self, configs: Command) -> None:
        """ConfigCommandIntegrationTest: message.max.bytes added, changed, deleted at both levels."""
        for value in ("140000", "150000"):
            assert configs("--alter", "--broker-defaults", "--add-config", f"message.max.bytes={value}").status == 0
            own = f"message.max.bytes={int(value) + 1}"
            assert configs("--alter", "--broker", "1", "--add-config", own).status == 0
            assert f"  {own} " in configs("--describe", "--broker", "1").out
        assert configs("--alter", "--broker", "1", "--delete-config", "message.max.bytes").status == 0
        assert "message.max.bytes=150000" in configs("--describe", "--broker", "1", "--all").out
        assert configs("--describe", "--broker", "1").lines == ["Dynamic configs for broker 1 are:"]
        assert configs("--alter", "--broker-defaults", "--delete-config", "message.max.bytes").status == 0
        assert configs("--describe", "--broker-defaults").lines == ["Default configs for brokers in the cluster are:"]

    def test_brokers_are_listed_before_their_default(self, configs: Command) -> None:
        heads = [line for line in configs("--describe", "--entity-type", "brokers").lines if not line.startswith(" ")]

        assert heads == ["Dynamic configs for broker 1 are:", "Default configs for brokers in the cluster are:"]

    @pytest.mark.parametrize("key", ["auto.create.topics.enable", "auto.leader.rebalance.enable", "broker.id"])
    def test_read_only_keys_are_refused(self, configs: Command, key: str) -> None:
        done = configs("--alter", "--broker", "1", "--add-config", f"{key}=1")

        assert (done.status, done.err.split(":")[0]) == (1, "InvalidRequestException")
        assert key in done.err

    def test_a_password_of_a_listener_is_marked_sensitive(self, configs: Command) -> None:
        key = "listener.name.internal.ssl.truststore.password"
        done = configs("--alter", "--broker", "1", "--add-config", f"{key}=hush")

        assert done.status == 0
        line = next(each for each in configs("--describe", "--broker", "1").lines if key in each)
        assert line.startswith(f"  {key}=null sensitive=true")
        assert configs("--alter", "--broker", "1", "--add-config", "ssl.truststore.password=hush").status == 1
        assert configs("--alter", "--broker-defaults", "--add-config", f"{key}=hush").status == 1
        configs("--alter", "--broker", "1", "--delete-config", key)

    def test_group_configs_are_altered_described_and_deleted(self, configs: Command, name: str) -> None:
        who = ("--group", name)
        pairs = "consumer.heartbeat.interval.ms=6000,consumer.session.timeout.ms=50000"
        assert configs("--alter", *who, "--add-config", pairs).out == f"Completed updating config for group {name}.\n"
        assert len(configs("--describe", *who).lines) == 3
        assert f"Dynamic configs for group {name} are:" in configs("--describe", "--entity-type", "groups").lines
        names = "consumer.heartbeat.interval.ms,consumer.session.timeout.ms"
        assert configs("--alter", *who, "--delete-config", names).status == 0
        everything = configs("--describe", *who, "--all").out
        assert "consumer.session.timeout.ms=45000" in everything
        assert "consumer.heartbeat.interval.ms=5000" in everything
        assert configs("--describe", *who).status == 1
        assert configs("--alter", *who, "--add-config", "no.such.key=1").status == 1

    def test_client_metrics_are_altered_described_and_deleted(self, configs: Command, name: str) -> None:
        who = ("--entity-type", "client-metrics", "--entity-name", name)
        pairs = "metrics=,interval.ms=6000,match=[client_software_name=kafka.python,client_software_version=1.2]"
        done = configs("--alter", *who, "--add-config", pairs)

        assert done.out == f"Completed updating config for client-metric {name}.\n"
        assert len(configs("--describe", *who).lines) == 4
        assert configs("--alter", *who, "--delete-config", "metrics,interval.ms,match").status == 0
        assert configs("--describe", *who).status == 1
        assert configs("--alter", "--client-metrics", name, "--add-config", "no.such.key=1").status == 1

    def test_a_logger_level_is_set_and_unknown_loggers_are_refused(self, configs: Command) -> None:
        assert configs("--alter", "--broker-logger", "1", "--add-config", "kconf.service=DEBUG").status == 0
        assert (
            "  kconf.service=DEBUG sensitive=false synonyms={}" in configs("--describe", "--broker-logger", "1").lines
        )
        wrong = configs(
            "--alter", "--broker-logger", "1", "--add-config", "no.such=INFO", "--delete-config", "nor.this"
        )
        assert wrong.err == "Invalid broker logger(s): no.such,nor.this\n"
        configs("--alter", "--broker-logger", "1", "--delete-config", "kconf.service")


class TestTheProgram:
    def test_help_has_examples_and_exits_with_0(self) -> None:
        done = run_program("kafka-configs", "--help")

        assert (done.status, done.err) == (0, "")
        assert "examples:" in done.out

    def test_without_arguments_the_options_are_printed(self) -> None:
        done = run_program("kafka-configs")

        assert (done.status, done.out) == (1, "")
        assert "usage: kafka-configs" in done.err

    def test_every_example_works(self) -> None:
        """On a server of its own, since some of them change what other topics inherit."""
        found = re.findall(r"^  (kafka-configs .*)$", EXAMPLES.replace("\\\n", " "), re.MULTILINE)
        with KconfProcess() as server:
            with SyncAdminClient(server.bootstrap) as admin:
                admin.create_topics([NewTopic("orders", 1, 1)]).raise_for_failures()
            for line in found:
                words = shlex.split(line.replace("localhost:9092", server.bootstrap))
                done = run_program(*words, environment={"ALICE_PASSWORD": "hush"})
                assert (done.status, done.err) == (0, ""), line
        assert len(found) == 9

    def test_an_unreachable_server_is_reported_in_one_line(self) -> None:
        done = run_program("kafka-configs", "--bootstrap-server", "127.0.0.1:1", "--describe", "--topic", "t")

        assert (done.status, done.err.count("\n")) == (1, 1)
        assert "127.0.0.1:1" in done.err

    @pytest.mark.parametrize("address", ["localhost", "", "a:b", "127.0.0.1:99999"])
    def test_an_invalid_address_is_reported_in_one_line(self, address: str) -> None:
        done = run_program("kafka-configs", "--bootstrap-server", address, "--describe", "--topic", "t")

        assert (done.status, done.err.count("\n")) == (1, 1)

    def test_a_command_line_that_is_not_utf8_is_refused(self) -> None:
        done = run_program("kafka-configs", "--bootstrap-server", "127.0.0.1:1", "--describe", "--topic", "\udcff")

        assert (done.status, done.err) == (1, "The command line is not UTF-8\n")

    def test_client_properties_are_read_from_a_file(self, server: KconfProcess, tmp_path: Path) -> None:
        """Addresses in the file are ignored; errors in it are reported."""
        good, bad = tmp_path / "good.properties", tmp_path / "bad.properties"
        good.write_text("bootstrap.servers=nowhere.invalid:1\nclient.id=me\n")
        bad.write_text("security.protocol=BAD\n")
        line = ("kafka-configs", "--bootstrap-server", server.bootstrap, "--describe", "--broker-defaults")

        assert run_program(*line, "--command-config", str(good)).status == 0
        for file in (bad, tmp_path / "nothing"):
            done = run_program(*line, "--command-config", str(file))
            assert (done.status, done.err.count("\n")) == (1, 1)

    def test_a_change_with_a_reason_is_made(self, configs: Command, topic: str, admin: SyncAdminClient) -> None:
        line = ("--alter", "--topic", topic, "--add-config", "segment.ms=1234", "--reason", "ticket 7")

        assert configs(*line).status == 0
        assert admin.describe_configs([Resource.topic(topic)])[Resource.topic(topic)]["segment.ms"].value == "1234"

    @pytest.mark.parametrize(
        "words",
        [
            ["--describe", "--broker", "9" * 5000],
            ["--alter", "--user", "u", "--add-config", f"SCRAM-SHA-256=[iterations={'9' * 5000},password=hush]"],
            ["--alter", "--topic", "t" * 40000, "--add-config", "segment.ms=1"],
            ["--alter", "--topic", "t", "--add-config-file", "/"],
            ["--describe", "--topic", "t", "--command-config", "/"],
            ["--alter", "--user", "u", "--add-config", "SCRAM-SHA-256=[password=@/]"],
            ["--alter", "--user", "u", "--add-config", "producer_byte_rate=1e999"],
        ],
    )
    def test_invalid_input_is_reported_in_one_sentence(self, configs: Command, words: list[str]) -> None:
        done = configs(*words)

        assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
        assert "hush" not in done.err

    def test_characters_that_a_terminal_cannot_show_are_escaped(self, server: KconfProcess, configs: Command) -> None:
        configs("--alter", "--user", "Ωmega", "--add-config", "producer_byte_rate=1")
        line = ("kafka-configs", "--bootstrap-server", server.bootstrap, "--describe", "--user", "Ωmega")
        done = run_program(*line, environment={"PYTHONIOENCODING": "ascii"})

        assert (done.status, done.err) == (0, "")
        assert r"\u03a9mega" in done.out

    def test_a_secret_in_a_file_is_not_printed_either(self, configs: Command, tmp_path: Path) -> None:
        file = tmp_path / "secret.properties"
        file.write_text("ssl.keystore.password=hush-hush\nlog.retention.ms=soon\n")
        done = configs("--alter", "--broker", "1", "--add-config-file", str(file))

        assert done.status == 1
        assert "hush-hush" not in done.err
