"""Checks of combined overrides: cases where the differential tests found differences between kconf and Kafka."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.configdef.key import ConfigKey
from kconf.configdef.releases.catalogs import catalog_of
from kconf.configdef.validators import between
from kconf.engine.configs import validation
from kconf.engine.configs.resolver import ConfigResolver
from kconf.engine.configs.validation import check_client_metrics, check_group, check_topic
from kconf.errors import InvalidConfig, InvalidRequest, KafkaError
from kconf.model.entry import ValueType

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


def test_session_and_heartbeat_are_compared_in_a_release_without_streams_groups() -> None:
    resolver = ConfigResolver(catalog_of("4.0"), {"group.consumer.min.session.timeout.ms": "100"}, {}, {})

    check_group({"consumer.session.timeout.ms": "50000"}, resolver)
    with pytest.raises(InvalidConfig, match=r"must be above consumer\.heartbeat\.interval\.ms"):
        check_group({"consumer.session.timeout.ms": "4000"}, resolver)


def test_a_value_that_is_valid_in_one_release_is_checked_again_for_another() -> None:
    newer = kafka_43()
    stricter = replace(newer.topic["segment.ms"], validator=between(1000))
    older = replace(newer, topic={**newer.topic, "segment.ms": stricter})

    check_topic({"segment.ms": "500"}, {}, ConfigResolver(newer, {}, {}, {}))
    for _ in range(2):
        with pytest.raises(InvalidConfig, match="must be at least 1000"):
            check_topic({"segment.ms": "500"}, {}, ConfigResolver(older, {}, {}, {}))
    check_topic({"segment.ms": "500"}, {}, ConfigResolver(newer, {}, {}, {}))


def test_only_a_limited_number_of_short_valid_values_is_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise clients could fill the memory."""
    remembered: dict[tuple[str, str], object] = {}
    monkeypatch.setattr(validation, "_valid", remembered)
    resolver = ConfigResolver(kafka_43(), {}, {}, {})

    for number in range(1, 10_000):
        check_topic({"segment.ms": str(number)}, {}, resolver)
    check_topic({"leader.replication.throttled.replicas": ",".join(f"{n}:{n}" for n in range(100))}, {}, resolver)

    assert 0 < len(remembered) <= 4096
    assert max(len(text) for _, text in remembered) <= 64


def test_values_of_secret_keys_are_not_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vendor can define secret keys of topics."""
    remembered: dict[tuple[str, str], object] = {}
    monkeypatch.setattr(validation, "_valid", remembered)
    catalog = kafka_43()
    secret = ConfigKey(name="vendor.key", type=ValueType.STRING, default=None, secret=True)
    resolver = ConfigResolver(replace(catalog, topic={**catalog.topic, "vendor.key": secret}), {}, {}, {})

    check_topic({"vendor.key": "s3cret", "segment.ms": "1"}, {}, resolver)

    assert remembered.keys() == {("segment.ms", "1")}
