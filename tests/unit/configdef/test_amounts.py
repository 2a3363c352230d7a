from __future__ import annotations

import pytest

from kconf.configdef.java.parsing import InvalidValue, Value
from kconf.configdef.key import ConfigKey
from kconf.configdef.units import read_amount, unit_of
from kconf.model.entry import ValueType


def read(name: str, text: str, type_: ValueType = ValueType.LONG) -> Value:
    return read_amount(ConfigKey(name=name, type=type_), text)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("x.ms", "250", 250),
        ("x.ms", "250ms", 250),
        ("x.ms", "2s", 2000),
        ("x.ms", "5m", 300_000),
        ("x.ms", "5min", 300_000),
        ("x.ms", "1.5h", 5_400_000),
        ("x.ms", "7d", 604_800_000),
        ("x.ms", "2 w", 1_209_600_000),
        ("x.hours", "7d", 168),
        ("x.minutes", "1h", 60),
        ("x.seconds", "1m", 60),
        ("x.bytes", "10B", 10),
        ("x.bytes", "1kB", 1000),
        ("x.bytes", "1KB", 1000),
        ("x.bytes", "1KiB", 1024),
        ("x.bytes", "1.5MiB", 1_572_864),
        ("x.bytes", "2GB", 2_000_000_000),
        ("x.bytes", "1TiB", 1 << 40),
        ("io.buffer.size", "4KiB", 4096),
        ("leader.replication.throttled.rate", "10MB", 10_000_000),
        ("x.io.max.bytes.per.second", "1MB", 1_000_000),
        ("retention.ms", "unlimited", -1),
        ("count", "-3", -3),
    ],
)
def test_an_amount_is_converted_to_the_unit_of_its_key(name: str, text: str, value: int) -> None:
    assert read(name, text) == value


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("x.ms", "7x", "units are ms, s"),
        ("x.ms", "1GiB", "is a time"),
        ("x.bytes", "7d", "is a size"),
        ("x.bytes", "1G", r"G could be GB \(1000s\) or GiB \(1024s\)"),
        ("x.hours", "90m", "not a whole number"),
        ("x.ms", "0.5", "expected an integer"),
        ("x.ms", "1_000", "expected an integer"),
        ("count", "7d", "has no unit"),
        ("count", "unlimited", "no value that means unlimited"),
        ("x.ms", "99999999999999d", "integer of type LONG"),
        ("x.ms", "", "expected an integer"),
    ],
)
def test_an_invalid_amount_is_refused_with_the_reason(name: str, text: str, reason: str) -> None:
    with pytest.raises(InvalidValue, match=reason):
        read(name, text)


def test_a_ratio_has_no_unit() -> None:
    assert read("ratio", "0.25", ValueType.DOUBLE) == 0.25
    assert unit_of("min.cleanable.dirty.ratio") is None
    assert unit_of("remote.log.manager.thread.pool.size") is None
