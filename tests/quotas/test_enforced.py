"""Quotas enforced by a real kconf process, from the view of its clients.

The tests do not sleep: a throttled connection responds late, and that is measured. Any request exceeds a quota of a
millionth of a percent; the delay is at most one window, one second.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.request import urlopen

import pytest
from kafka import KafkaAdminClient

from kconf.errors import ErrorCode
from kconf.protocol.apis import APIS, BY_NAME
from kconf.protocol.codec.fields import fields_of
from kconf.protocol.messages.create_partitions import CreatePartitionsTopic
from kconf.protocol.messages.delete_topics import DeleteTopicState
from kconf.protocol.messages.describe_configs import DescribeConfigsResource
from tests.support.admin import TOPIC, new_topic
from tests.support.process import KconfProcess
from tests.support.quotas import QuotaAdmin

NEXT_TO_NOTHING = 1e-6
SLOW = {"client-id": "slow"}


@pytest.fixture
def slow(server: KconfProcess) -> Iterator[QuotaAdmin]:
    """A client that can be throttled while the other continues."""
    with QuotaAdmin(server.bootstrap, client_id="slow") as connection:
        yield connection


@contextmanager
def timed() -> Iterator[list[float]]:
    seconds: list[float] = []
    began = time.monotonic()
    yield seconds
    seconds.append(time.monotonic() - began)


def delay(connection: QuotaAdmin) -> int:
    told: int = connection.ask("ListGroups", 3).throttle_time_ms
    return told


def test_no_request_is_read_from_a_throttled_client_until_its_throttle_time_ends(
    admin: QuotaAdmin, slow: QuotaAdmin
) -> None:
    """Setting and removing a quota affects open connections."""
    assert delay(slow) == 0
    admin.set_quotas(SLOW, request_percentage=NEXT_TO_NOTHING)

    told = delay(slow)
    with timed() as next_one:
        delay(slow)

    assert 0 < told <= 1000
    assert next_one[0] >= told / 1000 - 0.05
    assert delay(admin) == 0
    admin.set_quotas(SLOW, request_percentage=None)
    assert delay(slow) == 0
    assert delay(slow) == 0


def test_a_throttled_client_is_answered_at_once(server: KconfProcess, admin: QuotaAdmin) -> None:
    """On a busy machine, only one of many first responses must arrive before its throttle time is over."""
    admin.set_quotas(SLOW, request_percentage=NEXT_TO_NOTHING)

    assert any(_is_early(server) for _ in range(50))


def _is_early(server: KconfProcess) -> bool:
    with QuotaAdmin(server.bootstrap, client_id="slow") as fresh, timed() as first:
        told = delay(fresh)
    return first[0] < told / 1000


def test_a_throttled_connection_is_closed_when_its_server_stops(
    server: KconfProcess, admin: QuotaAdmin, slow: QuotaAdmin
) -> None:
    admin.set_quotas(SLOW, request_percentage=NEXT_TO_NOTHING)
    assert delay(slow) > 0

    assert server.stop() == 0


def requests(name: str) -> dict[str, Any]:
    """The fields of a minimal request."""
    return {
        each.name: () if not each.may_be_null(0) else None for each in fields_of(BY_NAME[name].request) if each.required
    }


THROTTLED = [
    (name, version)
    for name in ("ApiVersions", "Metadata", "DescribeConfigs", "ListGroups", "DescribeClientQuotas", "DescribeCluster")
    for version in range(APIS[BY_NAME[name].key].min, APIS[BY_NAME[name].key].max + 1)
    if any(each.name == "throttle_time_ms" and each.present(version) for each in fields_of(BY_NAME[name].response))
]


def test_every_response_with_the_field_has_the_throttle_time(server: KconfProcess, admin: QuotaAdmin) -> None:
    admin.set_quotas(SLOW, request_percentage=NEXT_TO_NOTHING)
    assert len(THROTTLED) > 20

    for name, version in THROTTLED:
        fields = (
            {"client_software_name": "x", "client_software_version": "1"} if name == "ApiVersions" else requests(name)
        )
        with QuotaAdmin(server.bootstrap, client_id="slow") as fresh:
            answer = fresh.ask(name, version, **fields)
        assert 0 < answer.throttle_time_ms <= 1000, (name, version)
        assert getattr(answer, "error_code", 0) == 0


def test_the_fast_path_of_a_describe_returns_the_throttle_time(server: KconfProcess, admin: QuotaAdmin) -> None:
    admin.create("orders")
    admin.set_quotas(SLOW, request_percentage=NEXT_TO_NOTHING)

    for version in range(BY_NAME["DescribeConfigs"].max + 1):
        plain = admin.describe((TOPIC, "orders"), version=version)
        with QuotaAdmin(server.bootstrap, client_id="slow") as fresh:
            told = fresh.ask("DescribeConfigs", version, resources=[_orders()], include_synonyms=True)
        assert told.throttle_time_ms > 0
        assert list(told.results) == plain


def _orders() -> Any:
    return DescribeConfigsResource(TOPIC, "orders")


def test_mutations_are_refused_in_versions_that_have_the_error_code(admin: QuotaAdmin, slow: QuotaAdmin) -> None:
    """KIP-599: from CreateTopics 6, DeleteTopics 5 and CreatePartitions 3 on. There are eleven windows of a second."""
    admin.set_quotas(SLOW, controller_mutation_rate=1.0)
    with timed() as meanwhile:
        slow.create("bulk", partitions=20)  # 11 tokens, less 20
        answer = slow.ask("CreateTopics", 7, topics=[_topic("more")])

    (refused,) = answer.topics
    assert (refused.error_code, refused.error_message) == (ErrorCode.THROTTLING_QUOTA_EXCEEDED, None)
    assert 9000 - 1000 * meanwhile[0] - 1 <= answer.throttle_time_ms <= 9000


@pytest.mark.parametrize(
    ("api", "fields"),
    [
        ("DeleteTopics", lambda: {"topics": [_doomed("bulk")]}),
        ("CreatePartitions", lambda: {"topics": [_grown("bulk", 21)]}),
    ],
)
def test_deletions_and_growth_are_mutations(admin: QuotaAdmin, slow: QuotaAdmin, api: str, fields: Any) -> None:
    admin.set_quotas(SLOW, controller_mutation_rate=1.0)
    slow.create("bulk", partitions=20)

    answer = slow.ask(api, BY_NAME[api].max, **fields())

    (refused,) = answer.responses if api == "DeleteTopics" else answer.results
    assert refused.error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert answer.throttle_time_ms > 0


def test_older_versions_are_accepted_and_throttled(admin: QuotaAdmin, slow: QuotaAdmin) -> None:
    admin.set_quotas(SLOW, controller_mutation_rate=100.0)

    answer = slow.ask("CreateTopics", 5, topics=[_topic("a", 1100), _topic("b", 50)])

    assert [each.error_code for each in answer.topics] == [0, 0]
    assert 0 < answer.throttle_time_ms <= 500
    with timed() as after:
        delay(slow)
    assert after[0] >= answer.throttle_time_ms / 1000 - 0.05


def test_clients_without_a_mutation_quota_are_not_throttled(admin: QuotaAdmin, slow: QuotaAdmin) -> None:
    admin.set_quotas(SLOW, controller_mutation_rate=1.0)
    slow.create("bulk", partitions=20)

    (made,) = admin.create("other", partitions=100)

    assert made.error_code == 0


def _topic(name: str, partitions: int = 1) -> Any:
    return new_topic(name, partitions, 1)


def _doomed(name: str) -> Any:
    return DeleteTopicState(name)


def _grown(name: str, count: int) -> Any:
    return CreatePartitionsTopic(name, count)


def test_connections_beyond_the_quota_of_an_address_are_closed_unserved(
    server: KconfProcess, admin: QuotaAdmin
) -> None:
    admin.set_quotas({"ip": "127.0.0.1"}, connection_creation_rate=1.0)
    served = 0

    with suppress(ConnectionError):
        while served < 500:  # on a slow machine a few more tokens are added meanwhile
            with QuotaAdmin(server.bootstrap) as fresh:
                delay(fresh)
            served += 1

    assert 5 < served < 500
    assert delay(admin) == 0  # open connections stay open


def test_a_quota_for_a_host_applies_to_its_address(server: KconfProcess, admin: QuotaAdmin) -> None:
    assert admin.set_quotas({"ip": "localhost"}, connection_creation_rate=1.0) == 0

    with pytest.raises(ConnectionError):
        _connect_often(server)


def _connect_often(server: KconfProcess) -> None:
    for _ in range(500):  # on a slow machine a few more tokens are added meanwhile
        with QuotaAdmin(server.bootstrap) as fresh:
            delay(fresh)


def test_metrics_show_who_was_throttled(server: KconfProcess, admin: QuotaAdmin, slow: QuotaAdmin) -> None:
    admin.set_quotas(SLOW, request_percentage=NEXT_TO_NOTHING)
    delay(slow)

    with urlopen(f"{server.metrics_url}") as answer:
        text = answer.read().decode()

    labels = 'client_id="slow",ip="",quota="request_percentage",user=""'
    assert f"kconf_quota_throttles_total{{{labels}}} 1.0" in text
    assert f"kconf_quota_limit{{{labels}}} 1e-06" in text
    assert "kconf_quota_entities 1.0" in text


def test_kafka_python_honors_the_throttle_time(
    server: KconfProcess, admin: QuotaAdmin, caplog: pytest.LogCaptureFixture
) -> None:
    """It waits, and logs that the broker throttled it."""
    admin.set_quotas({"client-id": "python"}, request_percentage=NEXT_TO_NOTHING)

    with caplog.at_level(logging.WARNING, "kafka"):
        client = KafkaAdminClient(bootstrap_servers=server.bootstrap, client_id="python")
        client.list_topics()
        client.close()

    assert "throttled by broker" in caplog.text
