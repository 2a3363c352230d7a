"""Exports the sensors of the quota manager as Prometheus metrics.

The number of labels is bounded: the entities with the longest throttle times have their own, the others are summed up.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nlargest
from typing import TYPE_CHECKING, Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from kconf.server.quotas.manager import QuotaManager, Sensor, SensorKey, Sensors

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

MAX_LABELED: Final = 100  # entities per quota
_LABELS: Final = ["quota", "user", "client_id", "ip"]


def quota_families(quotas: QuotaManager) -> Iterator[Metric]:
    throttles = CounterMetricFamily("kconf_quota_throttles", "Throttled requests and connections.", labels=_LABELS)
    waited = CounterMetricFamily(
        "kconf_quota_throttle_seconds", "Total throttle time of requests and connections.", labels=_LABELS
    )
    usage = GaugeMetricFamily(
        "kconf_quota_usage",
        "Current usage: percent of a thread (request_percentage), connections per second (connection_creation_rate), "
        "or how far the token bucket is below zero (controller_mutation_rate).",
        labels=_LABELS,
    )
    limits = GaugeMetricFamily("kconf_quota_limit", "The quota that applies.", labels=_LABELS)
    for name, sensors in quotas.sensors.items():
        labeled = _labeled(sensors)
        for key, sensor in labeled.items():
            labels = _labels(name, key)
            throttles.add_metric(labels, sensor.throttles)
            waited.add_metric(labels, sensor.throttled_ms / 1000)
            usage.add_metric(labels, quotas.usage(sensor))
            limits.add_metric(labels, sensor.limit)
        others = [sensor for key, sensor in sensors.items() if key not in labeled]
        labels = [name, "(others)", "(others)", "(others)"]
        throttles.add_metric(labels, sensors.throttles + sum(each.throttles for each in others))
        waited.add_metric(labels, (sensors.throttled_ms + sum(each.throttled_ms for each in others)) / 1000)
    yield throttles
    yield waited
    yield usage
    yield limits
    yield GaugeMetricFamily("kconf_quota_entities", "Entities with a quota.", len(quotas.index))


def _labeled(sensors: Sensors[Any]) -> dict[SensorKey, Sensor[Any]]:
    return dict(nlargest(MAX_LABELED, sensors.items(), key=lambda item: item[1].throttled_ms))


def _labels(quota: str, key: SensorKey) -> list[str]:
    if quota == "connection_creation_rate":
        return [quota, "", "", key[0] or ""]
    return [quota, key[0] or "", key[1] or "", ""]
