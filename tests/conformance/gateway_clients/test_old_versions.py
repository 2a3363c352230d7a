"""See tests/real_clients/test_old_versions.py. A gateway has the versions that both kconf and the brokers have."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kconf.protocol.apis import BY_NAME
from kconf.protocol.messages.offset_fetch import OffsetFetchRequestGroup
from tests.real_clients import test_old_versions as scenarios
from tests.support.admin import Admin
from tests.support.process import KconfProcess

OF_KCONF = {
    "test_every_version_of_every_api_is_answered",  # here: every version that is advertised
    "test_all_versions_of_api_versions_return_the_same",  # they are those of kconf
    "test_a_broker_shows_the_listener_on_which_it_listens",  # it is that of the broker
    "test_a_dry_run_returns_a_topic_id_that_no_topic_gets",  # it is that of the broker
    "test_deleting_topics_while_deletion_is_disabled_has_an_older_code_before_v3",  # starts a server
    "test_list_config_resources_v0_lists_client_metrics_only",  # of a new cluster
}
globals().update(
    {name: each for name, each in vars(scenarios).items() if not name.startswith("__") and name not in OF_KCONF}
)

HARMLESS = scenarios.HARMLESS | {"OffsetFetch": {"group_id": "g", "groups": (OffsetFetchRequestGroup("g"),)}}
"""Kafka 3.9 closes the connection after an OffsetFetch without groups."""


@pytest.fixture
def admin(server: KconfProcess) -> Iterator[Admin]:
    with Admin(server.bootstrap) as connection:
        yield connection


def test_every_advertised_version_of_every_api_is_answered(admin: Admin) -> None:
    served = {each.api_key: each for each in admin.ask("ApiVersions", 4, **HARMLESS["ApiVersions"]).api_keys}
    assert {0, 1} <= served.keys()
    assert not {21, 41, 45} & served.keys()  # always refused
    for name, fields in HARMLESS.items():
        api = BY_NAME[name]
        if api.key in served:
            for version in range(served[api.key].min_version, min(served[api.key].max_version, api.max) + 1):
                assert isinstance(admin.ask(name, version, **fields), api.response)
