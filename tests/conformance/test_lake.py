"""The pipeline on a real broker without a journal: the history comes from client journals and snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kconf import AlterConfigOp, OpType, Resource
from kconf.spark.delta_tables import Lake
from kconf.spark.inputs import Inputs, Sources
from kconf.spark.runner import run
from lab.broker import KafkaBroker
from tests.cli.commands.scenarios import People, a_name, until
from tests.cli.history.scenarios import now

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    with KafkaBroker() as found:
        yield found


@pytest.fixture
def people(broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> People:
    found = People(tmp_path, broker.bootstrap)
    found.add_context("here", journal=str(tmp_path / "journal"), lake=str(tmp_path / "lake"))
    monkeypatch.setenv("KCONF_CONFIG", str(found.config))
    monkeypatch.delenv("KCONF_CONTEXT", raising=False)
    return found


@pytest.mark.timeout(900)
def test_client_journals_and_snapshots_are_one_history(
    people: People, broker: KafkaBroker, spark: SparkSession, tmp_path: Path
) -> None:
    """Recorded changes have author and reason; other changes between two snapshots have a time range and no author."""
    name = a_name()
    lake = Lake(str(tmp_path / "lake"), spark)
    sources = Sources([str(tmp_path / "journal")], clusters=[{"bootstrap.servers": broker.bootstrap}])
    people(f"topic create {name} --partitions 2 --replication-factor 1 --yes")
    people(f"set topic:{name} retention.ms=1h --reason 'ticket 7' --yes --allow-data-loss")
    topic = Resource.topic(name)
    with people.admin() as admin:
        until(lambda: admin.describe_configs([topic])[topic]["retention.ms"].value, "3600000")
        assert run(lake, sources, Inputs(), print).number == 1
        then = now()
        admin.incremental_alter_configs(
            {topic: [AlterConfigOp(OpType.SET, "segment.ms", "700000")]}
        ).raise_for_failures()
        people(f"set topic:{name} retention.ms=2h --reason 'ticket 8' --yes")
        until(lambda: admin.describe_configs([topic])[topic]["segment.ms"].value, "700000")
        until(lambda: admin.describe_configs([topic])[topic]["retention.ms"].value, "7200000")
        assert run(lake, sources, Inputs(), print).number == 2

    told = people.items(f"lake history topic:{name}")
    blamed = people(f"lake blame topic:{name}").out

    assert {(each["key"], each["value"], each["origin"], each["reason"]) for each in told} == {
        ("(topic)", "partitions=2 replicas=1", "client", None),
        ("retention.ms", "3600000", "client", "ticket 7"),
        ("retention.ms", "7200000", "client", "ticket 8"),
        ("segment.ms", "700000", "snapshot", None),
    }
    assert {each["principal"] for each in told} == {"User:ANONYMOUS", None}
    (ended,) = [each for each in told if each["until"] is not None]
    assert (ended["value"], ended["until_reason"]) == ("3600000", "ticket 8")
    assert f"User:ANONYMOUS ({getuser()})" in blamed
    (seen,) = [each for each in told if each["origin"] == "snapshot"]
    assert seen["since"] > ended["since"]

    # `rollback` and `blame` have one record of the journal and the lake, and agree with `lake as-of`.
    as_of = {each["key"]: each["value"] for each in people.items(f"lake as-of {then} topic:{name}")}
    plan = people.whole(f"rollback topic:{name} --to {then} --dry-run --allow-data-loss")
    assert as_of == {"(topic)": "partitions=2 replicas=1", "retention.ms": "3600000"}
    assert plan["source"] == "journal+lake"
    assert {(each["key"], each["op"], each["new"]) for each in plan["items"]} == {
        ("retention.ms", "set", "3600000"),
        ("segment.ms", "delete", "604800000"),
    }
    assert plan["unknown"] == []
    assert [each["key"] for each in people.items(f"history topic:{name}")] == [
        None,
        "retention.ms",
        "retention.ms",
        "segment.ms",
    ]
    found = {each["key"]: each for each in people.items(f"blame topic:{name}")}
    assert (found["retention.ms"]["record"], found["retention.ms"]["reason"]) == ("matches", "ticket 8")
    assert (found["segment.ms"]["record"], found["segment.ms"]["principal"]) == ("seen", None)
    assert found["segment.ms"]["changed_outside_after"] < then
