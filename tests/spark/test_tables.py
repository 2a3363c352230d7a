"""The tables of a real server (archive, snapshot, declared files, policy), compared with the server."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kconf import AlterConfigOp, NewTopic, OpType, QuotaEntity, Resource, SyncAdminClient
from kconf.configdef.lookup import keys_for
from kconf.engine.declarative.parser import read_declared
from kconf.engine.policy.conditions import Subject
from kconf.engine.quotas.precedence import StoredQuotas
from kconf.lake.schemas import TABLES
from kconf.lake.storage.location import LakeError
from kconf.model.entry import Source
from kconf.spark import runner, silver
from kconf.spark.backtest import TimeRange, backtest
from kconf.spark.delta_tables import Lake, local
from kconf.spark.gold import Gold
from kconf.spark.inputs import Inputs, Sources
from kconf.spark.runner import run
from kconf.spark.transforms import drift
from kconf.spark.transforms.values import KEYS, keys
from tests.archive.reading import archiving, lines
from tests.support.process import free_port
from tests.support.secrets import assert_nowhere

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
SECRET = "planted-Keystore-pa55word"
POLICY = """
rules:
  - {id: keep-a-day, selector: "topic:orders*", key: retention.ms, condition: {min: 1d}, message: keep it for a day}
  - {id: few-partitions, selector: topic, key: partitions, condition: {max: 3}, severity: warn}
  - {id: compacted, selector: "topic:/state$/", key: cleanup.policy, condition: {contains: compact}}
  - {id: local-below-whole, selector: topic, key: local.retention.ms, condition: {at_most: retention.ms}}
  - {id: say-so, selector: "topic:orders", key: retention.ms, condition: {required: true}}
  - {id: bytes, selector: "topic:payments", key: segment.bytes, condition: {not_one_of: [1048576]}}
"""
DECLARED = """
version: 1
selector: [topic, quota]
topics:
  orders: {partitions: 4, replication: 1, configs: {retention.ms: 2h, cleanup.policy: delete}}
  payments: {partitions: 1, configs: {segment.bytes: 2MiB}}
  invoices: {partitions: 1}
quotas:
  - {user: alice, limits: {producer_byte_rate: 2048}}
"""
OWNERS = "topic,owner\norders,shop\n/state$/,platform\n*,nobody\n"
USAGE = "user,client_id,key,rate\nalice,app,producer_byte_rate,512\ndave,batch,producer_byte_rate,90\n"
QUOTAS = {
    QuotaEntity.of({"user": "alice"}): 1024.0,
    QuotaEntity.of({"user": "alice", "client-id": "app"}): 2048.0,
    QuotaEntity.of({"user": None}): 100.0,
    QuotaEntity.of({"user": None, "client-id": "batch"}): 50.0,
    QuotaEntity.of({"client-id": "web"}): 70.0,
    QuotaEntity.of({"client-id": None}): 10.0,
}


def setting(key: str, value: str) -> AlterConfigOp:
    return AlterConfigOp(OpType.SET, key, value)


def change(admin: SyncAdminClient) -> None:
    """Typical changes: topics are created, extended, deleted and recreated, keys flap, quotas exist at every level."""
    admin.create_topics(
        [NewTopic("orders", partitions=4, configs=[("retention.ms", "60000")]), NewTopic("user-state"), "payments"]
    ).raise_for_failures()
    for value in ("1048576", "2097152", "1048576"):
        alterations = {Resource.topic("payments"): [setting("segment.bytes", value)]}
        admin.incremental_alter_configs(alterations, reason=f"try {value}").raise_for_failures()
    admin.create_topics([NewTopic("ledger", configs=[("retention.ms", "1000")])]).raise_for_failures()
    admin.delete_topics(["ledger"]).raise_for_failures()
    admin.create_topics([NewTopic("ledger", configs=[("cleanup.policy", " compact , delete")])]).raise_for_failures()
    admin.create_partitions({"payments": 2}).raise_for_failures()
    admin.incremental_alter_configs(
        {
            Resource.brokers(): [setting("log.retention.ms", "7200000"), setting("log.cleaner.threads", "2")],
            Resource.broker(1): [setting("listener.name.x.ssl.keystore.password", SECRET)],
            Resource.group("readers"): [setting("consumer.session.timeout.ms", "50000")],
        }
    ).raise_for_failures()
    admin.alter_client_quotas(
        {each: {"producer_byte_rate": value} for each, value in QUOTAS.items()}
    ).raise_for_failures()
    refused = admin.incremental_alter_configs({Resource.topic("orders"): [setting("retention.ms", "soon")]})
    assert len(refused.failures) == 1


@dataclass
class World:
    lake: Lake
    admin: SyncAdminClient
    inputs: Inputs
    bootstrap: str
    directory: Path

    def rows(self, name: str, where: str = "true") -> list[Row]:
        return [row.asDict(recursive=True) for row in self.lake.read(TABLES[name]).where(where).collect()]


@pytest.fixture(scope="module")
def world(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory = tmp_path_factory.mktemp("world")
    inputs = Inputs(
        *([directory / "declared.yaml"], directory / "policy.yaml", directory / "owners.csv", directory / "usage.csv")
    )
    for path, text in zip(
        (inputs.declared[0], inputs.policy, inputs.owners, inputs.usage), (DECLARED, POLICY, OWNERS, USAGE), strict=True
    ):
        assert path is not None
        path.write_text(text)
    with archiving(directory / "archive", log_segment_bytes="536870912", log_retention_hours="24") as server:
        with SyncAdminClient(server.bootstrap, client_id="app") as admin:
            change(admin)
        server.restart()  # the archive is complete when a server has stopped
        with SyncAdminClient(server.bootstrap) as admin:
            lake = Lake(str(directory / "lake"), spark)
            sources = Sources([str(directory / "archive")], clusters=[{"bootstrap.servers": server.bootstrap}])
            assert run(lake, sources, inputs, print).number == 1
            yield World(lake, admin, inputs, server.bootstrap, directory)


def test_effective_config_equals_what_the_server_describes(world: World) -> None:
    told = {
        (row["resource_type"], row["resource_name"], row["key"]): row["value"] for row in world.rows("effective_config")
    }
    names = sorted(world.admin.list_topics(internal=True))
    resources = [*map(Resource.topic, names), Resource.broker(1), Resource.brokers(), Resource.group("readers")]
    described = world.admin.describe_configs(resources)

    for resource in resources:
        for entry in described[resource].entries:
            key = (resource.type.word, resource.name, entry.name)
            assert told.get(key) == entry.value, key
    assert {key[1] for key in told if key[0] == "topic"} == set(names)


def test_the_ladder_has_every_level_in_order_of_precedence(world: World) -> None:
    (row,) = world.rows("effective_config", "resource_name = 'payments' AND key = 'segment.bytes'")

    assert row["source"] == "DYNAMIC_TOPIC_CONFIG"
    assert [(each["name"], each["value"], each["source"]) for each in row["ladder"]] == [
        ("segment.bytes", "1048576", "DYNAMIC_TOPIC_CONFIG"),
        ("log.segment.bytes", "536870912", "STATIC_BROKER_CONFIG"),
        ("segment.bytes", "1073741824", "DEFAULT_CONFIG"),
    ]


def test_effective_quotas_are_those_of_the_server_with_their_level(world: World) -> None:
    told = {(row["user"], row["client_id"]): row for row in world.rows("effective_quota")}
    stored = StoredQuotas(dict(world.admin.describe_client_quotas().items()))

    for (user, client_id), row in told.items():
        expected = stored.effective(user, client_id, [row["key"]])[row["key"]]
        assert (row["value"], row["source"]) == (expected.value, expected.source.name)
        overridden = [(each["source"], each["value"]) for each in row["ladder"][1:]]
        assert overridden == [(source.name, value) for source, value in expected.overridden]
    assert {("alice", "app"), ("alice", ""), ("dave", "batch"), ("", "web"), ("ANONYMOUS", "app")} <= set(told)
    assert (told["alice", "app"]["value"], told["alice", "app"]["source"]) == (2048.0, "CLIENT_IN_USER")
    assert (told["dave", "batch"]["value"], told["dave", "batch"]["source"]) == (50.0, "CLIENT_IN_DEFAULT_USER")
    assert (told["alice", "app"]["used"], told["alice", "app"]["share"]) == (512.0, 0.25)


def test_topics_have_id_owner_partitions_and_replication(world: World) -> None:
    rows = world.rows("topics")
    by_name = {row["topic"]: row for row in rows if row["exists"]}
    ledgers = [row for row in rows if row["topic"] == "ledger"]

    assert (by_name["orders"]["partitions"], by_name["orders"]["replication"]) == (4, 1)
    assert by_name["payments"]["partitions"] == 2
    assert {name: row["owner"] for name, row in by_name.items()} == {
        "orders": "shop",
        "user-state": "platform",
        "payments": "nobody",
        "ledger": "nobody",
    }
    assert sorted(row["exists"] for row in ledgers) == [False, True]
    assert len({row["topic_id"] for row in ledgers}) == 2


def test_a_recreated_topic_inherits_nothing(world: World) -> None:
    (old,) = world.rows("history", "resource_name = 'ledger' AND key = 'retention.ms'")
    (new,) = world.rows("history", "resource_name = 'ledger' AND key = 'cleanup.policy'")

    assert (old["ended"], old["open"], new["open"]) == ("deleted", False, True)
    assert old["topic_id"] != new["topic_id"]
    assert world.rows("effective_config", "resource_name = 'ledger' AND key = 'retention.ms'")[0]["value"] == "7200000"


def test_violations_are_those_that_the_policy_itself_finds(world: World) -> None:
    expected = set()
    names = sorted(world.admin.list_topics(internal=True))
    shapes, views = world.admin.describe_topics(names), world.admin.describe_configs(map(Resource.topic, names))
    for name in names:
        view, parts = views[Resource.topic(name)], shapes[name].partitions
        subject = Subject(
            Resource.topic(name),
            {entry.name: entry.value for entry in view.entries if entry.value is not None},
            {entry.name for entry in view.entries if entry.source == Source.TOPIC},
            len(parts),
            len(parts[0].replicas),
        )
        expected |= {(each.rule.id, str(each.rule.severity), name) for each in world.inputs.rules.evaluate(subject)}

    told = world.rows("violations", "open")
    assert {(row["rule"], row["severity"], row["resource_name"]) for row in told} == expected
    assert {"keep-a-day", "few-partitions", "compacted", "bytes"} <= {row["rule"] for row in told}
    (row,) = [row for row in told if row["rule"] == "keep-a-day"]
    assert (row["value"], row["owner"], row["principal"]) == ("60000", "shop", "User:ANONYMOUS")


def test_past_violations_name_who_caused_and_who_fixed_them(world: World) -> None:
    first, last = sorted(world.rows("violations", "rule = 'bytes'"), key=lambda row: row["revision"])

    assert (first["reason"], first["until_reason"], first["ended"]) == ("try 1048576", "try 2097152", "mended")
    assert (first["open"], last["open"], last["reason"], last["until"]) == (False, True, "try 1048576", None)
    assert first["since"] <= first["until"] <= last["since"]
    assert (first["cause"], first["changes"], last["changes"]) == ("itself", 1, 1)


def test_a_backtest_with_the_same_rules_finds_the_same_violations(world: World) -> None:
    (last,) = world.rows("runs")
    table = Counter(row["rule"] for row in world.rows("violations"))

    found = backtest(world.lake, last["versions"], world.inputs.rules, TimeRange(), 50, print)

    assert len(table) > 3
    assert {row["rule"]: row["findings"] for row in found.rules if row["findings"]} == table
    assert found.found == len(found.findings) == table.total()


def test_drift_compares_values_by_meaning(world: World) -> None:
    told = {(row["resource_name"], row["key"]): row for row in world.rows("drift")}

    assert told["orders", "retention.ms"]["kind"] == "differs"
    assert (told["orders", "retention.ms"]["declared"], told["orders", "retention.ms"]["actual"]) == (
        "7200000",
        "60000",
    )
    assert told["orders", "retention.ms"]["place"].endswith("declared.yaml:5:67")
    assert told["payments", "segment.bytes"]["reason"] == "try 1048576"
    assert told["payments", "partitions"]["actual"] == "2"
    assert told["invoices", ""]["kind"] == "missing"
    assert told['{"user":"alice"}', "producer_byte_rate"]["actual"] == "1024"
    assert told["ledger", "cleanup.policy"]["kind"] == "undeclared"
    assert ("orders", "cleanup.policy") not in told, "the inherited value is the one declared"
    assert ("ledger", "retention.ms") not in told, "it is set for all brokers, not at the topic"


def test_an_override_on_a_declared_topic_drifts_without_a_selector_unless_it_is_unmanaged(world: World) -> None:
    def drifting(text: str) -> set[tuple[str, str]]:
        declared = read_declared([("declared", text)], keys_for)
        lake = world.lake
        rows = local(lake.spark, drift.declared_rows(declared, None), TABLES["declared"].ddl)
        current = lake.read(TABLES["history"]).where("open")
        there = drift.actual(lake.read(TABLES["effective_config"]), current, lake.read(TABLES["topics"]))
        clusters, known = current.select("cluster").distinct(), local(lake.spark, keys(world.inputs.catalog), KEYS)
        found = drift.drift(drift.wanted(rows, clusters, known), there, current, drift.owned(declared))
        return {(row["resource_name"], row["key"]) for row in found.where("kind = 'undeclared'").collect()}

    assert drifting("topics: {payments: }") == {("payments", "segment.bytes")}
    assert drifting("topics: {payments: {unmanaged: [segment.*]}}") == set()
    assert drifting("unmanaged: segment.*\ntopics: {payments: }") == set()


def test_activity_counts_changes_refusals_and_flapping_keys(world: World) -> None:
    (flapping,) = world.rows("activity", "kind = 'flapping'")
    refusals = world.rows("activity", "kind = 'refusals'")
    changes = world.rows("activity", "kind = 'changes'")

    assert (flapping["resource_name"], flapping["key"], flapping["count"]) == ("payments", "segment.bytes", 1)
    assert [(row["error"], row["count"], row["resource_type"]) for row in refusals] == [(40, 1, "topic")]
    assert sum(row["count"] for row in changes) == world.lake.read(TABLES["journal"]).count()


def test_the_journal_and_the_snapshot_agree(world: World) -> None:
    assert world.rows("integrity") == []


def test_gaps_in_the_journal_and_external_changes_are_reported(world: World, tmp_path: Path) -> None:
    """The same archive without two of its revisions: one in the middle of a key's history, and the last."""
    kept = [line for line in lines(world.directory / "archive") if line["reason"] != "try 2097152"]
    (lost,) = {line["revision"] for line in lines(world.directory / "archive")} - {line["revision"] for line in kept}
    last = max(line["revision"] for line in kept)
    (tmp_path / "archive" / "c").mkdir(parents=True)
    text = "".join(f"{json.dumps(line)}\n" for line in kept if line["revision"] != last)
    (tmp_path / "archive" / "c" / "some.jsonl").write_text(text)
    lake = Lake(str(tmp_path / "lake"), world.lake.spark)
    runner.read(lake, Sources([str(tmp_path / "archive")], clusters=[{"bootstrap.servers": world.bootstrap}]), print)
    silver.update(lake)

    told = [row.asDict() for row in Gold(lake, Inputs()).integrity().collect()]
    by_kind = {kind: [row for row in told if row["kind"] == kind] for kind in ("gap", "slipped", "differs")}
    assert [(row["first_sequence"], row["last_sequence"]) for row in by_kind["gap"]] == [(lost, lost)]
    assert [(row["key"], row["expected"], row["found"]) for row in by_kind["slipped"]] == [
        ("segment.bytes", "1048576", "2097152")
    ]
    assert {(row["resource_type"], row["expected"]) for row in by_kind["differs"]} == {("quota", None)}
    assert len(by_kind["differs"]) == len(QUOTAS)


def test_a_run_without_new_input_changes_nothing(world: World) -> None:
    before = {name: world.lake.version(table) for name, table in TABLES.items()}

    done = run(world.lake, Sources([str(world.directory / "archive")]), world.inputs, print)

    assert done.number is None
    assert {name: world.lake.version(table) for name, table in TABLES.items()} == before


def test_an_unreachable_cluster_leaves_the_tables_unchanged(world: World) -> None:
    """The cluster is read first, so nothing of the archive in the same run is read."""
    before = {name: world.lake.version(table) for name, table in TABLES.items()}
    away = f"127.0.0.1:{free_port()}"
    more = Sources([str(world.directory / "more")], clusters=[{"bootstrap.servers": away}])
    shutil.copytree(world.directory / "archive", world.directory / "more")

    with pytest.raises(LakeError, match=away):
        run(world.lake, more, world.inputs, print)

    assert {name: world.lake.version(table) for name, table in TABLES.items()} == before


def test_planted_secrets_are_in_no_file(world: World) -> None:
    assert_nowhere(world.directory / "lake", [SECRET])


def test_the_row_of_a_run_has_the_version_of_every_table(world: World) -> None:
    (row,) = world.rows("runs")

    assert row["versions"] == {name: world.lake.version(TABLES[name]) for name in row["versions"]}
    assert set(row["versions"]) >= {"journal", "history", "topics", "effective_config", "drift", "integrity"}
