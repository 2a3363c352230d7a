"""Broker keys of metrics, telemetry, quotas and configuration providers."""

from __future__ import annotations

from kconf.configdef.define import CLASS, CLUSTER_WIDE, INT, LIST, LONG, LOW, MEDIUM, READ_ONLY, STRING, broker
from kconf.configdef.key import ConfigKey
from kconf.configdef.validators import ANY_LIST, AT_LEAST_0, AT_LEAST_1

# fmt: off
KEYS: tuple[ConfigKey, ...] = (
    broker("client.quota.callback.class", CLASS, None, None, LOW, READ_ONLY, "Plug-in that computes quotas instead of the built-in lookup."),
    broker("config.providers", LIST, "", ANY_LIST, LOW, CLUSTER_WIDE, "Aliases of plug-ins that resolve ${alias:path:key} placeholders in values."),
    broker("kafka.metrics.polling.interval.secs", INT, "10", AT_LEAST_1, LOW, READ_ONLY, "Polling period of the older Yammer metrics reporters, in seconds."),
    broker("kafka.metrics.reporters", LIST, "", ANY_LIST, LOW, READ_ONLY, "Classes of the older Yammer metrics reporters."),
    broker("max.incremental.fetch.session.cache.slots", INT, "1000", AT_LEAST_0, MEDIUM, READ_ONLY, "Maximum number of incremental fetch sessions of a broker."),
    broker("metric.reporters", LIST, "org.apache.kafka.common.metrics.JmxReporter", ANY_LIST, LOW, CLUSTER_WIDE, "Classes that receive the broker's metrics."),
    broker("metrics.num.samples", INT, "2", AT_LEAST_1, LOW, READ_ONLY, "Samples from which a metric is computed."),
    broker("metrics.recording.level", STRING, "INFO", None, LOW, READ_ONLY, "How much detail metrics record: INFO, DEBUG or TRACE."),
    broker("metrics.sample.window.ms", LONG, "30000", AT_LEAST_1, LOW, READ_ONLY, "Time span of one metrics sample."),
    broker("quota.window.num", INT, "11", AT_LEAST_1, LOW, READ_ONLY, "Samples kept for measuring clients against their quotas."),
    broker("quota.window.size.seconds", INT, "1", AT_LEAST_1, LOW, READ_ONLY, "Length of one sample of client usage, in seconds."),
    broker("telemetry.max.bytes", INT, "1048576", AT_LEAST_1, LOW, READ_ONLY, "Largest accepted client metrics payload, compressed."),
)
