"""Replaces the server of tests/real_clients with a gateway; test_gateway_clients.py is the part that always runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.broker import KafkaBroker
from tests.cli.commands.scenarios import a_name
from tests.real_clients.conftest import STATIC
from tests.support.process import KconfProcess

OF_KCONF = (
    "test_logger_levels_are_described_and_set",  # the loggers have other names
    "test_a_reader_of_changes_continues_where_it_stopped",  # revisions are offsets, with gaps
    "test_a_resource_is_described_as_of_a_revision",
    "test_aiokafka_reconnects_to_a_restarted_server",  # the cluster has other topics
)
OF_43 = (
    "test_sensitive_values_of_a_broker_are_hidden",
    "test_a_created_topic_is_answered_with_its_id_and_its_whole_configuration",
    "test_a_topics_entries_have_values_sources_and_synonyms",
    "test_a_topics_entries_have_values_sources_types_and_synonyms",
    "test_groups_and_client_metrics_are_altered_described_and_listed",
    "test_groups_are_altered_and_described",
)
"""They count the keys of 4.3, or need configs that 3.9 does not have."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in tuple(items):
        if item.path.is_relative_to(here):
            if item.get_closest_marker("faults") is None:
                item.add_marker(pytest.mark.full)
            name = item.name.partition("[")[0]
            if name in OF_KCONF or (name in OF_43 and "[3.9.2" in item.name):
                items.remove(item)


@pytest.fixture(scope="session", params=["4.3.1", "3.9.2"])
def behind(request: pytest.FixtureRequest) -> Iterator[KafkaBroker]:
    with KafkaBroker(request.param, properties=STATIC) as broker:
        yield broker


@pytest.fixture(scope="module")
def server(behind: KafkaBroker) -> Iterator[KconfProcess]:
    args = ("--upstream", behind.bootstrap, "--controllers", behind.address("CONTROLLER"))
    with KconfProcess(args=args) as process:
        yield process


@pytest.fixture
def own_server(server: KconfProcess) -> KconfProcess:
    """A server for tests that restore the brokers afterwards."""
    return server


@pytest.fixture
def topic() -> str:
    """The tests of all clients share a cluster."""
    return a_name("client")
