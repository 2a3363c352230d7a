"""What the quota manager measures, in Prometheus' words.

Entities come and go, and a label is for ever: those that were made to wait longest are named, the others are summed.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nlargest
from typing import TYPE_CHECKING, Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from kconf.server.quotas.manager import Measured, Measures, QuotaManager, Who

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

MOST_NAMED: Final = 100  # entities of one quota
_LABELS: Final = ["quota", "user", "client_id", "ip"]


def quota_families(quotas: QuotaManager) -> Iterator[Metric]:
    throttles = CounterMetricFamily("kconf_quota_throttles", "Requests and connections made to wait.", labels=_LABELS)
    waited = CounterMetricFamily(
        "kconf_quota_throttle_seconds", "Time that requests and connections were made to wait.", labels=_LABELS
    )
    usage = GaugeMetricFamily(
        "kconf_quota_usage", "Use now: percent of a thread, connections a second, or tokens owed.", labels=_LABELS
    )
    limits = GaugeMetricFamily("kconf_quota_limit", "The quota that holds.", labels=_LABELS)
    for name, measures in quotas.measures.items():
        named = _named(measures)
        for who, measured in named.items():
            labels = _labels(name, who)
            throttles.add_metric(labels, measured.throttles)
            waited.add_metric(labels, measured.throttled_ms / 1000)
            usage.add_metric(labels, quotas.use(measured))
            limits.add_metric(labels, measured.limit)
        others = [measured for who, measured in measures.items() if who not in named]
        labels = [name, "(others)", "(others)", "(others)"]
        throttles.add_metric(labels, measures.throttles + sum(each.throttles for each in others))
        waited.add_metric(labels, (measures.throttled_ms + sum(each.throttled_ms for each in others)) / 1000)
    yield throttles
    yield waited
    yield usage
    yield limits
    yield GaugeMetricFamily("kconf_quota_entities", "Entities that have a quota.", len(quotas.index))


def _named(measures: Measures[Any]) -> dict[Who, Measured[Any]]:
    return dict(nlargest(MOST_NAMED, measures.items(), key=lambda item: item[1].throttled_ms))


def _labels(quota: str, who: Who) -> list[str]:
    if quota == "connection_creation_rate":
        return [quota, "", "", who[0] or ""]
    return [quota, who[0] or "", who[1] or "", ""]
