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
    "test_a_producer_is_refused_or_loses_its_connection[3.9.2-12]",
    "test_describe_configs_v0_marks_defaults",
    "test_in_metadata_from_v1_null_means_all_topics_and_an_empty_list_none",
)
"""They count the keys of 4.3, or need configs or versions that 3.9 does not have."""
OF_39 = (
    "test_a_producer_is_refused_or_loses_its_connection[4.3.1-2]",
    "test_create_topics_v0_returns_only_an_error_code",
    "test_create_topics_v1_has_validate_only_and_a_message",
    "test_create_topics_returns_the_configs_from_v5_and_the_id_from_v7",
    "test_describe_configs_v0_marks_defaults",
    "test_describe_configs_v0_hides_sensitive_values",
    "test_describe_configs_gains_sources_in_v1_and_types_and_documentation_in_v3",
    "test_delete_topics_works_in_every_version[4.3.1-0]",
)
"""They need versions that Kafka 4.0 removed."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in tuple(items):
        if item.path.is_relative_to(here):
            if item.get_closest_marker("faults") is None:
                item.add_marker(pytest.mark.full)
            name = item.name.partition("[")[0]
            left_out = OF_KCONF + (OF_43 if "[3.9.2" in item.name else OF_39)
            if name in left_out or item.name in left_out:
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
