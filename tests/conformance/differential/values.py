"""Texts for a key: its default, both sides of every bound, other spellings, and invalid values."""

from __future__ import annotations

import re
from functools import cache

from kconf.configdef.key import ConfigKey
from kconf.model.entry import ValueType

_NUMBERS = {ValueType.INT: 31, ValueType.SHORT: 15, ValueType.LONG: 63}
_BOUND = re.compile(r"(?:at least|from) (-?\d+)(?: to (-?\d+))?")
_NO_NUMBERS = ("", "abc", "1.0", "1e3", "1_000", "0x10", "1L", "- 1", "true", "\u00a05")
_OTHER_SPELLINGS = ("+7", "007", " 5 ", "\t1000\n", "٣", "1000", "86400000", "1048576")
_DOUBLES = (
    *("0", "0.0", "0.5", "0.50", ".5", "1", "1.0", "1.1", "-0.1", "-0.0", "5.", "1e-4", "0.001", "1d", "0.25F"),
    *("0x1p-1", "NaN", "Infinity", "1e400", "nan", "inf", "1_0", "0,5", "", "abc", " 0.75 "),
)
_BOOLEANS = ("true", "false", "TRUE", "False", " true ", "yes", "1", "", "t")
_PATTERNS = (
    "client_id=a.*",
    "client_software_name=Java,client_id=b",
    "client_id=[",
    "client_id",
    "color=red",
    "client_id=a=b",
)
_REPLICAS = ("*", "0:1", "0:1,1:1", "0:1,0:1", " 0:1 , 1:1 ", "0:1,,1:1", "a:b", "0", "*,*", "0:1,*", "-1:1")


@cache
def candidates(key: ConfigKey) -> tuple[str, ...]:
    """All texts to try for this key."""
    found = [*_by_type(key)]
    if key.default is not None:
        found.append(key.default)
    return tuple(dict.fromkeys(found))


def _by_type(key: ConfigKey) -> tuple[str, ...]:
    choices = key.validator.choices if key.validator else ()
    match key.type:
        case ValueType.BOOLEAN:
            return _BOOLEANS
        case ValueType.DOUBLE:
            return _DOUBLES
        case ValueType.INT | ValueType.SHORT | ValueType.LONG:
            return (*_numbers(key), *_OTHER_SPELLINGS, *_NO_NUMBERS)
        case ValueType.LIST:
            return _lists(key, choices)
        case ValueType.CLASS:
            return ("", "no.such.Class", "java.lang.String", "org.apache.kafka.common.metrics.JmxReporter")
        case _:
            cases = [text for each in choices for text in (each, each.upper(), each.capitalize(), f" {each} ")]
            return (
                *cases,
                "",
                " ",
                "abc",
                "a b",
                "ä",
                "earliest",
                "by_duration:PT1H",
                "by_duration:P1D",
                "by_duration:x",
            )


def _numbers(key: ConfigKey) -> tuple[str, ...]:
    edge = 1 << _NUMBERS[key.type]
    numbers = [-edge - 1, -edge, -3, -2, -1, 0, 1, 2, 14, edge - 1, edge]
    match = _BOUND.search(str(key.validator)) if key.validator else None
    for bound in match.groups() if match else ():
        if bound is not None:
            numbers += [int(bound) - 1, int(bound), int(bound) + 1]
    return tuple(str(number) for number in numbers)


def _lists(key: ConfigKey, choices: tuple[str, ...]) -> tuple[str, ...]:
    if "throttled.replicas" in key.name:
        return ("", " ", ",", *_REPLICAS)
    if key.name == "match":
        return ("", *_PATTERNS)
    items = choices or ("a", "b")
    joined = (items[0], ",".join(items), f" {items[0]} , {items[-1]} ", f"{items[0]},{items[0]}")
    wrong = (
        f"{items[0]},,{items[-1]}",
        f"{items[0]},",
        f",{items[0]}",
        ",",
        items[0].upper(),
        "nonsense",
        f"{items[0]},x",
    )
    return ("", " ", *joined, *wrong)
