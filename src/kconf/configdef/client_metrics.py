"""The keys of a client metrics subscription."""

from __future__ import annotations

from kconf.configdef.define import INT, LIST, config_def
from kconf.configdef.key import ConfigDef, ConfigKey
from kconf.configdef.validators import ANY_LIST, CLIENT_MATCH, between

# fmt: off
CLIENT_METRICS: ConfigDef = config_def(
    (
        ConfigKey(name="interval.ms", type=INT, default="300000", validator=between(100, 3_600_000), about="How often matching clients push their metrics."),
        ConfigKey(name="match", type=LIST, default="", validator=CLIENT_MATCH, about="Which clients a subscription applies to."),
        ConfigKey(name="metrics", type=LIST, default="", validator=ANY_LIST, about="Metric name prefixes that matching clients should push."),
    )
)
