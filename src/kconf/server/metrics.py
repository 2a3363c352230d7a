"""The HTTP port: Prometheus metrics at /metrics, health at /health.

Values are read when they are scraped. To add a metric, count it in counters.py or in the module that it belongs to, and
yield it in a method of `ServerCollector`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from kconf.server.context import ServerContext
from kconf.server.journal.archiver import Archiver
from kconf.server.listener_config import explain_bind_error
from kconf.server.network.connection_registry import ConnectionRegistry
from kconf.server.quotas.metrics import quota_families
from kconf.store.base import Polling
from kconf.util.http_endpoint import UNHEALTHY, HttpEndpoint
from kconf.version import __version__

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric


class ServerCollector(Collector):
    """Exports all counters of the server as Prometheus metrics."""

    def __init__(self, context: ServerContext, registry: ConnectionRegistry, archiver: Archiver | None) -> None:
        self._context, self._registry, self._archiver = context, registry, archiver

    def collect(self) -> Iterator[Metric]:
        yield from self._requests()
        yield from self._connections()
        yield from self._changes()
        if self._context.upstream is not None:
            yield from self._gateway()
        yield from self._state()
        yield from self._journal()
        yield from quota_families(self._context.quotas)

    def _requests(self) -> Iterator[Metric]:
        counted = self._context.counters
        requests = CounterMetricFamily("kconf_requests", "Requests answered, by API.", labels=["api"])
        by_api = counted.by_api()
        by_api["DescribeConfigs"] = by_api.get("DescribeConfigs", 0) + counted.fast_path
        for api, count in sorted(by_api.items()):
            requests.add_metric([api], count)
        yield requests
        yield CounterMetricFamily(
            "kconf_describe_fast_path",
            "DescribeConfigs requests for all keys of one topic, answered without decoding the request.",
            counted.fast_path,
        )
        yield CounterMetricFamily(
            "kconf_request_failures", "Requests that failed because of an internal error.", counted.failed_requests
        )

    def _connections(self) -> Iterator[Metric]:
        counted, registry = self._context.counters, self._registry
        yield CounterMetricFamily("kconf_connections", "Connections accepted.", counted.connections)
        yield GaugeMetricFamily("kconf_open_connections", "Open connections.", len(registry))
        yield GaugeMetricFamily(
            "kconf_listeners_paused",
            "Listening sockets paused because a limit on connections or open files is reached.",
            registry.paused_listeners,
        )
        yield CounterMetricFamily(
            "kconf_invalid_requests", "Connections closed because of an invalid request.", counted.invalid_requests
        )
        yield CounterMetricFamily(
            "kconf_connections_rejected",
            "Connections rejected because of a limit on connections.",
            counted.rejected_connections,
        )
        yield CounterMetricFamily(
            "kconf_failed_logins", "Failed authentications, including TLS handshakes.", counted.failed_logins
        )
        yield CounterMetricFamily("kconf_failed_handshakes", "Failed TLS handshakes.", counted.failed_handshakes)
        yield CounterMetricFamily(
            "kconf_idle_connections", "Connections closed after connections.max.idle.ms.", counted.idle_connections
        )

    def _changes(self) -> Iterator[Metric]:
        counts = self._context.service.counts
        yield CounterMetricFamily("kconf_commits", "Transactions committed.", counts.commits)
        yield CounterMetricFamily(
            "kconf_failed_commits", "Transactions that the store failed to commit.", counts.failed
        )
        yield CounterMetricFamily("kconf_changes", "Changes committed.", counts.changes)
        yield CounterMetricFamily(
            "kconf_followed_revisions",
            "Revisions committed by other servers or outside kconf.",
            counts.remote_revisions,
        )

    def _gateway(self) -> Iterator[Metric]:
        yield CounterMetricFamily(
            "kconf_outside_revisions",
            "Changes to the cluster that were not made through this gateway.",
            self._context.service.store.outside_revisions,
        )
        yield CounterMetricFamily(
            "kconf_failed_relays",
            "Client connections closed because a broker was unavailable or did not respond.",
            self._context.counters.failed_relays,
        )

    def _state(self) -> Iterator[Metric]:
        service = self._context.service
        store = service.store
        if (polling := store.polling) is not None:
            yield from polling_families(polling)
        yield GaugeMetricFamily(
            "kconf_store_reachable", "1 if the store responds; 0 if not, and reads may be stale.", store.is_reachable
        )
        yield GaugeMetricFamily("kconf_stale", "1 if changes by other servers may be missing.", service.is_stale)
        yield GaugeMetricFamily(
            "kconf_store_faults",
            "Items in the store that cannot be read; their previous values stay in effect.",
            store.faults,
        )
        yield GaugeMetricFamily("kconf_revision", "Last revision that reads show.", service.state.snapshot.revision)
        yield GaugeMetricFamily("kconf_topics", "Topics.", len(service.state.snapshot.topics))

    def _journal(self) -> Iterator[Metric]:
        context = self._context
        yield GaugeMetricFamily(
            "kconf_waiting_readers",
            "Readers that wait for changes. A reader with a filter counts once per resource of the filter.",
            context.feed.waiting_readers,
        )
        yield CounterMetricFamily(
            "kconf_attempts", "Refused requests and dry runs recorded in the audit log.", context.audit_log.written
        )
        yield CounterMetricFamily(
            "kconf_attempts_dropped",
            "Refused requests and dry runs not recorded, because there were too many or the store failed.",
            context.audit_log.dropped,
        )
        if self._archiver is not None:
            yield from archive_families(self._archiver)


def polling_families(polling: Polling) -> Iterator[Metric]:
    """The age of the state of a gateway that polls."""
    yield GaugeMetricFamily(
        "kconf_poll_interval_seconds", "Interval between two polls of the cluster.", polling.interval
    )
    yield GaugeMetricFamily(
        "kconf_poll_age_seconds",
        "Time since the start of the last complete poll. Changes made before that start are visible.",
        -1 if polling.age is None else polling.age,
    )
    yield GaugeMetricFamily(
        "kconf_poll_duration_seconds",
        "Duration of the last complete poll.",
        -1 if polling.duration is None else polling.duration,
    )


def archive_families(archiver: Archiver) -> Iterator[Metric]:
    """The lag of the archive, and whether it can be written."""
    yield GaugeMetricFamily("kconf_archived_revision", "Last archived revision.", archiver.archived)
    yield GaugeMetricFamily(
        "kconf_archive_lag_seconds", "Age of the oldest change that is not archived yet.", archiver.lag
    )
    yield GaugeMetricFamily("kconf_archive_waiting_revisions", "Revisions not archived yet.", archiver.waiting)
    yield GaugeMetricFamily("kconf_archive_alarm", "1 if the archive cannot be written.", archiver.alarm is not None)
    yield CounterMetricFamily("kconf_archive_segments", "Archive segments written.", archiver.segments)
    yield CounterMetricFamily("kconf_archive_failures", "Failed attempts to write the archive.", archiver.failures)


class MetricsServer:
    """Serves /metrics and /health."""

    def __init__(
        self, context: ServerContext, registry: ConnectionRegistry, archiver: Archiver | None, host: str, port: int
    ) -> None:
        self._context, self._archiver, self._host, self._port = context, archiver, host, port
        collectors = CollectorRegistry()
        collectors.register(ServerCollector(context, registry, archiver))
        ProcessCollector(registry=collectors)
        self._endpoint = HttpEndpoint(host, port, lambda: generate_latest(collectors), self._health)

    async def __aenter__(self) -> MetricsServer:
        with explain_bind_error(self._host, self._port):
            await self._endpoint.__aenter__()
        self.port = self._endpoint.port
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._endpoint.__aexit__()

    def _status(self) -> str:
        service = self._context.service
        if service.store.problem is not None:
            return UNHEALTHY
        if service.is_stale:
            return "stale"
        return "ok" if service.writable and service.store.stale_reason is None else "read-only"

    def _upstream(self) -> dict[str, object]:
        """The state of polling on a gateway without controllers, and what it cannot read from the cluster."""
        store = self._context.service.store
        if (polling := store.polling) is None:
            return {}
        unknown = {
            **{kind.word: str(failure) for kind, failure in store.unknown.kinds.items()},
            **{str(resource): str(failure) for resource, failure in store.unknown.resources.items()},
        }
        age = None if polling.age is None else int(polling.age * 1000)
        facts = {"interval_ms": int(polling.interval * 1000), "broker": polling.broker, "age_ms": age}
        return {"polling": facts, "unknown": unknown}

    def _health(self) -> dict[str, object]:
        context, archiver = self._context, self._archiver
        archive = {} if archiver is None else {"archive": archiver.alarm or "ok"}
        problem = context.service.store.problem
        stale = context.service.store.stale_reason
        return {
            "status": self._status(),
            "version": __version__,
            "node": context.node_id,
            "cluster": context.cluster_id,
            "revision": context.service.state.snapshot.revision,
            "store": context.service.store.url,
            "store_faults": context.service.store.faults,
            **({} if problem is None else {"problem": str(problem)}),
            **({} if stale is None else {"stale": stale}),
            **self._upstream(),
            **archive,
        }
