"""The Prometheus metrics of `kconf pipeline follow`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from kconf.spark.following.follower import PipelineFollower
    from kconf.spark.following.sessions import SparkSessions


class PipelineCollector(Collector):
    def __init__(self, follower: PipelineFollower, sessions: SparkSessions) -> None:
        self._follower, self._sessions = follower, sessions

    def collect(self) -> Iterator[Metric]:
        one, counts = self._follower, self._follower.counts
        yield CounterMetricFamily("kconf_pipeline_rounds", "Rounds of reading that finished.", counts.rounds)
        yield CounterMetricFamily("kconf_pipeline_runs", "Runs that changed tables.", counts.runs)
        yield CounterMetricFamily("kconf_pipeline_failures", "Steps that failed and were retried.", counts.failures)
        rows = CounterMetricFamily("kconf_pipeline_rows", "Rows added to bronze tables.", labels=["kind"])
        for kind, count in counts.read.items():
            rows.add_metric([kind], count)
        yield rows
        yield CounterMetricFamily("kconf_pipeline_compactions", "Compactions.", counts.compactions)
        yield CounterMetricFamily("kconf_pipeline_vacuums", "Vacuums.", counts.vacuums)
        yield CounterMetricFamily(
            "kconf_pipeline_session_restarts", "Spark sessions replaced because their JVM had ended.", self._restarts
        )
        yield GaugeMetricFamily("kconf_pipeline_run", "Number of the last finished run; 0: none.", one.last_run or 0)
        yield GaugeMetricFamily(
            "kconf_pipeline_behind_seconds", "Seconds by which the lake is behind its sources.", one.behind
        )
        yield GaugeMetricFamily("kconf_pipeline_round_seconds", "Duration of the last round.", one.round_seconds)
        yield GaugeMetricFamily("kconf_pipeline_alarm", "1 if the last step failed.", one.alarm is not None)
        yield GaugeMetricFamily(
            "kconf_pipeline_unreachable_clusters",
            "Clusters whose last snapshot failed.",
            sum(each.alarm is not None for each in one.clusters.values()),
        )
        yield self._successes()
        yield from self._feeds()

    def _successes(self) -> Metric:
        found = GaugeMetricFamily(
            "kconf_pipeline_source_last_success_timestamp_seconds",
            "When a server or a live cluster was last read; 0: never.",
            labels=["source"],
        )
        for each in self._follower.sources:
            age = None if each.succeeded is None else self._follower.seconds_since(each.succeeded)
            found.add_metric([each.name], 0 if age is None else time.time() - age)
        return found

    def _feeds(self) -> Iterator[Metric]:
        counters = {
            "changes": CounterMetricFamily("kconf_feed_changes", "Changes copied from a server.", labels=["server"]),
            "gaps": CounterMetricFamily(
                "kconf_feed_gaps", "Parts of a journal deleted before they were copied.", labels=["server"]
            ),
            "failures": CounterMetricFamily("kconf_feed_failures", "Failed attempts to copy.", labels=["server"]),
        }
        alarms = GaugeMetricFamily("kconf_feed_alarm", "1 if a server's journal cannot be copied.", labels=["server"])
        for feed in self._follower.feeds:
            for name, metric in counters.items():
                metric.add_metric([feed.name], getattr(feed, name))
            alarms.add_metric([feed.name], feed.alarm is not None)
        yield from counters.values()
        yield alarms

    @property
    def _restarts(self) -> int:
        return self._sessions.restarts
