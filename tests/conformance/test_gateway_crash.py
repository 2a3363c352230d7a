"""A gateway that is killed (-9) between every two steps of a change, in front of a real KRaft cluster."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.errors import KafkaError
from kconf.model.resource import Resource
from kconf.protocol.records.batches import read_batches
from kconf.protocol.records.metadata import ConfigRecord, decode_record
from kconf.store.sqlite.rows import read_revision
from kconf.store.upstream.authors.intents import ARRIVES_WITHIN
from lab.broker import KafkaBroker
from tests.cli.commands.scenarios import until
from tests.conformance.test_gateway import KEY, begin, gateway, setting, topic  # noqa: F401
from tests.support.crashing_gateway import STEPS
from tests.support.targets import marked

ARRIVES = STEPS[STEPS.index("sent") :]
"""The steps at which the cluster has got the request."""


@contextmanager
def crashing(
    kafka: KafkaBroker, store: Path, step: str, *, polls: bool
) -> Iterator[tuple[SyncAdminClient, subprocess.Popen[str]]]:
    program = ("tests.support.crashing_gateway", step)
    with (
        gateway(kafka, store, program=program, polls=polls) as (address, process),
        SyncAdminClient(address, connect_attempts=1) as admin,
    ):
        yield admin, process


def intents(store: Path) -> dict[str, str | None]:
    """The outcome of each request, by the value to set."""
    with sqlite3.connect(store) as db:
        rows = db.execute("SELECT record, outcome FROM intents ORDER BY id").fetchall()
    return {str(read_revision(0, record).changes[0].after): outcome for record, outcome in rows}


def value(step: str, number: int) -> str:
    """A unique value for the first or second change of the gateway that is killed at a step."""
    return str(910_000 + 10 * STEPS.index(step) + number)


VALUES = [value(step, number) for step in STEPS for number in (1, 2)]


def age(store: Path) -> None:
    """Make the time pass in which a request could still arrive."""
    with sqlite3.connect(store) as db:
        db.execute(
            "UPDATE intents SET record = json_set(record, '$[0]', json_extract(record, '$[0]') - ?)"
            " WHERE outcome IS NULL",
            (ARRIVES_WITHIN,),
        )


@pytest.mark.parametrize("polls", [False, marked(True, pytest.mark.faults)], ids=["log", "polls"])
def test_a_gateway_killed_between_any_two_steps_of_a_change_records_the_true_outcome(
    polls: bool,
    kafka_431: KafkaBroker,
    topic: str,  # noqa: F811
    tmp_path: Path,
) -> None:
    """Each acknowledged change is in the journal once with its author, and no request is sent twice."""
    store, resource = tmp_path / "gw.db", Resource.topic(topic)
    for step in STEPS:
        with crashing(kafka_431, store, step, polls=polls) as (admin, process):
            admin.incremental_alter_configs({resource: setting(value(step, 1))}, reason=step).raise_for_failures()
            seen = {resource: admin.required_revision}  # a client does not repeat such a request
            second = {resource: setting(value(step, 2))}
            with pytest.raises(KafkaError):
                admin.incremental_alter_configs(second, reason=step, expected=seen).raise_for_failures()
            assert process.wait(60) == -9
        if step == "intended":
            age(store)
        with SyncAdminClient(kafka_431.bootstrap) as direct:
            last = value(step, 2 if step in ARRIVES else 1)
            until(lambda: direct.describe_configs([resource])[resource][KEY].value == last, True)  # noqa: B023
    with gateway(kafka_431, store, polls=polls) as (address, _), SyncAdminClient(address) as admin:
        until(lambda: None in intents(store).values(), False)
        found = [
            (change.after, each.caller.principal, each.caller.reason, each.origin)
            for each in admin.list_changes(begin(admin), about=[resource]).revisions
            for change in each.changes
        ]
        assert admin.describe_configs([resource])[resource][KEY].value == value(STEPS[-1], 2)
    outcomes = intents(store)
    expected = {}
    for step in STEPS:
        expected[value(step, 1)] = "done"
        if step != "planned":
            expected[value(step, 2)] = "done" if step in ARRIVES else "not done"
    assert outcomes == expected
    done = [each for each in VALUES if expected.get(each) == "done"]
    assert found == [(each, "User:ANONYMOUS", STEPS[VALUES.index(each) // 2], "kconf") for each in done]
    assert sorted(records(kafka_431, topic)) == sorted(done)


def test_a_change_that_an_interrupted_request_may_also_have_made_has_no_author(
    kafka_431: KafkaBroker,
    topic: str,  # noqa: F811
    tmp_path: Path,
) -> None:
    """The interrupted request may have arrived late, so either of the two requests may have made the change."""
    store, resource = tmp_path / "gw.db", Resource.topic(topic)
    with crashing(kafka_431, store, "intended", polls=False) as (admin, process):
        admin.incremental_alter_configs({resource: setting(11)}, reason="first").raise_for_failures()
        seen = {resource: admin.required_revision}
        with pytest.raises(KafkaError):
            admin.incremental_alter_configs(
                {resource: setting(12)}, reason="killed", expected=seen
            ).raise_for_failures()
        assert process.wait(60) == -9
    with gateway(kafka_431, store) as (address, _), SyncAdminClient(address) as admin:
        admin.incremental_alter_configs({resource: setting(12)}, reason="other").raise_for_failures()
        admin.incremental_alter_configs({resource: setting(13)}, reason="last").raise_for_failures()
        found = [
            (change.after, each.caller.reason, each.origin)
            for each in admin.list_changes(begin(admin), about=[resource]).revisions
            for change in each.changes
        ]
    assert found == [("11", "first", "kconf"), ("12", None, "log"), ("13", "last", "kconf")]
    with sqlite3.connect(store) as db:
        rows = db.execute("SELECT outcome FROM intents ORDER BY id").fetchall()
    assert rows == [("done",), (None,), ("done",), ("done",)]  # the second may still arrive


def records(kafka: KafkaBroker, name: str) -> list[str]:
    """All values that the controller wrote for the key of a topic, with repetitions."""
    found = []
    for path in (kafka.directory / "data" / "__cluster_metadata-0").glob("*.log"):
        for batch in read_batches(path.read_bytes()):
            for record in () if batch.is_control else batch.records():
                decoded = decode_record(record.value) if record.value is not None else None
                if isinstance(decoded, ConfigRecord) and (decoded.resource_name, decoded.name) == (name, KEY):
                    found.append(str(decoded.value))
    return found
