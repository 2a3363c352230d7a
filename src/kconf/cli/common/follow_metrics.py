"""The Prometheus metrics of `kconf follow`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from kconf.operations.metadata_log.follow import LogArchiver


class FollowCollector(Collector):
    def __init__(self, archiver: LogArchiver) -> None:
        self._archiver = archiver

    def collect(self) -> Iterator[Metric]:
        one = self._archiver
        yield CounterMetricFamily("kconf_follow_changes", "Changes read from the metadata log.", one.changes)
        yield CounterMetricFamily(
            "kconf_follow_gaps", "Parts of the metadata log deleted before they were read.", one.gaps
        )
        yield CounterMetricFamily("kconf_follow_records_skipped", "Records of unknown type.", one.skipped)
        yield GaugeMetricFamily("kconf_follow_offset", "Offset after the last record read.", one.applied)
        yield GaugeMetricFamily("kconf_follow_lag", "Committed offsets not read yet.", one.lag)
        yield GaugeMetricFamily("kconf_archive_offset", "Offset after the last archived record.", one.archived)
        yield CounterMetricFamily("kconf_archive_segments", "Archive segments written.", one.segments)
        yield CounterMetricFamily("kconf_archive_failures", "Failed attempts to write the archive.", one.failures)
        yield GaugeMetricFamily("kconf_archive_alarm", "1 if the archive cannot be written.", one.alarm is not None)
