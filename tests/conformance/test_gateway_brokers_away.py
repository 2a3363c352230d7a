"""A gateway whose brokers are gone or do not respond, while the controllers still serve the metadata log."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.errors import ErrorCode
from kconf.model.alteration import NewTopic
from kconf.model.entry import Source
from kconf.model.resource import Resource
from lab.cluster import SeparateNodes
from tests.cli.commands.scenarios import until
from tests.conformance.test_gateway import KEY, gateway, setting
from tests.conformance.test_gateway_cluster_away import altered, health, journal, shown
from tests.conformance.test_gateway_crash import intents
from tests.support.process import free_port

ORDERS, OTHER = Resource.topic("orders"), Resource.topic("other")

# Unmarked: tests/unit/store/upstream/test_broker_watch.py
pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def kafka() -> Iterator[SeparateNodes]:
    with SeparateNodes() as nodes, SyncAdminClient(nodes.bootstrap) as direct:
        direct.create_topics([NewTopic(each.name, 1, 1) for each in (ORDERS, OTHER)]).raise_for_failures()
        yield nodes


def test_without_brokers_reads_continue_and_changes_are_refused_at_once(kafka: SeparateNodes, tmp_path: Path) -> None:
    """A gateway notices without a request that brokers are lost, and that one is back."""
    port = free_port()
    with (
        gateway(kafka, tmp_path / "gw.db", "--metrics", f"127.0.0.1:{port}") as (address, _),
        SyncAdminClient(address) as admin,
    ):
        assert altered(admin, "1000") is None
        kafka.broker.kill()
        until(lambda: health(port), ("read-only", "no broker of the cluster responds"))
        for _ in range(20):
            refused = altered(admin, "2000")
            assert refused is not None
            assert refused.code is ErrorCode.REQUEST_TIMED_OUT
            assert "no broker of the cluster responds" in str(refused)
            assert "the request was not sent" in str(refused)
        assert shown(admin) == "1000"
        kafka.broker.start()
        until(lambda: health(port), ("ok", None))
        assert altered(admin, "3000") is None
        assert [each[0] for each in journal(admin)] == ["1000", "3000"]


def test_a_change_that_waits_behind_one_without_a_response_is_never_sent(kafka: SeparateNodes, tmp_path: Path) -> None:
    """The outcome of the change that was sent is unknown. Both clients get an error before they time out."""
    store = tmp_path / "gw.db"
    with (
        gateway(kafka, store) as (address, _),
        SyncAdminClient(address) as admin,
        SyncAdminClient(address) as second,
        ThreadPoolExecutor(1) as thread,
    ):
        assert altered(admin, "4000") is None
        kafka.broker.freeze()
        try:
            first = thread.submit(altered, admin, "5000")
            until(lambda: len(intents(store)), 2)
            waiting = second.incremental_alter_configs({OTHER: setting(6000)}).failures[OTHER]
            unknown = first.result(60)
            assert shown(second) == "4000"
        finally:
            kafka.broker.thaw()
        assert waiting.code is ErrorCode.REQUEST_TIMED_OUT
        assert "the request was not sent" in str(waiting)
        assert unknown is not None
        assert unknown.code is ErrorCode.REQUEST_TIMED_OUT
        assert "whether the change was made is unknown" in str(unknown)
        until(lambda: shown(admin), "5000")
        until(lambda: altered(admin, "7000"), None)
        assert [each[0] for each in journal(admin)] == ["4000", "5000", "7000"]
        assert second.describe_configs([OTHER])[OTHER][KEY].source is not Source.TOPIC
