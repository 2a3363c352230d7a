"""Parses and prints amounts with units: 7d, 1GiB, 0.5.

The unit of a key follows from its name (`.ms`, `.hours`, `.bytes`). An amount with a unit is converted to it; one
without a unit is not changed. For retention keys, -1 means "no limit", and rules treat it as greater than any other
amount. Only whole multiples are displayed with a unit, so that the displayed value can be parsed to the same value.
"""

from __future__ import annotations

import re
from typing import Final

from kconf.configdef.java.parsing import InvalidValue, Value, parse, render
from kconf.configdef.key import ConfigKey
from kconf.errors import ConfigurationError
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

MINUS_ONE_IS_UNLIMITED: Final = frozenset(
    prefix + name
    for prefix, names in (
        ("", ("retention.ms", "retention.bytes", "local.retention.ms", "local.retention.bytes")),
        ("log.", ("retention.ms", "retention.minutes", "retention.hours", "retention.bytes")),
        ("log.local.", ("retention.ms", "retention.bytes")),
    )
    for name in names
)
"""Keys for which -1 means "no limit"."""

FOLLOWS: Final = {
    "local.retention.ms": "retention.ms",
    "local.retention.bytes": "retention.bytes",
    "log.local.retention.ms": "log.retention.ms",
    "log.local.retention.bytes": "log.retention.bytes",
}
"""Keys for which -2 means "the value of that other key"."""


def unit_of(name: str) -> tuple[str, int] | None:
    """The unit of a key: ("time", milliseconds per unit), ("size", 1), or None for other numbers."""
    words = name.split(".")
    if words[-1] in _KEY_TIMES:
        return "time", _KEY_TIMES[words[-1]]
    if "bytes" in words or name.endswith(("buffer.size", "throttled.rate", "byte_rate")):
        return "size", 1
    return None


def read_amount(key: ConfigKey, text: str) -> Value:
    """Parse an amount for a numeric key, in the key's unit. Raises InvalidValue."""
    text = text.strip()
    if text == "unlimited":
        if key.name not in MINUS_ONE_IS_UNLIMITED:
            raise InvalidValue(f"{key.name} has no value that means unlimited")
        return parse(key.type, "-1")
    match = re.fullmatch(r"([+-]?[0-9]+(?:\.[0-9]+)?) ?([A-Za-z]+)", text)
    if match is None or key.type not in NUMBERS:
        return parse(key.type, text)
    number, word = match.groups()
    return _converted(key, number, word)


def _converted(key: ConfigKey, number: str, word: str) -> Value:
    unit = unit_of(key.name)
    if unit is None:
        raise InvalidValue(f"{key.name} has no unit: pass the number alone")
    kind, one = unit
    factors = TIMES if kind == "time" else SIZES
    if word not in factors:
        hint = f"; {word} could be {word}B (1000s) or {word}iB (1024s)" if kind == "size" and word in "KMGT" else ""
        raise InvalidValue(f"{key.name} is a {kind}: its units are {', '.join(factors)}{hint}")
    whole, _, fraction = number.partition(".")
    scaled = int(whole + fraction) * factors[word]
    amount, rest = divmod(scaled, one * 10 ** len(fraction))
    if rest:
        raise InvalidValue(f"{number}{word} is not a whole number in the unit of {key.name}")
    return parse(key.type, str(amount))


# -- values on the command line and in tables -----------------------------------------------------------------------

_DISPLAY_TIMES: Final = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1))
_DISPLAY_SIZES: Final = (
    *((f"{prefix}iB", 1024**power) for power, prefix in ((4, "T"), (3, "G"), (2, "M"), (1, "K"))),
    *((f"{prefix}B", 1000**power) for power, prefix in ((4, "T"), (3, "G"), (2, "M"))),
)


def raw_value(key: ConfigKey | None, text: str) -> str:
    """A value with or without a unit, as in Kafka's protocol. The value of an unknown key is not changed."""
    if key is None or key.type not in NUMBERS:
        return text
    if not any(character.isalpha() for character in text):
        return text
    if text.strip() == _as_another(key.name):
        return "-2"
    if not _is_amount(text) and text.strip() != "unlimited":
        raise ConfigurationError(f"{key.name}: {text!r} is not a number{_units_of(key.name)}")
    try:
        return render(key.type, read_amount(key, text))
    except InvalidValue as error:
        message = str(error)
        raise ConfigurationError(message if key.name in message else f"{key.name}: {message}") from None


def _is_amount(text: str) -> bool:
    """Whether a text may be a number with a unit. `1MB/s` is not."""
    return any(each.isdigit() for each in text) and all(each.isalnum() or each in " ._+-" for each in text)


def _units_of(name: str) -> str:
    match unit_of(name):
        case ("time", _):
            return "; try 7d, 12h or 500ms"
        case ("size", _):
            return "; try 1GiB or 500kB"
        case _:
            return ""


def shown_value(name: str, raw: str | None) -> str:
    """A value for a table, with a unit if it is a whole multiple. Empty if it is not set."""
    if raw is None:
        return ""
    unit = unit_of(name)
    if unit is None or not raw.lstrip("-").isdigit():
        return raw
    number = int(raw)
    if number <= 0:
        return _special(name, number, raw)
    kind, one = unit
    if kind == "size":
        return next((f"{number // each}{word}" for word, each in _DISPLAY_SIZES if number % each == 0), raw)
    if number >= 2**53:  # Java's Long.MAX_VALUE means no limit
        return raw
    number *= one
    return next(f"{number // each}{word}" for word, each in _DISPLAY_TIMES if number % each == 0)


def _special(name: str, number: int, raw: str) -> str:
    if number == -1 and name in MINUS_ONE_IS_UNLIMITED:
        return "unlimited"
    if number == -2 and name in FOLLOWS:
        return _as_another(name)
    return raw


def _as_another(name: str) -> str:
    return f"as {FOLLOWS.get(name, '')}"
