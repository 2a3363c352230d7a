"""A gateway whose cluster is gone or does not respond: reads continue, changes are refused or of unknown outcome."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.errors import ApiError, ErrorCode
from kconf.model.alteration import NewTopic
from kconf.model.resource import Resource
from lab.broker import KafkaBroker
from tests.cli.commands.scenarios import until
from tests.conformance.test_gateway import KEY, begin, gateway, setting
from tests.support.process import free_port

ORDERS = Resource.topic("orders")

# Unmarked: tests/unit/store/upstream/following/test_log_thread.py,
# tests/unit/store/upstream/polling/test_polled_store.py
pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaBroker]:
    with KafkaBroker() as broker, SyncAdminClient(broker.bootstrap) as direct:
        direct.create_topics([NewTopic("orders", 1, 1)]).raise_for_failures()
        yield broker


def health(port: int) -> tuple[str, str | None]:
    with urlopen(f"http://127.0.0.1:{port}/health", timeout=30) as answer:
        found = json.load(answer)
    reason: str | None = found.get("stale")
    return found["status"], None if reason is None else reason.partition(": ")[0]  # without the last error


GONE = ("stale", "this gateway cannot read the state of the cluster now")


def altered(admin: SyncAdminClient, value: str) -> ApiError | None:
    return admin.incremental_alter_configs({ORDERS: setting(value)}, reason=value).failures.get(ORDERS)


def shown(admin: SyncAdminClient) -> str | None:
    return admin.describe_configs([ORDERS])[ORDERS][KEY].value


def journal(admin: SyncAdminClient) -> list[tuple[str | None, str, str | None]]:
    return [
        (change.after, each.caller.principal, each.caller.reason)
        for each in admin.list_changes(begin(admin), about=[ORDERS]).revisions
        for change in each.changes
    ]


@pytest.mark.parametrize("polls", [False, True], ids=["log", "polls"])
def test_while_the_cluster_is_unreachable_reads_continue_and_nothing_is_sent(
    kafka: KafkaBroker, polls: bool, tmp_path: Path
) -> None:
    port = free_port()
    metrics = ("--metrics", f"127.0.0.1:{port}")
    with gateway(kafka, tmp_path / "gw.db", *metrics, polls=polls) as (address, _), SyncAdminClient(address) as admin:
        assert altered(admin, "1000") is None
        kafka.kill()
        until(lambda: health(port), GONE)
        refused = altered(admin, "2000")
        assert refused is not None
        assert refused.code is ErrorCode.REQUEST_TIMED_OUT
        assert "the request was not sent" in str(refused)
        assert shown(admin) == "1000"
        kafka.start()
        until(lambda: health(port), ("ok", None))
        assert altered(admin, "3000") is None
        assert journal(admin) == [(each, "User:ANONYMOUS", each) for each in ("1000", "3000")]
    with SyncAdminClient(kafka.bootstrap) as direct:
        assert shown(direct) == "3000"


def test_a_change_that_the_cluster_makes_later_is_reported_as_unknown_and_has_its_author(
    kafka: KafkaBroker, tmp_path: Path
) -> None:
    port, store = free_port(), tmp_path / "gw.db"
    with (
        gateway(kafka, store, "--metrics", f"127.0.0.1:{port}") as (address, _),
        SyncAdminClient(address) as admin,
        SyncAdminClient(kafka.bootstrap) as direct,
    ):
        assert altered(admin, "4000") is None
        kafka.freeze()
        try:
            unknown = altered(admin, "5000")
        finally:
            kafka.thaw()
        assert unknown is not None
        assert unknown.code is ErrorCode.REQUEST_TIMED_OUT
        assert "whether the change was made is unknown" in str(unknown)
        until(lambda: shown(direct), "5000")
        until(lambda: shown(admin), "5000")
        assert journal(admin) == [(each, "User:ANONYMOUS", each) for each in ("4000", "5000")]
        until(lambda: health(port), ("ok", None))
    with sqlite3.connect(store) as db:
        assert db.execute("SELECT outcome FROM intents ORDER BY id").fetchall() == [("done",), ("done",)]
