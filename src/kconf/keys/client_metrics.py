"""What may be set at a client metrics subscription."""

from __future__ import annotations

from kconf.keys.checks import ANY_LIST, CLIENT_MATCH, between
from kconf.keys.key import Key, Keys
from kconf.keys.shorthand import INT, LIST, by_name

# fmt: off
CLIENT_METRICS: Keys = by_name(
    (
        Key(name="interval.ms", type=INT, default="300000", check=between(100, 3_600_000), about="How often matching clients push their metrics."),
        Key(name="match", type=LIST, default="", check=CLIENT_MATCH, about="Which clients a subscription applies to."),
        Key(name="metrics", type=LIST, default="", check=ANY_LIST, about="Metric name prefixes that matching clients should push."),
    )
)
