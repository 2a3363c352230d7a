"""Look-ups without Spark: `kconf lake …` on a lake that Spark and Delta Lake wrote."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kconf.cli.main import main
from kconf.lake.lookup import NO_FILES, LakeTables, LookupFilter, shown
from kconf.lake.schemas import DECLARED, DRIFT, HISTORY, INTEGRITY, SNAPSHOT, STATE, TOPICS, VIOLATIONS
from kconf.lake.storage.location import LakeError
from kconf.model.resource import Resource
from kconf.spark.delta_tables import Lake, local
from tests.cli.conftest import Ran, run_in_process
from tests.spark.tables import HASH, INTERVALS, ONE, OTHER, at, declared, finish, interval, put, reached, shape, static

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = Resource.topic("orders")
SEEN = ", ".join(f"{each} (data until 2026-11-01 05:00:00 UTC)" for each in (ONE, OTHER))


@pytest.fixture(scope="module")
def place(filled: Path) -> Path:
    return filled


@pytest.fixture
def tables(place: Path) -> LakeTables:
    return LakeTables(str(place))


def ask(place: Path, *words: str, status: int = 0) -> Ran:
    """Run a command in this process; other tests start separate processes."""
    done = run_in_process(main, ["lake", *words, "--lake", str(place)])
    assert done.status == status, done.out + done.err
    return done


def items(place: Path, *words: str, status: int = 0) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(ask(place, *words, "--output", "json", status=status).out)["items"]
    return found


# -- the reader ------------------------------------------------------------------------------------------------------


def test_history_is_ordered_and_limited_to_its_time_span(tables: LakeTables) -> None:
    about = LookupFilter([ONE], [ORDERS], "retention.ms")

    assert [row["value"] for row in tables.history(about)] == ["60000", "120000", "180000"]
    assert [row["value"] for row in tables.history(about, at(3), at(4))] == ["120000"]
    assert [row["value"] for row in tables.history(about, at(2), at(2))] == [
        "120000"
    ]  # the end is not part of an interval
    assert tables.history(LookupFilter([ONE], [Resource.topic("o'rders; --")])) == []


@pytest.mark.parametrize(
    ("hours", "value"), [(0.5, None), (1, "60000"), (1.99, "60000"), (2, "120000"), (5, "180000"), (99, "180000")]
)
def test_the_state_at_a_time_has_the_value_of_that_time(tables: LakeTables, hours: float, value: str | None) -> None:
    found = tables.state(LookupFilter([ONE], [ORDERS], "retention.ms"), at(hours))

    assert [row["value"] for row in found] == ([] if value is None else [value])


def test_a_state_has_one_row_per_fact_even_if_times_are_equal(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"), spark)
    same = [interval(("topic", "t"), "k", str(each), 1, None if each == 2 else 1, revision=each) for each in range(3)]
    put(lake, HISTORY, same)
    finish(lake, [HISTORY])

    assert [row["value"] for row in LakeTables(lake.uri).state(at=at(1))] == ["2"]


def test_an_unfinished_run_is_not_visible(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"), spark)
    put(lake, HISTORY, INTERVALS[:3])
    with pytest.raises(LakeError, match="no lake at"):
        LakeTables(lake.uri)
    finish(lake, [HISTORY])
    put(lake, HISTORY, INTERVALS)

    assert len(LakeTables(lake.uri).history()) == 3
    finish(lake, [HISTORY], run=2)
    assert len(LakeTables(lake.uri).history()) == len(INTERVALS)


def test_secrets_of_two_clusters_are_not_compared(tables: LakeTables) -> None:
    found = tables.compare(ONE, OTHER)

    assert (found.values, found.hidden) == (6, 1)
    told = [((left or right or {})["resource_name"], shown(left), shown(right)) for left, right in found.pairs]
    assert told == [
        ('{"client-id":null,"user":"ann"}', "5", None),
        ("orders", "180000", "7"),
        ("payments", "partitions=1 replicas=2", "partitions=2 replicas=2"),
    ]


# -- the commands ----------------------------------------------------------------------------------------------------


def test_history_shows_principal_and_reason(place: Path) -> None:
    found = items(place, "history", "topic:orders", "--key", "retention.ms", "--cluster", "cluster-one")

    assert [(each["value"], each["until_principal"], each["reason"]) for each in found] == [
        ("60000", "User:bob", "ticket 7"),
        ("120000", "User:bob", "ticket 7"),
        ("180000", None, None),
    ]
    assert found[0]["since"] == "2026-11-01T01:00:00.000000Z"
    table = ask(place, "history", "topic:orders", "--cluster", ONE).out.splitlines()
    assert table[0].split() == ["RESOURCE", "KEY", "VALUE", "SINCE", "UNTIL", "WHO", "REASON"]
    assert "partitions=3 replicas=2" in table[1]


def test_history_between_two_times_shows_the_value_of_that_interval(place: Path) -> None:
    words = ("history", "topic:orders", "--key", "retention.ms", "--cluster", ONE)
    found = items(place, *words, "--between", "2026-11-01T03:00", "2026-11-01T04:00")

    assert [each["value"] for each in found] == ["120000"]


def test_as_of_shows_values_at_a_time_and_blame_their_authors(place: Path) -> None:
    before = items(place, "as-of", "2026-11-01T01:30Z", "topic:orders", "--cluster", ONE)
    now = items(place, "blame", "topic:ord*", "--cluster", ONE)

    assert {each["key"]: each["value"] for each in before} == {
        "(topic)": "partitions=3 replicas=2",
        "retention.ms": "60000",
        "cleanup.policy": "compact",
    }
    assert {each["key"]: each["principal"] for each in now} == {"(topic)": "User:alice", "retention.ms": "User:carol"}


def test_a_quota_is_named_by_its_flags(place: Path) -> None:
    (found,) = items(place, "blame", "--user", "ann", "--client-id-default")

    assert (found["resource"], found["value"]) == ("quota:client-id=(default),user=ann", "5")


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("producer_byte_rate", ("--user", "ann", "--client-id-default")),
        ("connection_creation_rate", ()),
        ("interval.ms", ()),
        ("consumer.session.timeout.ms", ()),
    ],
)
def test_a_key_of_kafka_that_was_never_set_is_no_error(place: Path, key: str, words: tuple[str, ...]) -> None:
    for command in (("history",), ("blame",), ("diff", "2026-11-01T01:30", "now"), ("as-of", "now")):
        assert items(place, *command, *words, "--key", key) == []


def test_neither_sensitive_values_nor_their_hashes_are_shown(place: Path) -> None:
    (found, _) = items(place, "blame", "broker:1")
    told = ask(place, "history", "broker:1", "--output", "csv").out

    assert found["value"] == "(sensitive)"
    assert HASH not in told
    assert "hmac" not in told


def test_diff_shows_what_was_added_and_removed(place: Path) -> None:
    found = items(place, "diff", "2026-11-01T01:30", "now", "topic:orders", "--cluster", ONE)

    assert [(each["key"], each["before"], each["after"], each["principal"]) for each in found] == [
        ("cleanup.policy", "compact", None, "User:bob"),
        ("retention.ms", "60000", "180000", "User:carol"),
    ]


def test_drift_exits_with_3_if_there_is_any(place: Path) -> None:
    found = items(place, "drift", "--key", "retention.ms", status=3)

    assert [(each["resource"], each["declared"], each["place"]) for each in found] == [
        ("topic:orders", "1", "topics.yaml:3:5")
    ]
    assert ask(place, "drift", "topic:payments").err == f"no drift from the declared state in {SEEN}\n"


def test_violations_exit_with_3_if_one_is_an_error(place: Path) -> None:
    now = items(place, "violations", status=3)
    assert [(each["resource"], each["owner"], each["severity"]) for each in now] == [
        ("topic:t0", "search", "warn"),
        ("topic:t2", None, "error"),
    ]
    assert [each["resource"] for each in items(place, "violations", "--owner", "search")] == ["topic:t0"]
    assert [each["resource"] for each in items(place, "violations", "topic:t1", "--all", status=3)] == ["topic:t1"]

    ever = items(place, "violations", "--between", at(0).isoformat(), at(9).isoformat(), status=3)
    assert [each["resource"] for each in ever] == ["topic:t0", "topic:t1", "topic:t2"]
    assert items(place, "violations", "--between", at(3).isoformat(), at(9).isoformat(), "--owner", "search") == now[:1]
    assert ask(place, "violations", "topic:payments", "--all").err == f"no violations found in {SEEN}\n"
    older = f"no violations found in {SEEN}; the lake does not show whether the policy has a rule another\n"
    assert ask(place, "violations", "--rule", "another", "--all").err == older
    assert "after the second" in ask(place, "violations", "--between", "now", "1d ago", status=2).err


def test_integrity_exits_with_3_if_it_finds_an_inconsistency(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path), spark)
    put(lake, HISTORY, INTERVALS)
    gap = {"kind": "gap", "first_sequence": 5, "last_sequence": 49, "found": "difference", "time": at(1)}
    named = {"resource_type": "topic", "resource_name": "orders", "key": "retention.ms"}
    lost = {"kind": "contradicted", **named, "expected": "60000", "time": at(2)}
    put(lake, INTEGRITY, [{"cluster": ONE, **gap}, {"cluster": ONE, **lost}])
    put(lake, STATE, [reached(ONE), reached(OTHER, looked=False)])
    finish(lake, [HISTORY, INTEGRITY, STATE])

    assert [
        (each["kind"], each["first_sequence"], each["last_sequence"], each["resource"], each["found"])
        for each in items(tmp_path, "integrity", status=3)
    ] == [("gap", 5, 49, None, "difference"), ("contradicted", None, None, "topic:orders", None)]
    found = items(tmp_path, "integrity", "topic:payments", "--key", "retention.ms", status=3)
    assert [each["kind"] for each in found] == ["gap"], "a change of the topic may be in the gap"
    assert ask(tmp_path, "integrity", "--cluster", OTHER).err == (
        f"no gaps in {OTHER} (data until 2026-11-01 05:00:00 UTC)\nnot checked for unrecorded changes: {OTHER}\n"
    )


def test_integrity_is_unknown_if_there_are_only_snapshots(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path), spark)
    put(lake, HISTORY, INTERVALS)
    put(lake, INTEGRITY, [])
    put(lake, STATE, [reached(ONE, began=None), reached(OTHER)])
    finish(lake, [HISTORY, INTEGRITY, STATE])

    assert f"unknown: nothing can be checked in {ONE};" in ask(tmp_path, "integrity", "--cluster", ONE, status=2).err
    found = ask(tmp_path, "integrity").err
    assert f"no gaps in {OTHER}" in found
    assert f"not checked for gaps: {ONE}" in found
    page = ask(tmp_path, "report", "-", "--cluster", ONE).out
    assert "<b>unknown</b>journal integrity findings" in page


def test_drift_is_unknown_where_nothing_is_declared(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path), spark)
    put(lake, HISTORY, INTERVALS)
    put(lake, DRIFT, [])
    put(lake, DECLARED, [declared("orders", "retention.ms", ONE)])
    put(lake, STATE, [reached(ONE), reached(OTHER)])
    finish(lake, [HISTORY, DRIFT, DECLARED, STATE])

    found = json.loads(ask(tmp_path, "drift", "--output", "json").out)
    assert found["clusters"] == dict.fromkeys((ONE, OTHER), "2026-11-01T05:00:00.000000Z")
    assert f"not compared, because nothing is declared: {OTHER}" in ask(tmp_path, "drift").err
    for words, what in (
        (("--cluster", OTHER), OTHER),
        (("topic:payments",), "topic:payments"),
        (("topic:orders", "--key", "cleanup.policy"), "topic:orders, cleanup.policy"),
    ):
        sentence = f"unknown: the files of the last run declare nothing about {what}\n"
        assert sentence in ask(tmp_path, "drift", *words, status=2).err
    assert "declare nothing" not in ask(tmp_path, "drift", "topic:orders", "--key", "retention.ms").err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("as-of", "2026-10-31"), "the lake has no data before 2026-10-31 00:00:00 UTC on cluster-one"),
        (("diff", "2026-10-31", "now"), "the lake has no data before 2026-10-31 00:00:00 UTC on cluster-one"),
        (("diff", "2026-11-03", "now"), "the last run of the lake finished at 2026-11-02 00:00:00 UTC, before 2026-11"),
        (("violations", "--between", "2026-10-30", "2026-10-31"), "the lake has no data before 2026-10-31"),
        (("history", "--between", "2026-11-03", "now"), "the last run of the lake finished at 2026-11-02 00:00:00 UTC"),
        (("compare", ONE, OTHER, "--ignore", "*"), "nothing to compare; apart from ignored keys, neither cluster"),
    ],
)
def test_an_answer_is_unknown_where_the_lake_has_no_data(place: Path, words: tuple[str, ...], sentence: str) -> None:
    assert f"kconf: unknown: {sentence}" in ask(place, *words, status=2).err


def test_clusters_without_data_at_a_time_are_named(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path), spark)
    later = interval(("topic", "late"), "retention.ms", "1", 3, cluster=OTHER)
    put(lake, HISTORY, [interval(("topic", "orders"), "retention.ms", "1", 0), later])
    put(lake, STATE, [reached(ONE), reached(OTHER)])
    finish(lake, [HISTORY, STATE])

    missing = f"the lake has no data before 2026-11-01 02:00:00 UTC on {OTHER}\n"
    assert ask(tmp_path, "as-of", at(2).isoformat()).err == missing
    assert ask(tmp_path, "diff", at(2).isoformat(), at(4).isoformat(), "--cluster", ONE).err == (
        f"no differences between the two times in {ONE} (data until 2026-11-01 05:00:00 UTC)\n"
    )
    assert ask(tmp_path, "diff", at(2).isoformat(), at(4).isoformat()).err == missing


def test_missing_rules_and_declared_files_are_reported(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path), spark)
    put(lake, HISTORY, INTERVALS)
    finish(lake, [HISTORY])

    nothing = {"declared": NO_FILES, "policy": NO_FILES}
    for given in ({}, nothing):
        assert "no rules: the last run" in ask(tmp_path, "violations", status=2).err
        assert "no declared state: the last run" in ask(tmp_path, "drift", status=2).err
        page = ask(tmp_path, "report", "-").out
        assert "No policy: the last run had no rules to check." in page
        assert "<b>unknown</b>open policy violations" in page
        assert "<b>unknown</b>values that drifted" in page
        for table in (DRIFT, VIOLATIONS):  # an earlier run had some
            put(lake, table, [])
        finish(lake, [HISTORY, DRIFT, VIOLATIONS], inputs=given or nothing)


def test_a_rule_and_an_owner_that_do_not_exist_are_errors(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path), spark)
    put(lake, HISTORY, INTERVALS)
    lake.overwrite(VIOLATIONS, local(spark, [], VIOLATIONS.ddl), note={"rules": ["retention"]})
    put(lake, TOPICS, [{"cluster": ONE, "topic": "orders", "owner": "search", "exists": True}])
    finish(lake, [HISTORY, TOPICS, VIOLATIONS])

    assert "no violations found" in ask(tmp_path, "violations", "--rule", "retention", "--owner", "search").err
    words = ("violations", "--owner", "search", "--cluster", OTHER)
    assert f"owner search has no topics in {OTHER}\n" in ask(tmp_path, *words, status=2).err
    assert ask(tmp_path, "violations", "--rule", "retenton", status=2).err == (
        "kconf: the policy of the last run has no rule retenton; did you mean retention?\n"
    )
    assert ask(tmp_path, "violations", "--owner", "serch", status=2).err == (
        f"kconf: owner serch has no topics in {ONE}, {OTHER}; did you mean search?\n"
    )


def test_compare_exits_with_3_and_ignores_given_keys(place: Path) -> None:
    found = items(place, "compare", "cluster-one", "cluster-other", "topic:orders", status=3)
    assert [(each["resource"], each["one"], each["other"]) for each in found] == [("topic:orders", "180000", "7")]

    words = ("compare", ONE, OTHER, "--ignore", "retention.*", "--ignore", "topic", "--ignore", "*_byte_rate")
    assert ask(place, *words).err == (
        f"no differences between the two clusters; compared 2 values that are set in {SEEN}\n"
        "not compared: 1 sensitive value, of which the lake has only keyed hashes\n"
    )


def test_what_if_counts_affected_topics(place: Path) -> None:
    words = ("what-if", "--set", "broker:default", "log.retention.ms=5000")
    counted = items(place, *words, "--cluster", ONE)
    listed = items(place, *words, "--list")

    assert [(each["key"], each["before"], each["after"], each["moved"], each["kept"]) for each in counted] == [
        ("retention.ms", "99000", "5000", 1, 1)
    ]
    assert {(each["cluster"], each["resource"]) for each in listed} == {
        (ONE, "topic:payments"),
        (OTHER, "topic:payments"),
    }
    static = items(place, "what-if", "--set", "broker:default", "log.segment.bytes=2000000", "--cluster", ONE)
    assert [(each["before"], each["moved"], each["brokers"]) for each in static] == [("1000000", 2, [])]
    assert not any(each["assumed"] for each in [*counted, *static])


def test_what_if_names_a_default_that_is_assumed_without_a_snapshot(place: Path) -> None:
    proposed = ("log.segment.bytes=2000000", "log.retention.ms=5000")
    words = ("what-if", *(word for each in proposed for word in ("--set", "broker:default", each)))
    found = items(place, *words, "--cluster", OTHER)
    said = ask(place, *words, "--cluster", OTHER)

    assert {(each["key"], each["before"], each["assumed"]) for each in found} == {
        ("segment.bytes", "1073741824", True),
        ("retention.ms", "99000", False),
    }
    assert f"assumed Kafka's defaults for cluster {OTHER}: the lake has no snapshot of it" in said.out + said.err


def test_what_if_skips_brokers_with_their_own_value_and_knows_the_file_value_under_an_override(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = Lake(str(tmp_path), spark)
    own = interval(("broker", "2"), "log.segment.bytes", "3000000", 1)
    put(lake, HISTORY, [interval(("topic", "orders"), "", shape(3), 0), own])
    in_file = {"resource_name": "2", "taken": at(0.5)}
    files = [static("log.segment.bytes", "1000000"), static("log.segment.bytes", "1500000") | in_file]
    above = static("log.segment.bytes", "3000000") | {**in_file, "taken": at(1), "source": "DYNAMIC_BROKER_CONFIG"}
    files += [above, static("log.retention.ms", "7") | in_file]
    files.append(
        static("log.retention.ms", "9") | {**in_file, "taken": at(1), "source": "DYNAMIC_DEFAULT_BROKER_CONFIG"}
    )
    put(lake, SNAPSHOT, files)
    finish(lake, [HISTORY, SNAPSHOT])

    tried = items(tmp_path, "what-if", "--set", "broker:default", "log.segment.bytes=2000000")
    kept = items(tmp_path, "what-if", "--set", "broker:default", "log.retention.ms=5")

    assert [(each["before"], each["after"], each["brokers"]) for each in tried] == [("1000000", "2000000", ["1"])]
    assert {(each["before"], tuple(each["brokers"])) for each in kept} == {("604800000", ("1",)), ("7", ("2",))}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("as-of", "whenever"), "'whenever' is not a time"),
        (("history", "--between", "now", "1h ago"), "--between: the first time is after the second"),
        (("blame", "nonsense"), "'nonsense' is not a resource"),
        (("blame", "topic:ordrs"), "the lake has no data on topic:ordrs; did you mean topic:orders?"),
        (("drift", "topic:ordrs"), "the lake has no data on topic:ordrs; did you mean topic:orders?"),
        (("history", "--key", "retention.sm"), "unknown key retention.sm; did you mean retention.ms?"),
        (("violations", "topic:orders", "--key", "retention.sm"), "unknown key retention.sm; did you mean"),
        (("history", "--key", "producer_byte_rat"), "unknown key producer_byte_rat; did you mean producer_byte_rate?"),
        (("blame", "topic:nothing*"), "topic:nothing* matches nothing in the lake"),
        (("blame", "--cluster", "cluster"), "is a prefix of 2 cluster IDs"),
        (("compare", ONE, "nobody"), f"the lake has no cluster 'nobody'; known clusters: {ONE}, {OTHER}"),
        (("blame", "--cluster", "cluster-oen-000000000A"), f"'cluster-oen-000000000A'; did you mean {ONE}?"),
        (("compare", ONE, "cluster-one"), f"{ONE} and cluster-one are the same cluster, {ONE}"),
        (("compare", ONE, OTHER, "topic:nobody"), "the lake has no data on topic:nobody"),
        (("what-if", "--set", "topic:x", "a=1"), "what-if supports broker:default only"),
        (("history", "--user", "anne"), "the lake has no data on quota:user=anne\n"),
        (("what-if", "--set", "broker:default", "no.such.key=1"), "unknown broker key no.such.key"),
        (("what-if", "--set", "broker:default", "log.retention.sm=1"), "did you mean log.retention.ms?"),
        (("what-if", "--set", "broker:default", "log.dirs=/x"), "log.dirs cannot be set at broker:default, only in"),
        (("what-if", "--set", "broker:default", "listeners=a"), "listeners can only be set for each broker"),
        (("what-if", "--set", "broker:default", "log.retention.ms=soon"), "log.retention.ms"),
        (("report", "x.html", "--days", "0"), "--days must be 1 to 3660, not 0"),
        (("report", "/nowhere/x.html"), "/nowhere/x.html cannot be written: No such file or directory"),
    ],
)
def test_errors_are_reported_in_one_sentence(place: Path, words: tuple[str, ...], sentence: str) -> None:
    done = ask(place, *words, status=2)

    assert sentence in done.err
    assert "Traceback" not in done.err
    assert done.out == ""


def test_a_missing_lake_is_reported(tmp_path: Path) -> None:
    done = ask(tmp_path, "blame", status=1)

    assert done.err == f"kconf: no lake at {tmp_path}; create one with `kconf pipeline run`\n"


def test_the_lake_of_a_context_is_used(place: Path, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").touch(0o600)
    (tmp_path / "config.yaml").write_text(
        f"current: prod\ncontexts:\n  prod: {{bootstrap: '127.0.0.1:1', lake: {place}}}\n  bare: {{bootstrap: 'b:1'}}\n"
    )
    command = [sys.executable, "-m", "kconf", "lake", "blame", "broker:default"]
    environment = {"KCONF_CONFIG": str(tmp_path / "config.yaml"), "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False, env=environment)
    bare = subprocess.run([*command, "-C", "bare"], capture_output=True, text=True, check=False, env=environment)

    assert "log.retention.ms" in done.stdout
    assert (bare.returncode, bare.stderr) == (2, "kconf: the context 'bare' has no lake; pass --lake URI\n")


def test_a_look_up_starts_no_spark(place: Path) -> None:
    program = (
        "import sys; from kconf.cli.main import main; "
        f"main(['lake', 'blame', 'topic:orders', '--lake', {str(place)!r}]); "
        "print([each for each in ('pyspark', 'pyarrow', 'yaml', 'asyncio') if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=280, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
