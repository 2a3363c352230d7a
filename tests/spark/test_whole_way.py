"""From a change to a report, with the real commands: server, archive, pipeline, look-ups, report.

Secrets are planted in every possible place: as values, as refused values, as the login for the snapshot of a live
cluster, in a declared file, and in an invalid line of a foreign archive. No written file and no output contains them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kconf import AlterConfigOp, Mechanism, NewTopic, OpType, QuotaEntity, Resource, SyncAdminClient, scram_upsertion
from kconf.cli.main import main
from kconf.cli.output.formats import FORMATS
from kconf.lake.lookup import LakeTables
from kconf.lake.relations import KEYS
from kconf.lake.schemas import DECLARED as DECLARED_TABLE
from kconf.lake.schemas import QUARANTINE, SNAPSHOT
from kconf.lake.sql import LakeSql
from tests.cli.conftest import run_in_process
from tests.support.process import KconfProcess
from tests.support.secrets import assert_nowhere

MARK = "Tr0ub4dor"
WORDS = ("login", "value", "refused", "scram", "unknown", "declared", "broken")
SECRETS = LOGIN, VALUE, REFUSED, SCRAM, UNKNOWN, DECLARED, BROKEN = tuple(f"{MARK}-{word}" for word in WORDS)
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
KEYSTORE = "listener.name.sasl_plaintext.ssl.keystore.password"


_DECLARED = f"""
version: 1
topics: {{orders: {{configs: {{retention.ms: 1d}}}}}}
brokers: {{"1": {{my.own.token: {DECLARED}}}}}
"""
_FOREIGN = f'{{"cluster": "c", "key": "ssl.key.password", "before": null, "after": "{BROKEN}", "sens\n'


@dataclass
class Way:
    """The directories of everything, and all output."""

    place: Path
    said: str
    run: subprocess.CompletedProcess[str]
    """The run of the pipeline, in a process of its own."""

    def ask(self, *words: str, status: int = 0) -> str:
        """The output of a lake query, run in this process."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("KCONF_CONFIG", str(self.place / "secret" / "config.yaml"))
            done = run_in_process(main, ["lake", *words, "--lake", str(self.place / "lake")])
        assert done.status == status, done.err
        return done.out


def kconf(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kconf", *words]
    environment = {**os.environ, "KCONF_CONFIG": str(place / "secret" / "config.yaml")}
    return subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=600, check=False, env=environment)


@pytest.fixture(scope="module")
def way(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Way]:
    place = tmp_path_factory.mktemp("way")
    properties = {
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{PLAIN} required user_alice="{LOGIN}";',
    }
    listeners, args = ["PLAINTEXT", "SASL_PLAINTEXT"], ["--archive", str(place / "archive"), "--log-level", "DEBUG"]
    with KconfProcess(properties=properties, listeners=listeners, args=args) as server:
        with SyncAdminClient(server.address("PLAINTEXT")) as admin:
            _scenario(admin)
        (place / "secret").mkdir(0o700)
        (place / "secret" / "config.yaml").touch(0o600)
        (place / "secret" / "config.yaml").write_text(_contexts(server.address("SASL_PLAINTEXT")))
        (place / "declared.yaml").write_text(_DECLARED)
        (place / "foreign" / "c").mkdir(parents=True)
        (place / "foreign" / "c" / "1.jsonl").write_text(_FOREIGN)
        steps = [
            ("archive", "flush", "archive"),
            ("snapshot", "--context", "prod", "--out", "snapshots"),
            (
                *("pipeline", "run", "--archive", "archive", "--archive", "foreign", "--snapshot", "prod"),
                *("--snapshot", "snapshots", "--declared", "declared.yaml", "--lake", "lake", "--log", "spark.log"),
            ),
            ("lake", "report", "report.html", "--lake", "lake"),
        ]
        said = server.log()
        for words in steps:
            done = kconf(place, *words)
            assert done.returncode == 0, done.stdout + done.stderr
            said += done.stdout + done.stderr
            if words[0] == "pipeline":
                run = done
        yield Way(place, said, run)


def _contexts(address: str) -> str:
    return (
        f"contexts:\n  prod:\n    bootstrap: {address}\n    user: alice\n    password: {LOGIN}\n"
        "    properties: {security.protocol: SASL_PLAINTEXT, sasl.mechanism: PLAIN}\n"
    )


def _scenario(admin: SyncAdminClient) -> None:
    orders = Resource.topic("orders")
    admin.create_topics([NewTopic("orders", 3), NewTopic("payments", 1)]).raise_for_failures()
    for value in ("60000", "120000", "60000"):
        requested = {orders: [AlterConfigOp(OpType.SET, "retention.ms", value)]}
        admin.incremental_alter_configs(requested, reason="trying").raise_for_failures()
    secrets = [AlterConfigOp(OpType.SET, KEYSTORE, VALUE), AlterConfigOp(OpType.SET, "my.own.token", UNKNOWN)]
    admin.incremental_alter_configs({Resource.broker(1): secrets}).raise_for_failures()
    admin.incremental_alter_configs({orders: [AlterConfigOp(OpType.SET, "segment.ms", REFUSED)]})
    admin.alter_client_quotas({QuotaEntity.of({"user": "ann"}): {"consumer_byte_rate": 5.0}}).raise_for_failures()
    admin.alter_user_scram_credentials([scram_upsertion("bob", Mechanism.SCRAM_SHA_256, SCRAM)]).raise_for_failures()


def test_a_run_in_a_new_process_prints_only_a_summary(way: Way) -> None:
    assert re.match(r"run 1: \d+ changes, \d+ attempts?, \d+ snapshot rows, 1 line quarantined", way.run.stdout)
    steps = way.run.stderr.splitlines()
    assert steps[0] == "starting Spark …"
    assert [line for line in steps if not line.endswith("…") and not line.startswith("skipped ")] == []
    assert (way.place / "spark.log").stat().st_size > 0


def test_the_tables_contain_the_changes(way: Way) -> None:
    told = json.loads(way.ask("history", "topic:orders", "--key", "retention.ms", "--output", "json"))["items"]
    drift = json.loads(way.ask("drift", "--output", "json", status=3))["items"]

    assert [(each["value"], each["reason"]) for each in told] == [
        ("60000", "trying"),
        ("120000", "trying"),
        ("60000", "trying"),
    ]
    assert [(each["resource"], each["declared"], each["actual"]) for each in drift] == [
        ("topic:orders", "86400000", "60000")
    ]
    blame = json.loads(way.ask("blame", "broker:1", "--output", "json"))["items"]
    assert {each["key"]: each["value"] for each in blame} == {KEYSTORE: "(sensitive)", "my.own.token": "(sensitive)"}


def test_the_report_shows_the_changes(way: Way) -> None:
    page = (way.place / "report.html").read_text()

    assert "User:ANONYMOUS" in page
    assert "retention.ms: 1 values that drifted" in page


@pytest.mark.parametrize("what", ["archive", "snapshots", "lake"])
def test_no_file_has_a_secret(way: Way, what: str) -> None:
    assert_nowhere(way.place / what, SECRETS)


def test_the_inputs_with_secrets_were_read(way: Way) -> None:
    """Otherwise their absence would prove nothing."""
    tables = LakeTables(str(way.place / "lake"))

    assert [row["line"] for row in tables.rows(QUARANTINE)] == ["[hidden]"]
    keys = {(row["key"], row["value"]) for row in tables.rows(DECLARED_TABLE)}
    assert ("my.own.token", None) in keys
    assert {row["key"] for row in tables.rows(SNAPSHOT, ["sensitive"])} >= {KEYSTORE, "my.own.token"}
    (file,) = (way.place / "snapshots").rglob("*.jsonl")
    assert KEYSTORE in file.read_text()


def test_the_documented_keys_identify_the_rows(way: Way) -> None:
    with LakeSql(str(way.place / "lake")) as lake:
        counted = {}
        for name in (each for each in KEYS if each in (*dict(lake.tables.run["versions"]), "files", "runs")):
            key = ", ".join(f'"{each}"' for each in KEYS[name])
            every, distinct = lake.query(f"SELECT count(*), count(DISTINCT ({key})) FROM {name}").rows[0]
            counted[name] = every

            assert every == distinct, name
    assert all(counted[name] for name in ("journal", "snapshot", "history", "topics", "effective_config"))


def test_no_output_has_a_secret(way: Way) -> None:
    told = [way.said, (way.place / "report.html").read_text(), (way.place / "spark.log").read_text(errors="replace")]
    past = json.loads(way.ask("history", "topic:orders", "--key", "retention.ms", "--output", "json"))["items"]
    for words in (("history",), ("blame",), ("diff", past[0]["since"], "now"), ("as-of", "now")):
        told += [way.ask(*words, "--output", form) for form in FORMATS]

    assert [each for each in told if MARK in each] == []
    assert all(told)
