"""Amounts as people write them: 7d, 1GiB, 0.5.

A key's name tells its unit (`.ms`, `.hours`, `.bytes`); an amount with a unit is converted into it, one without is
taken as it stands. The retention keys call -1 "no limit", and rules take it as that: above every other amount.
"""

from __future__ import annotations

import re
from typing import Final

from kconf.configdef.key import ConfigKey
from kconf.configdef.parsing import InvalidValue, Value, parse
from kconf.model.entry import ValueType

NUMBERS: Final = frozenset([ValueType.INT, ValueType.SHORT, ValueType.LONG, ValueType.DOUBLE])

TIMES: Final = {
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
}
SIZES: Final = {
    "B": 1,
    **{prefix + "B": 1000**power for power, prefix in enumerate(("k", "M", "G", "T"), 1)},
    "KB": 1000,
    **{prefix + "iB": 1024**power for power, prefix in enumerate(("K", "M", "G", "T"), 1)},
}
_KEY_TIMES: Final = {"ms": 1, "seconds": 1000, "minutes": 60_000, "hours": 3_600_000}

UNLIMITED: Final = frozenset(
    prefix + name
    for prefix, names in (
        ("", ("retention.ms", "retention.bytes", "local.retention.ms", "local.retention.bytes")),
        ("log.", ("retention.ms", "retention.minutes", "retention.hours", "retention.bytes")),
        ("log.local.", ("retention.ms", "retention.bytes")),
    )
    for name in names
)
"""The keys that say "no limit" with -1."""

FOLLOWS: Final = {
    "local.retention.ms": "retention.ms",
    "local.retention.bytes": "retention.bytes",
    "log.local.retention.ms": "log.retention.ms",
    "log.local.retention.bytes": "log.retention.bytes",
}
"""The keys that say "as much as that other key" with -2."""


def unit_of(name: str) -> tuple[str, int] | None:
    """("time", milliseconds in one) or ("size", 1), or None where a key counts something else."""
    words = name.split(".")
    if words[-1] in _KEY_TIMES:
        return "time", _KEY_TIMES[words[-1]]
    if "bytes" in words or name.endswith(("buffer.size", "throttled.rate", "byte_rate")):
        return "size", 1
    return None


def read_amount(key: ConfigKey, text: str) -> Value:
    """The value that a text means for a numeric key, in the key's own unit; `InvalidValue` says why not."""
    text = text.strip()
    if text == "unlimited":
        if key.name not in UNLIMITED:
            raise InvalidValue(f"{key.name} has no value for unlimited")
        return parse(key.type, "-1")
    match = re.fullmatch(r"([+-]?[0-9]+(?:\.[0-9]+)?) ?([A-Za-z]+)", text)
    if match is None or key.type not in NUMBERS:
        return parse(key.type, text)
    number, word = match.groups()
    return _converted(key, number, word)


def _converted(key: ConfigKey, number: str, word: str) -> Value:
    unit = unit_of(key.name)
    if unit is None:
        raise InvalidValue(f"{key.name} has no unit: write the number alone")
    kind, one = unit
    factors = TIMES if kind == "time" else SIZES
    if word not in factors:
        hint = f"; {word} could be {word}B (1000s) or {word}iB (1024s)" if kind == "size" and word in "KMGT" else ""
        raise InvalidValue(f"{key.name} is a {kind}: its units are {', '.join(factors)}{hint}")
    whole, _, fraction = number.partition(".")
    scaled = int(whole + fraction) * factors[word]
    amount, rest = divmod(scaled, one * 10 ** len(fraction))
    if rest:
        raise InvalidValue(f"{number}{word} is no whole number of what {key.name} counts")
    return parse(key.type, str(amount))
