"""The age at which segments roll: with 0 a broker could not start again."""

from __future__ import annotations

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.engine.configs.broker_validation import check_broker
from kconf.engine.configs.resolver import ConfigResolver
from kconf.errors import InvalidRequest


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize(("name", "value"), [("log.roll.ms", "0"), ("log.roll.ms", "-1"), ("log.roll.jitter.ms", "-1")])
def test_a_broker_value_that_would_roll_segments_immediately_is_refused(
    name: str, value: str, everywhere: bool
) -> None:
    """As in Kafka 4.3.1: neither key has a limit by definition, but the whole configuration is checked."""
    resolver = ConfigResolver(kafka_43(), {}, {}, {})

    with pytest.raises(InvalidRequest, match=name):
        check_broker(resolver, {name: value}, {}, everywhere=everywhere)


@pytest.mark.parametrize(("name", "value"), [("log.roll.ms", "1"), ("log.roll.jitter.ms", "0")])
def test_the_lowest_valid_roll_time_is_accepted(name: str, value: str) -> None:
    check_broker(ConfigResolver(kafka_43(), {}, {}, {}), {name: value}, {}, everywhere=True)
