"""Checks of combined overrides: cases where the differential tests found differences between kconf and Kafka."""

from __future__ import annotations

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.configdef.releases.catalogs import catalog_of
from kconf.engine.configs.resolver import ConfigResolver
from kconf.engine.configs.validation import check_client_metrics, check_group
from kconf.errors import InvalidConfig, InvalidRequest, KafkaError

KEYS = kafka_43().client_metrics


@pytest.mark.parametrize(
    ("overrides", "error"),
    [
        ({"interval.ms": "x", "no.such.key": "1"}, InvalidRequest),
        ({"interval.ms": "1", "metrics": "a,"}, InvalidConfig),
        ({"interval.ms": "1", "match": "client_id=a,,"}, InvalidConfig),
        ({"match": "client_id=[", "interval.ms": "1"}, InvalidRequest),
        ({"match": "client_id=[", "interval.ms": "x"}, InvalidConfig),
        ({"match": "client_id=[", "interval.ms": "100"}, InvalidConfig),
    ],
)
def test_a_subscription_is_validated_by_names_types_range_and_patterns_in_this_order(
    overrides: dict[str, str], error: type[KafkaError]
) -> None:
    with pytest.raises(error):
        check_client_metrics(overrides, KEYS)


def test_a_subscription_may_name_a_metric_twice() -> None:
    check_client_metrics({"metrics": "a,a", "match": "client_id=a.*,client_id=a.*", "interval.ms": "100"}, KEYS)


def test_a_release_without_streams_groups_compares_the_sessions_and_heartbeats_that_it_has() -> None:
    resolver = ConfigResolver(catalog_of("4.0"), {"group.consumer.min.session.timeout.ms": "100"}, {}, {})

    check_group({"consumer.session.timeout.ms": "50000"}, resolver)
    with pytest.raises(InvalidConfig, match=r"must be above consumer\.heartbeat\.interval\.ms"):
        check_group({"consumer.session.timeout.ms": "4000"}, resolver)
