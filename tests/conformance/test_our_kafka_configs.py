"""Compares kconf's kafka-configs with Kafka's: the same command lines on the same servers, a real broker and a kconf.

Every scenario runs twice on both servers, once with each tool; reads use both tools. The output must be equal line by
line, and so must exit codes, first lines of stderr, and the server's error messages.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kconf.cli.compat.kafka_configs.main import main
from kconf.cli.main import main as kconf
from lab.broker import KafkaBroker
from lab.tools import CONFIGS, Done, ToolServer
from tests.conformance.test_kafka_configs import SCENARIOS
from tests.conformance.tooling import Pair, Said
from tests.unit.client.certificates import Certificates

OURS = {
    "scram": """
        configs --describe --user NAME
        configs --alter --user NAME --add-config SCRAM-SHA-256=[iterations=8192,password=secret]
        configs --describe --user NAME
        configs --describe --user NAME --all
        configs --describe --entity-type users
        configs --alter --user NAME --add-config consumer_byte_rate=12345678,request_percentage=0x1p3
        configs --describe --user NAME
        configs --alter --user NAME --add-config SCRAM-SHA-512=[iterations=-1,password=a=b]
        configs --describe --entity-type users --entity-name NAME
        configs --alter --user NAME --add-config SCRAM-SHA-256=[iterations=4,password=x]
        configs --alter --user NAME --add-config SCRAM-SHA-256=[iterations=20000,password=secret]
        configs --alter --user NAME --add-config SCRAM-SHA-256=[password=]
        configs --alter --user NAME --add-config SCRAM-SHA-256=[password=x],consumer_byte_rate=1
        configs --alter --user NAME --add-config consumer_byte_rate=1 --delete-config SCRAM-SHA-256
        configs --alter --user NAME --add-config SCRAM-SHA-1=[password=x]
        configs --alter --user NAME --add-config bad=1,worse=2
        configs --alter --user NAME --delete-config bad
        configs --alter --user NAME --delete-config producer_byte_rate,controller_mutation_rate
        configs --alter --user NAME --add-config producer_byte_rate=abc
        configs --alter --user NAME --add-config producer_byte_rate=
        configs --alter --user-defaults --add-config SCRAM-SHA-256=[password=x]
        configs --alter --entity-type users --entity-default --delete-config SCRAM-SHA-256
        configs --alter --client NAME --add-config SCRAM-SHA-256=[password=x]
        configs --alter --user a --client NAME --delete-config SCRAM-SHA-256,bad
        configs --alter --user NAME --delete-config consumer_byte_rate,request_percentage
        configs --describe --user NAME
        configs --alter --user NAME --delete-config SCRAM-SHA-256
        configs --describe --user NAME
        configs --alter --user NAME --delete-config SCRAM-SHA-256
        configs --alter --user NAME --delete-config SCRAM-SHA-512
        configs --describe --user NAME
        configs --describe --user 'CN=a, O=b'
        configs --describe --user-defaults
    """,
    "typed": """
        configs --desc
        configs --bootstrap-server x:1 --describe --topic x
        configs --describe --topic
        configs --describe --topic --all
        configs --alter --topic x --add-config a=b --add-config c=d
        configs --describe --topic x --topic y
        configs -describe -topic=x
        configs --describe ---topic x
        configs -describe -topic x -nope
        configs --describe=no --topic x
        configs --describe --topic=
        configs --describe --entity-type topics --entity-name ''
        configs extra --describe --topic x
        configs - --describe --topic x
        configs -- --describe --topic x
        configs -x
        configs --describe --topic x --delete-config a
        configs --describe --topic x --add-config-file /nope
        configs --describe --entity-type topics --topic x
        configs --describe --entity-type users --entity-type topics --entity-type topics --entity-type users
        configs --describe --entity-type topics --entity-type users
        configs --describe --entity-type users --client x
        configs --describe --topic x --entity-default
        configs --describe --entity-name y
        configs --describe --entity-default
        configs --bootstrap-controller x:1 --describe --topic x
        configs --describe --user-defaults --user x
        configs --describe --describe --topic x
        configs --entity-type=topics --describe --entity-name=x
        configs --command-config x --command-config y --describe --topic x
    """,
    "entities": """
        configs --describe --broker 99999999999
        configs --describe --broker +1
        configs --describe --broker=-1
        configs --describe --broker 01
        configs --describe --broker 9
        configs --describe --broker ''
        configs --describe --broker-logger x
        configs --describe --broker-logger 9
        configs --describe --ip a,b
        configs --describe --ip RFC2606.invalid
        configs --alter --ip RFC2606.invalid --add-config connection_creation_rate=1
        configs --alter --ip 1.2.3.4 --add-config connection_creation_rate=1,bad=2,worse=3
        configs --alter --ip 1.2.3.4 --delete-config bad
        configs --describe --ip localhost
        configs --describe --ip ::1
        configs --describe --ip ''
        configs --describe --entity-type client-metrics --entity-default
        configs --describe --entity-type groups --entity-default
        configs --describe --group ''
        configs --describe --group NAME
        configs --describe --group NAME --all
        configs --describe --client-metrics NAME
        configs --describe --client-metrics NAME --all
        configs --describe --topic NAME --all
        configs --describe --topic .
        configs --describe --topic ..
        configs --alter --entity-type users --add-config a=b
        configs --alter --entity-type brokers --add-config a=b
        configs --alter --entity-type topics --entity-default --add-config a=b
        configs --alter --topic '' --add-config a=b
        configs --alter --broker-logger '' --add-config a=b
        configs --alter --entity-type users --entity-type clients --entity-name a --add-config consumer_byte_rate=1
        configs --alter --entity-type topics --entity-name x --entity-name y --add-config a=b
        configs --describe --entity-type topics --entity-name x --entity-name y
        configs --describe --entity-type brokers --entity-name 1 --entity-name 2
        configs --describe --entity-type users --entity-name a --entity-name b
        configs --describe --entity-type clients --entity-type users --entity-name A
        configs --alter --topic x --add-config a=b --add-config-file /nope
        configs --alter --topic x --add-config ''
        configs --alter --topic x --add-config ,a=b
        configs --alter --topic x --add-config a=[b,c,d=e
        configs --alter --topic x --add-config '=b'
        configs --alter --topic x --add-config ,
        configs --alter --topic x --delete-config ''
        configs --alter --topic x --delete-config a --delete-config b
    """,
}
ALL = {**SCENARIOS, **OURS}

_WORDS = re.compile(r"org\.apache\.kafka\.common\.errors\.\w+.*")
_PASSWORD = re.compile(r"=\[[^]]*password=[^]]*\]")
_PATIENCE = 60.0


def ours(bootstrap: str, *args: str) -> Done:
    """kconf's tool with --strict-compat, in this process for speed."""
    return run(main, "--strict-compat", "--bootstrap-server", bootstrap, *args)


def words(done: Done) -> str:
    """The error message of the server."""
    found = _WORDS.search(done.stderr)
    return found[0].strip() if found else ""


class Stage:
    """Both servers and both tools; a line returns the output on kconf and on Kafka, in this order."""

    def __init__(self, pair: Pair, tools: ToolServer) -> None:
        self.pair, self.tools = pair, tools
        self.addresses = (pair.kconf.bootstrap, pair.kafka.bootstrap)

    def real(self, address: str, line: str) -> Done:
        tool, *args = shlex.split(line)
        return {"configs": self.tools.kafka_configs, "topics": self.tools.kafka_topics}[tool](address, *args)

    def ours(self, address: str, line: str) -> Done:
        tool, *args = shlex.split(line)
        return ours(address, *args) if tool == "configs" else self.real(address, line)

    def said(self, done: Done) -> Said:
        """The output, sorted where the order is arbitrary (quotas, credentials); only kconf's tool hides secrets."""
        said = self.pair._normal(done)
        complaint = _PASSWORD.sub("=[hidden]", said.complaint)
        return replace(said, lines=tuple(_in_order(line) for line in said.lines), complaint=complaint)

    def tell(self, line: str, *, ours_acts: bool) -> tuple[Said, ...]:
        """Run a line. A read runs with both tools until their results are equal."""
        kconf, kafka = self.addresses
        act, other = (self.ours, self.real) if ours_acts else (self.real, self.ours)
        first = act(kconf, line)
        expected = self.said(first)
        heard = [expected]
        if _reads(line):
            heard += [
                self.said(other(kconf, line)),
                self._patiently(act, kafka, line, expected),
                self._patiently(other, kafka, line, expected),
            ]
        else:
            heard.append(self.said(act(kafka, line)))
        return tuple(heard)

    def _patiently(self, tool: object, address: str, line: str, expected: Said) -> Said:
        deadline = time.monotonic() + _PATIENCE
        while (said := self.said(tool(address, line))) != expected and time.monotonic() < deadline:  # type: ignore[operator]
            time.sleep(0.05)
        return said


def _in_order(line: str) -> str:
    head, are, tail = line.partition(" are ")
    return head + are + ", ".join(sorted(tail.split(", "))) if head.startswith(("Quota", "SCRAM")) else line


def _reads(line: str) -> bool:
    return "--describe" in line or "--list" in line


def lines(scenario: str) -> list[str]:
    return [line.strip().replace("NAME", f"ours-{scenario}") for line in ALL[scenario].strip().splitlines()]


@pytest.mark.parametrize("scenario", ALL)
def test_kconfs_kafka_configs_prints_the_same_as_kafkas(beside: Pair, tools: ToolServer, scenario: str) -> None:
    stage = Stage(beside, tools)
    told = []
    for line in lines(scenario):
        said = stage.tell(line, ours_acts=False)
        assert set(said) == {said[0]}, line
        told.append(said[0])

    for line, expected in zip(lines(scenario), told, strict=True):
        for each in stage.tell(line, ours_acts=True):
            assert each == expected, f"{line} (ours first)"


REFUSALS = """
    --alter --topic ours-missing --add-config segment.ms=1
    --alter --topic ours-missing --add-config no.such.key=1
    --alter --broker 1 --add-config security.inter.broker.protocol=PLAINTEXT
    --alter --broker 1 --add-config broker.id=5
    --alter --broker-defaults --add-config listener.name.x.ssl.keystore.location=/x
    --alter --broker 1 --add-config log.retention.ms=soon
    --alter --user ours-missing --delete-config SCRAM-SHA-256
    --alter --client-metrics ours-missing --add-config interval.ms=1
    --alter --group ours-missing --add-config consumer.session.timeout.ms=5
    --alter --broker-logger 1 --add-config root=SILENT
    --alter --client ours-missing --add-config producer_byte_rate=-1
"""


@pytest.mark.parametrize("line", [each.strip() for each in REFUSALS.strip().splitlines()])
@pytest.mark.parametrize("server", ["kafka", "kconf"])
def test_a_refusal_has_the_message_of_the_server(beside: Pair, tools: ToolServer, server: str, line: str) -> None:
    address = getattr(beside, server).bootstrap
    theirs = tools.kafka_configs(address, *shlex.split(line))
    mine = ours(address, *shlex.split(line))

    assert (mine.returncode, mine.stdout, words(mine)) == (theirs.returncode, theirs.stdout, words(theirs))
    assert words(mine)
    assert mine.stderr.splitlines()[0] == theirs.stderr.splitlines()[0]


@pytest.mark.parametrize("server", ["kafka", "kconf"])
def test_lines_are_printed_in_the_same_order(beside: Pair, tools: ToolServer, server: str) -> None:
    address = getattr(beside, server).bootstrap
    for line in ("--describe --broker 1 --all", "--describe --broker-logger 1", "--describe --entity-type brokers"):
        assert ours(address, *line.split()).stdout == tools.kafka_configs(address, *line.split()).stdout


def test_help_and_version_exit_as_those_of_kafkas_tool(tools: ToolServer) -> None:
    for option in ("--help", "--version"):
        theirs = tools.run_class(CONFIGS, option)
        mine = subprocess.run(
            [sys.executable, "-m", "kconf", "kafka-configs", option, "--strict-compat"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert mine.returncode == theirs.returncode
        assert bool(mine.stdout) == bool(theirs.stdout)
    assert mine.stdout == theirs.stdout


def test_help_lists_the_same_config_names(tools: ToolServer) -> None:
    theirs = re.sub(r" *\n {41}(?=\S)", "", tools.run_class(CONFIGS, "--help").stderr)
    names = [line.strip() for line in theirs.splitlines() if re.match(r" +\t", line)]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        main(["--help"])

    assert [line.strip() for line in out.getvalue().splitlines() if line.startswith("\t")] == names


def test_values_can_be_read_from_a_file(beside: Pair, tools: ToolServer, tmp_path: Path) -> None:
    file = tmp_path / "requests.properties"
    file.write_text('my.json = {"key": "val"}\nmy.nested = [[1, 2], [3, 4]]\nmy.plain: a b \n')
    address = beside.kafka.bootstrap
    done = ours(address, "--alter", "--broker", "1", "--add-config-file", str(file))
    names = "my.json,my.nested,my.plain"

    assert (done.returncode, done.stdout) == (0, "Completed updating config for broker 1.\n")
    assert tools.kafka_configs(address, "--alter", "--broker", "1", "--delete-config", names).returncode == 0


JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def secured(certificates: Certificates) -> Iterator[KafkaBroker]:
    """A broker with SASL_SSL and Kafka's authorizer: alice may do everything, bob nothing."""
    properties = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.store("broker")),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.ca),
        "sasl.enabled.mechanisms": "PLAIN",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:alice",
        "listener.name.sasl.plain.sasl.jaas.config": f'{JAAS} user_alice="alice-secret" user_bob="bob-secret";',
    }
    with KafkaBroker(properties=properties, listeners={"SASL": "SASL_SSL"}) as broker:
        yield broker


@pytest.mark.parametrize("user", ["alice", "bob"])
def test_output_and_refusals_are_the_same_over_tls_with_a_login(
    secured: KafkaBroker, certificates: Certificates, tools: ToolServer, tmp_path: Path, user: str
) -> None:
    """The output for alice and the refusal for bob, with the same properties file."""
    file = tmp_path / "client.properties"
    file.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
        f'sasl.jaas.config={JAAS} username="{user}" password="{user}-secret";\n'
        f"ssl.truststore.type=PEM\nssl.truststore.location={certificates.ca}\n"
    )
    assert tools.kafka_topics(secured.bootstrap, "--create", "--if-not-exists", "--topic", "guarded").returncode == 0
    for line in (
        "--alter --topic guarded --add-config segment.ms=60000",
        "--describe --topic guarded",
        "--describe --topic guarded --all",
        "--describe --entity-type topics",
        "--describe --broker 1",
        "--describe --entity-type users",
        "--alter --user carol --add-config producer_byte_rate=1",
        "--alter --broker-defaults --add-config log.retention.ms=5",
        "--describe --client-metrics none",
    ):
        words_typed = ["--command-config", str(file), *line.split()]
        theirs = tools.kafka_configs(secured.address("SASL"), *words_typed)
        mine = ours(secured.address("SASL"), *words_typed)
        assert (mine.returncode, sorted(mine.stdout.splitlines())) == (
            theirs.returncode,
            sorted(theirs.stdout.splitlines()),
        ), line
        assert words(mine).split(":")[0] == words(theirs).split(":")[0], line


def test_a_wrong_password_is_reported_at_once_and_not_printed(
    secured: KafkaBroker, certificates: Certificates, tmp_path: Path
) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
        f'sasl.jaas.config={JAAS} username="alice" password="hush";\nssl.truststore.type=PEM\n'
        f"ssl.truststore.location={certificates.ca}\n"
    )
    done = ours(secured.address("SASL"), "--command-config", str(file), "--describe", "--topic", "t")

    assert (done.returncode, done.stdout) == (1, "")
    assert "SaslAuthenticationException" in done.stderr
    assert "hush" not in done.stderr


def test_requests_can_be_sent_to_controllers(beside: Pair, tools: ToolServer) -> None:
    """KIP-919: brokers and their default are described, and a topic altered, without a broker in between."""
    address = beside.kafka.address("CONTROLLER")
    beside.on_kafka(tools, "topics --create --topic ours-controller")
    for line in ("--describe --broker-defaults", "--alter --topic ours-controller --add-config segment.ms=60000"):
        theirs = tools.run_class(CONFIGS, "--bootstrap-controller", address, *line.split())
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = main(["--bootstrap-controller", address, "--strict-compat", *line.split()])
        assert (status, out.getvalue()) == (theirs.returncode, theirs.stdout)
    beside.on_kafka(tools, "topics --delete --topic ours-controller")


def test_the_output_is_that_of_the_3_9_2_tool_on_a_3_9_2_broker(kafka_392: KafkaBroker, tools_392: ToolServer) -> None:
    """3.9.2 with its own tool: where that succeeds, both print the same."""
    address = kafka_392.bootstrap
    assert tools_392.kafka_topics(address, "--create", "--topic", "ours-older").returncode == 0
    for line in (
        "--alter --topic ours-older --add-config retention.ms=5000,cleanup.policy=[compact,delete]",
        "--describe --topic ours-older",
        "--describe --topic ours-older --all",
        "--alter --user older --add-config producer_byte_rate=1024",
        "--describe --user older",
        "--alter --user older --delete-config producer_byte_rate",
        "--alter --broker 1 --add-config log.retention.ms=70000",
        "--describe --broker 1",
        "--describe --entity-type brokers",
        "--describe --broker-logger 1",
        "--describe --entity-type groups",
        "--describe --entity-type client-metrics",
    ):
        mine = ours(address, *line.split())
        if "--describe" in line:
            theirs = sorted(tools_392.kafka_configs(address, *line.split()).stdout.splitlines())
            deadline = time.monotonic() + _PATIENCE
            while sorted(mine.stdout.splitlines()) != theirs and time.monotonic() < deadline:
                mine = ours(address, *line.split())
                theirs = sorted(tools_392.kafka_configs(address, *line.split()).stdout.splitlines())
            assert sorted(mine.stdout.splitlines()) == theirs, line
        assert mine.returncode == 0, (line, mine.stderr)


def run(program: Callable[[list[str]], int], *args: str) -> Done:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = program(list(args))
    return subprocess.CompletedProcess(args, status, out.getvalue(), err.getvalue())


def until(told: Callable[[], Done], text: str) -> Done:
    """Wait: a real broker shows a change some time after the controller has responded."""
    deadline = time.monotonic() + _PATIENCE
    while text not in (done := told()).stdout and time.monotonic() < deadline:
        time.sleep(0.05)
    assert text in done.stdout, done.stdout + done.stderr
    return done


def test_a_dry_run_on_kafka_prints_the_changes_and_makes_none(kafka_431: KafkaBroker, tools: ToolServer) -> None:
    address = ("--bootstrap-server", kafka_431.bootstrap)
    tools.kafka_topics(kafka_431.bootstrap, "--create", "--topic", "ours-dry")
    until(lambda: run(main, *address, "--describe", "--topic", "ours-dry", "--all"), "segment.ms=604800000")
    change = ("--alter", "--topic", "ours-dry", "--add-config", "segment.ms=60000", "--dry-run")
    tried = run(main, *address, *change)
    quota = run(main, *address, "--alter", "--user", "dry", "--add-config", "producer_byte_rate=1", "--dry-run")

    assert tried.stdout.splitlines()[1:] == ["  segment.ms: 604800000 -> 60000"]
    assert quota.stdout.splitlines()[1:] == ["  producer_byte_rate: (unset) -> 1.0"]
    assert "segment.ms" not in run(main, *address, "--describe", "--topic", "ours-dry").stdout
    assert run(main, *address, "--describe", "--user", "dry").stdout == ""


def test_entities_of_a_file_and_of_a_pattern_are_altered_on_kafka(
    kafka_431: KafkaBroker, tools: ToolServer, tmp_path: Path
) -> None:
    names, path = [f"ours-many-{number}" for number in range(3)], tmp_path / "names"
    for name in names:
        tools.kafka_topics(kafka_431.bootstrap, "--create", "--topic", name)
    path.write_text("\n".join(names[:2]))
    server, kind = ("--bootstrap-server", kafka_431.bootstrap), ("--entity-type", "topics")
    every = (*kind, "--entity-regex", "ours-many-[0-9]")
    until(lambda: run(main, *server, "--describe", *every), names[2])

    of_file = run(main, *server, "--alter", *kind, "--entity-names-file", str(path), "--add-config", "flush.ms=5")
    matched = run(main, *server, "--alter", *every, "--add-config", "segment.ms=77")

    assert of_file.stdout.splitlines() == [f"Completed updating config for topic {each}." for each in names[:2]]
    assert matched.stdout.splitlines() == [f"Completed updating config for topic {each}." for each in names]
    until(lambda: tools.kafka_configs(kafka_431.bootstrap, "--describe", "--topic", names[2]), "segment.ms=77")


def test_the_commands_of_the_proposals_work_on_kafka(kafka_431: KafkaBroker, tools: ToolServer) -> None:
    """KIP-248's config-command and scram-credentials, KIP-21's kafka: none of them needs a kconf server."""
    server = ("--bootstrap-server", kafka_431.bootstrap)
    brokers = ("--broker-list", kafka_431.bootstrap)
    who = ("--entity-type", "topics", "--entity-name", "ours-proposals")
    tools.kafka_topics(kafka_431.bootstrap, "--create", "--topic", "ours-proposals")
    until(lambda: run(kconf, "config-command", *server, "--describe", *who), "Default config")

    assert run(kconf, "config-command", *server, "--alter", *who, "--add-config", "segment.ms=60000").returncode == 0
    until(lambda: run(kconf, "config-command", *server, "--describe", *who), "Dynamic topic config")
    pair = ("--entity-type", "users", "--entity-name", "u248", "--entity-type", "clients", "--entity-default")
    assert (
        run(kconf, "config-command", *server, "--alter", *pair, "--add-config", "producer_byte_rate=1").returncode == 0
    )
    until(lambda: run(kconf, "config-command", *server, "--describe", *pair), "Default client of user")

    topic = ("--entity-type", "topic", "--entity-name", "ours-proposals")
    changed = run(kconf, "kafka", "--alter-config", *topic, "--added-config", "flush.ms=9", *brokers)
    assert changed.stdout == 'Updated config for topic: "ours-proposals".\n'
    until(lambda: run(kconf, "kafka", "--describe-config", *topic, *brokers), "are flush.ms=9,segment.ms=60000")
    wrong = run(kconf, "kafka", "--alter-config", *topic, "--added-config", "no.such.key=9", *brokers)
    assert wrong.stderr.startswith("kconf: InvalidEntityConfig: ")

    both = "SCRAM-SHA-256=[iterations=8192, password=x],SCRAM-SHA-512=[password=x]"
    user = ("scram-credentials", *server, "--username", "u248")
    assert run(kconf, *user, "--add", both).returncode == 0
    until(lambda: run(kconf, *user, "--describe"), "SCRAM-SHA-256=iterations=8192, SCRAM-SHA-512=iterations=4096")
    assert run(kconf, *user, "--delete", "SCRAM-SHA-256,SCRAM-SHA-512").returncode == 0


def test_there_are_more_than_sixty_command_lines() -> None:
    assert sum(line.startswith("configs") for scenario in ALL for line in lines(scenario)) > 200
