"""What `kconf follow` counts, as Prometheus metrics."""

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
            "kconf_follow_gaps", "Parts of the log that were gone before they were read.", one.gaps
        )
        yield CounterMetricFamily("kconf_follow_records_skipped", "Records that are not understood.", one.skipped)
        yield GaugeMetricFamily("kconf_follow_offset", "The offset after the last record that was read.", one.applied)
        yield GaugeMetricFamily("kconf_follow_lag", "Offsets that are committed and not read yet.", one.lag)
        yield GaugeMetricFamily("kconf_archive_offset", "The offset after the last archived one.", one.archived)
        yield CounterMetricFamily("kconf_archive_segments", "Segments written.", one.segments)
        yield CounterMetricFamily("kconf_archive_failures", "Tries to write the archive that failed.", one.failures)
        yield GaugeMetricFamily("kconf_archive_alarm", "1: the archive cannot be written.", one.alarm is not None)
