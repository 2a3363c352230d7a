"""The console on a real Kafka: by polling, by following the metadata log, and through a gateway."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from starlette.testclient import TestClient

from kconf import AlterConfigOp, NewTopic, OpType, Resource, SyncAdminClient
from kconf.client.contexts.context import Context
from kconf.console.app import create_app
from kconf.console.console import Console
from kconf.console.settings import ConsoleSettings, ListenAddress
from kconf.operations.target import Target
from lab.broker import KafkaBroker
from tests.support.process import KconfProcess

JSON = {"accept": "application/json"}
PATIENCE = 60.0


@pytest.fixture(scope="module")
def topic(kafka_431: KafkaBroker) -> str:
    name = f"console-{uuid4().hex[:8]}"
    with SyncAdminClient(kafka_431.bootstrap) as admin:
        admin.create_topics([NewTopic(name, 3, 1, configs=[("retention.ms", "3600000")])]).raise_for_failures()
    return name


@pytest.fixture(scope="module")
def browser(kafka_431: KafkaBroker, topic: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A console with three contexts of one cluster: polled, followed, and through a gateway."""
    journal: Path = tmp_path_factory.mktemp("journal")
    upstream = ("--upstream", kafka_431.bootstrap, "--controllers", kafka_431.address("CONTROLLER"))
    with KconfProcess(args=upstream) as gateway:
        yield from _served(kafka_431, gateway, journal)


def _served(kafka_431: KafkaBroker, gateway: KconfProcess, journal: Path) -> Iterator[TestClient]:
    contexts = [
        Context("gateway", gateway.bootstrap),
        Context("polled", kafka_431.bootstrap, journal=str(journal)),
        Context("followed", kafka_431.bootstrap, controllers=kafka_431.address("CONTROLLER")),
    ]
    settings = ConsoleSettings(ListenAddress("127.0.0.1", 8080), [Target(each) for each in contexts], interval=1.0)
    with Console(settings) as console:
        yield TestClient(create_app(console), base_url="http://127.0.0.1:8080")


def get(browser: TestClient, path: str, until: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """A page as JSON, after waiting for a condition."""
    end = time.monotonic() + PATIENCE
    while True:
        response = browser.get(path, headers=JSON)
        found: dict[str, Any] = response.json()
        if response.status_code == 200 and until(found):
            return found
        assert time.monotonic() < end, found
        time.sleep(0.1)


@pytest.mark.parametrize("context", ["polled", "followed", "gateway"])
def test_topics_and_their_values_are_those_of_the_cluster(browser: TestClient, topic: str, context: str) -> None:
    page = get(browser, f"/{context}/topics?q={topic}+retention.ms=1h", lambda found: found["rows"])
    assert page["state"]["feed"] == {"polled": "polled", "followed": "log", "gateway": "live"}[context]
    assert [(each["name"], each["cells"][:4]) for each in page["rows"]] == [(topic, ["3", "1", "1h", "delete"])]


def test_a_key_has_the_whole_precedence_that_the_broker_knows(browser: TestClient, topic: str) -> None:
    page = get(browser, f"/polled/topic/{topic}", lambda found: found["keys"])
    keys = {each["name"]: each for each in page["keys"]}
    assert page["keys"][0]["name"] == "retention.ms"
    assert [(each["source"], each["key"], each["shown"]) for each in keys["retention.ms"]["precedence"]] == [
        ("topic", "retention.ms", "1h"),
        ("default", "log.retention.hours", "7d"),
    ]


def test_a_change_by_another_tool_arrives_by_the_log_without_an_author(
    browser: TestClient, kafka_431: KafkaBroker, topic: str
) -> None:
    get(browser, f"/followed/topic/{topic}", lambda found: found["source"] == "log")
    with SyncAdminClient(kafka_431.bootstrap) as admin:
        wish = {Resource.topic(topic): [AlterConfigOp(OpType.SET, "segment.ms", "3600000")]}
        admin.incremental_alter_configs(wish).raise_for_failures()
    page = get(browser, f"/followed/topic/{topic}", lambda found: found["changes"])
    key = next(each for each in page["keys"] if each["name"] == "segment.ms")
    assert (key["shown"], key["author"]["who"]) == ("1h", "unknown: not recorded")
    assert (page["changes"][0]["key"], page["changes"][0]["who"]) == ("segment.ms", "unknown: not recorded")


def test_the_clusters_are_kafka_and_every_list_can_be_read(browser: TestClient) -> None:
    page = get(browser, "/", lambda found: all(each["status"] == "reachable" for each in found["clusters"]))
    assert [each["product"] for each in page["clusters"]] == ["kconf (Kafka 4.3)", "Kafka 4.3", "Kafka 4.3"]
    for word in ("topics", "brokers", "groups", "users"):
        assert browser.get(f"/followed/{word}").status_code == 200
