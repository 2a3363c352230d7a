"""Untrusted text from a server never controls the terminal, in any command and format.

The cluster contains control characters in users, client IDs, principals, broker keys and values, and reasons. kconf
refuses them in topic names, so a scripted server provides such topics.
"""

from __future__ import annotations

import csv
import json
import re
import shlex
import threading
from collections.abc import Callable, Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest
import yaml

from kconf import (
    AclBinding,
    AclType,
    AlterConfigOp,
    Mechanism,
    NewTopic,
    Operation,
    OpType,
    QuotaEntity,
    Resource,
    SyncAdminClient,
    scram_upsertion,
)
from kconf.cli.compat.kafka_configs.main import main as kafka_configs
from kconf.cli.main import COMMANDS, KAFKA_TOOLS, main
from kconf.cli.output.formats import FORMATS
from kconf.protocol.messages.describe_configs import (
    DescribeConfigsEntry,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kconf.protocol.messages.metadata import MetadataBroker, MetadataResponse, MetadataTopic
from kconf.util.visible_text import UNSAFE
from tests.cli.commands.scenarios import People
from tests.cli.conftest import Ran, run_in_process
from tests.support.process import KconfProcess
from tests.unit.client.fake import FakeBroker

HOSTILE: Final = "=x\x1b]0;title\x07\x1b[31m\x9b2J\x7f\u202e\u2066\x85\r\b"
BROKERS: Final = Resource.brokers()
PROPERTIES: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
NOT_HERE: Final[Mapping[str, str]] = {
    "serve": "its log is tests/unit/cli/test_logs.py",
    "console": "pages, in tests/console and tests/unit/console",
    "backup": "a file, without a cluster",
    "store": "a file, without a cluster",
    "archive": "a directory, without a cluster",
    "pipeline": "Spark; it prints counts",
    "lake": "the same printing as the others, from tables",
    "apply": "it would change the cluster; it prints what `plan` prints",
    "shell": "runs the other commands",
    "follow": "runs until it is stopped; it writes files and a log",
}
SHOWING: Final = (  # these print untrusted text
    "describe broker:default",
    "describe broker:1 --all",
    "append broker:default HOSTILE=a --dry-run",
    "subtract broker:default HOSTILE=a --dry-run",
    "set topic:orders retention.ms=HOSTILE --dry-run",
    "topic delete HOSTILE --yes",
    "quota list",
    "quota explain --user HOSTILE",
    "quota set --user HOSTILE producer_byte_rate=6 --dry-run",
    "quota export",
    "acl list",
    "scram list",
    "export",
    "diff --from '1d ago'",
    "history",
    "history broker:default",
    "blame broker:default",
    "config-command --bootstrap-server HERE --describe --entity-type users --entity-name HOSTILE",
    "kafka --broker-list HERE --describe-config --entity-type client --entity-name HOSTILE",
    "scram-credentials --bootstrap-server HERE --describe",
    "kafka-configs --bootstrap-server HERE --describe --entity-type brokers --entity-default",
    "kafka-configs --bootstrap-server HERE --describe --entity-type users",
    "kafka-configs --bootstrap-server HERE --describe --entity-type users --output json",
    "kafka-configs --bootstrap-server HERE --describe --entity-type clients --strict-compat",
    "kafka-configs --bootstrap-server HERE --alter --entity-type topics --entity-name HOSTILE --add-config a=b",
)
OTHERS: Final = (
    "unset broker:default listener.note --dry-run",
    "set broker:default more=HOSTILE --dry-run",
    "plan -f FILES",
    "diff -f FILES",
    "context list",
    "context test",
    "describe topic:orders",
    "explain retention.ms",
    "check",
    "topic list",
    "quota export --format csv",
    "rollback broker:default --to 1 --dry-run",
    "policy test RULES",
    "snapshot --out OUT",
    "completion suggest 'unset broker:default '",
)


def harmful(text: str) -> list[str]:
    """The characters of an output that a terminal would execute or hide."""
    return sorted({hex(ord(each)) for each in text if ord(each) in UNSAFE and each not in "\n\t"})


@pytest.fixture(scope="module")
def hostile_server() -> Iterator[KconfProcess]:
    with KconfProcess(
        properties={
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }
    ) as process:
        with SyncAdminClient(process.bootstrap, client_id=f"c-{HOSTILE}") as admin:
            _fill(admin)
        yield process


def _fill(admin: SyncAdminClient) -> None:
    admin.create_topics([NewTopic("orders", 1, 1)]).raise_for_failures()
    hostile = [AlterConfigOp(OpType.SET, HOSTILE, HOSTILE), AlterConfigOp(OpType.SET, "listener.note", HOSTILE)]
    admin.incremental_alter_configs({BROKERS: hostile}, reason=HOSTILE).raise_for_failures()
    for parts in ({"user": HOSTILE}, {"client-id": HOSTILE}, {"user": HOSTILE, "client-id": HOSTILE}):
        admin.alter_client_quotas({QuotaEntity.of(parts): {"producer_byte_rate": 5.0}}).raise_for_failures()
    admin.alter_user_scram_credentials(
        [scram_upsertion(f"user{HOSTILE}", Mechanism.SCRAM_SHA_256, "password")]
    ).raise_for_failures()
    binding = AclBinding(AclType.GROUP, HOSTILE, f"User:{HOSTILE}", Operation.READ)
    admin.create_acls([binding]).raise_for_failures()


@pytest.fixture
def run(hostile_server: KconfProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run a command line; words in capitals are replaced by paths and addresses."""
    people = People(tmp_path, hostile_server.bootstrap)
    monkeypatch.setenv("KCONF_CONFIG", str(people.config))
    monkeypatch.delenv("KCONF_CONTEXT", raising=False)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "topics.yaml").write_text("version: 1\ntopics: {orders: {}}\n")
    (tmp_path / "files" / "quotas.yaml").write_text("version: 1\nquotas: []\nacls: []\nusers: {}\n")
    (tmp_path / "rules.yaml").write_text("version: 1\nrules: []\n")
    places = {
        "HOSTILE": HOSTILE,
        "HERE": hostile_server.bootstrap,
        "FILES": str(tmp_path / "files"),
        "RULES": str(tmp_path / "rules.yaml"),
        "OUT": str(tmp_path / "out"),
    }

    def run(line: str, *more: str) -> Ran:
        words = [re.sub("|".join(places), lambda found: places[found[0]], each) for each in shlex.split(line)]
        return run_in_process(main, [*words, *more])

    return run


@pytest.mark.parametrize("line", [*SHOWING, *OTHERS])
def test_no_command_lets_a_server_act_on_the_terminal(run: Callable[..., Ran], line: str) -> None:
    ran = run(line)

    assert "usage:" not in ran.err
    assert harmful(ran.out + ran.err) == []
    assert ran.out + ran.err
    if line in SHOWING:
        assert "]0;title" in ran.out + ran.err, ran


@pytest.mark.parametrize(
    "line", [each for each in (*SHOWING, *OTHERS) if "--bootstrap" not in each and "HERE" not in each]
)
@pytest.mark.parametrize("output", [each for each in FORMATS if each != "table"])
def test_other_formats_contain_no_control_characters_either(run: Callable[..., Ran], line: str, output: str) -> None:
    if line.startswith("completion"):
        return
    ran = run(line, "-o", output)

    assert harmful(ran.out + ran.err) == []
    if output == "json":
        json.loads(ran.out)


@pytest.mark.parametrize("output", FORMATS)
def test_control_characters_are_escaped_in_a_watch(
    run: Callable[..., Ran], hostile_server: KconfProcess, output: str
) -> None:
    """Another client makes changes while it watches."""
    stop = threading.Event()

    def change() -> None:
        with SyncAdminClient(hostile_server.bootstrap, client_id=HOSTILE) as admin:
            while not stop.wait(0.1):
                value = AlterConfigOp(OpType.SET, "watched", f"{uuid4()}{HOSTILE}")
                admin.incremental_alter_configs({BROKERS: [value]}, reason=HOSTILE).raise_for_failures()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        ran = run("watch --count 1", "-o", output)
    finally:
        stop.set()
        thread.join()

    assert harmful(ran.out + ran.err) == []
    assert "\\u001b]0;title" in ran.out


def test_every_command_is_tested_or_excluded() -> None:
    here = {each.split()[0] for each in (*SHOWING, *OTHERS, "watch")}

    assert here | NOT_HERE.keys() == {*COMMANDS, *KAFKA_TOOLS}
    assert here.isdisjoint(NOT_HERE)


def test_json_and_yaml_have_the_same_characters_as_escapes(run: Callable[..., Ran]) -> None:
    entries = json.loads(run("quota list", "-o", "json").out)["items"]
    exported = yaml.safe_load(run("export").out)

    assert HOSTILE in [*_strings(entries)]
    assert {each.get("user") for each in exported["quotas"]} >= {HOSTILE}
    assert HOSTILE in [*_strings(exported["brokers"])]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from (key, *_strings(each))
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)


def test_csv_cells_are_not_formulas_with_csv_guard(run: Callable[..., Ran]) -> None:
    plain = list(csv.reader(StringIO(run("describe broker:default", "-o", "csv").out)))
    guarded = list(csv.reader(StringIO(run("describe broker:default", "-o", "csv", "--csv-guard").out)))

    formulas = [cell for row in plain for cell in row if cell[:1] in {*"=+-@"}]
    assert formulas
    assert not [cell for row in guarded for cell in row if cell[:1] in {*"=+-@"}]
    assert [cell.removeprefix("'") for row in guarded for cell in row] == [cell for row in plain for cell in row]


def test_control_characters_are_escaped_in_topic_names() -> None:
    """kconf refuses such names; another server may not."""
    with FakeBroker() as broker:
        broker.handlers["Metadata"] = lambda asked, version: MetadataResponse(
            0, [MetadataBroker(1, "127.0.0.1", broker.port)], "fake", 1, [MetadataTopic(0, f"t{HOSTILE}")]
        )
        broker.handlers["DescribeConfigs"] = _described
        shown = [
            run_in_process(main, [*words, "-b", broker.address])
            for words in (["topic", "list"], ["describe", "topic:*", "--all"], ["describe", "broker:1", "--all"])
        ]
        words = ["--bootstrap-server", broker.address, "--describe", "--entity-type", "topics"]
        shown += [run_in_process(kafka_configs, [*words, *more]) for more in ([], ["--all"], ["--strict-compat"])]

    for each in shown:
        assert harmful(each.out + each.err) == []
        assert "]0;title" in each.out + each.err


def _described(asked: Any, version: int) -> DescribeConfigsResponse:
    entries = [DescribeConfigsEntry(f"k{HOSTILE}", HOSTILE, False, config_source=1)]
    return DescribeConfigsResponse(
        0, [DescribeConfigsResult(0, None, each.resource_type, each.resource_name, entries) for each in asked.resources]
    )


def test_a_line_break_in_a_value_does_not_break_a_line_of_kafka_configs() -> None:
    """Otherwise a value with a line break would look like another config."""

    def described(asked: Any, version: int) -> DescribeConfigsResponse:
        entries = [DescribeConfigsEntry("k", "a\n  forged=1 sensitive=false", False, config_source=1)]
        results = [
            DescribeConfigsResult(0, None, each.resource_type, each.resource_name, entries) for each in asked.resources
        ]
        return DescribeConfigsResponse(0, results)

    with FakeBroker() as broker:
        broker.handlers["DescribeConfigs"] = described
        words = ["--bootstrap-server", broker.address, "--describe", "--entity-type", "topics", "--entity-name", "t"]
        ran = run_in_process(kafka_configs, words)

    assert ran.lines[1:] == ["  k=a\\n  forged=1 sensitive=false sensitive=false synonyms={}"]
