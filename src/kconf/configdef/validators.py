"""Validators of parsed values.

A `Validator` is a spec and a test that raises `InvalidValue` with a reason. validate.py creates the whole message:
"Invalid value … for configuration …: must be at least 1". Validators are shared constants: two keys that must
be at least 1 have the same object. NaN passes every range, as in Kafka, which compares doubles. Patterns are strings,
so that re compiles them on first use and not at import.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import fmod
from typing import Final

from kconf.configdef.java.parsing import InvalidValue, Value, trim
from kconf.configdef.java.regex import is_java_regex


@dataclass(frozen=True, slots=True, eq=False)
class Validator:
    """A callable that raises `InvalidValue` for an invalid value. Its spec completes "must be …".

    The spec is a format, not a message: `validator_of` parses it from configdef/releases, and lab/catalog.py writes it
    there. To change the message for an invalid value, change the reason in the test.
    """

    spec: str
    test: Callable[[Value], None]
    choices: tuple[str, ...] = ()  # all valid values (or list items), if there are only a few
    distinct: bool = False  # repeated list items are removed before the test and in a describe

    def __call__(self, value: Value) -> None:
        self.test(value)

    def describe(self) -> str:
        return self.spec

    def __str__(self) -> str:
        return self.spec


def collapse(value: Value) -> Value:
    """Remove repeated items of a list. Other values are not changed."""
    return tuple(dict.fromkeys(value)) if isinstance(value, tuple) and len(value) > 1 else value


def _number(value: Value) -> float:
    assert isinstance(value, (int, float))
    return value


def _string(value: Value) -> str:
    assert isinstance(value, str)
    return value


def _items(value: Value) -> tuple[str, ...]:
    assert isinstance(value, tuple)
    return value


@cache
def between(lowest: float, highest: float | None = None) -> Validator:
    """Kafka's `Range.between` or `Range.atLeast`.

    Bounds are inclusive, and exact as doubles.
    """
    if highest is None:
        reason = f"must be at least {lowest}"

        def at_least(value: Value) -> None:
            if value < lowest:  # type: ignore[operator]  # numbers only, and this line is hot
                raise InvalidValue(reason)

        return Validator(f"at least {lowest}", at_least)

    reason = f"must be from {lowest} to {highest}"

    def within(value: Value) -> None:
        if (number := _number(value)) < lowest or number > highest:
            raise InvalidValue(reason)

    return Validator(f"from {lowest} to {highest}", within)


def one_of(*choices: str) -> Validator:
    reason = f"must be one of {', '.join(choices)}"

    def test(value: Value) -> None:
        if value not in choices:
            raise InvalidValue(reason)

    return Validator(f"one of {', '.join(choices)}", test, choices)


def one_of_any_case(*choices: str) -> Validator:
    reason = f"must be one of {', '.join(choices)}, in upper or lower case"
    folded = frozenset(choice.upper() for choice in choices)

    def test(value: Value) -> None:
        if _string(value).upper() not in folded:
            raise InvalidValue(reason)

    return Validator(f"one of {', '.join(choices)} (any case)", test, choices)


def list_of(*choices: str, filled: bool = False) -> Validator:
    """A list of items from `choices`, or of any items if there are none.

    Empty items are invalid, and with `filled` an empty list too.
    """

    def test(value: Value) -> None:
        items = _items(value)
        _no_empty_item(items)
        if filled and not items:
            raise InvalidValue("must contain at least one item")
        if choices:
            for item in items:
                if item not in choices:
                    raise InvalidValue(f"must contain only {', '.join(choices)}; {item!r} is not one of them")

    spec = f"{'non-empty ' if filled else ''}list" + (f" of {', '.join(choices)}" if choices else "")
    return Validator(spec, test, choices, distinct=True)


def _no_empty_item(items: tuple[str, ...]) -> None:
    if "" in items:
        raise InvalidValue("must not contain an empty item")


def _test_gzip_level(value: Value) -> None:
    if value != -1 and not 1 <= _number(value) <= 9:
        raise InvalidValue("must be from 1 to 9, or -1 for the library's own default")


_REPLICA = r"(?:[0-9]+:[0-9]+)?"


def _test_throttled_replicas(value: Value) -> None:
    items = _items(value)
    if not all(re.fullmatch(_REPLICA, trim(item)) for item in items) and trim("".join(items)) != "*":
        raise InvalidValue("must be * or a list of partition:broker pairs such as 0:101,1:102")


def _test_non_empty(value: Value) -> None:
    if value == "":
        raise InvalidValue("must not be empty")


def _test_nothing(value: Value) -> None:
    """Accepts any value: a text is never null."""


_DURATION = (
    r"(?ia)([-+]?)P(?:([-+]?[0-9]+)D)?"
    r"(T(?:([-+]?[0-9]+)H)?(?:([-+]?[0-9]+)M)?(?:([-+]?[0-9]+)(?:[.,]([0-9]{0,9}))?S)?)?"
)
_LONGEST_DURATION = (1 << 63) - 1  # in seconds, the range of Java's Duration


def _seconds(text: str) -> float | None:
    """The length of an ISO-8601 duration, by the grammar of Java's `Duration.parse`, or None if it is invalid."""
    match = re.fullmatch(_DURATION, text)
    if match is None or len(text) > 200:
        return None
    sign, days, time, hours, minutes, seconds, fraction = match.groups()
    if (days is None and time is None) or (time is not None and len(time) == 1):
        return None  # P alone, or a T at the end
    total = int(days or 0) * 86400 + int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
    part = float(f"{'-' if seconds and seconds[0] == '-' else ''}0.{fraction or 0}")
    if abs(total) > _LONGEST_DURATION:
        return None
    return -(total + part) if sign == "-" else total + part


def _test_starting_point(value: Value) -> None:
    text = _string(value)
    if text in ("latest", "earliest"):
        return
    prefix, _, duration = text.partition(":")
    seconds = _seconds(duration) if prefix == "by_duration" else None
    if seconds is None or seconds < 0:
        raise InvalidValue("must be latest, earliest or by_duration: with a duration such as PT1H, not negative")


CLIENT_MATCHERS: Final = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)


def _test_client_match(value: Value) -> None:
    items = _items(value)
    _no_empty_item(items)
    for item in items:
        name, *regexes = item.rstrip("=").split("=")  # Kafka 4.3.1 ignores signs at the end
        if len(regexes) != 1:
            raise InvalidValue("must contain items of the form name=regex, with exactly one =")
        if trim(name) not in CLIENT_MATCHERS:
            raise InvalidValue(f"must match on {', '.join(CLIENT_MATCHERS)}; {trim(name)!r} is not one of them")
        if not is_java_regex(trim(regexes[0])):
            raise InvalidValue(f"must contain valid regular expressions; the one for {trim(name)} is not")


_ADDRESS = r"(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)]?:([0-9]{1,5})"


def _is_address(text: str) -> bool:
    match = re.fullmatch(_ADDRESS, text)
    return match is not None and int(match[2]) <= 65535


def _test_addresses(value: Value) -> None:
    for item in _items(value):
        if not _is_address(item):
            raise InvalidValue(f"must contain items of the form host:port; {item!r} is not")


_VOTER_ID = r"[+-]?[0-9]{1,10}"


def _test_voters(value: Value) -> None:
    for item in _items(value):
        number, _, address = item.partition("@")
        if not re.fullmatch(_VOTER_ID, number) or abs(int(number)) >= 1 << 31 or not _is_address(address):
            raise InvalidValue(f"must contain items of the form id@host:port; {item!r} is not")


def above_zero(*, highest: int | None = None) -> Validator:
    """The validator of a quota: above 0; with `highest` also a whole number up to it.

    Gets the double that a client sends.
    """

    def test(value: Value) -> None:
        number = _number(value)
        if number <= 0:
            raise InvalidValue("must be greater than 0")
        if highest is None:
            return
        if number > float(highest):  # first, since fmod does not accept infinity
            raise InvalidValue(f"must be at most {highest}")
        if abs(fmod(number, 1.0)) > 1e-6:
            raise InvalidValue("must be an integer")

    return Validator("greater than 0" if highest is None else f"an integer from 1 to {highest}", test)


LEAST_ITERATIONS: Final = 4096
MOST_ITERATIONS: Final = 16384
_ITERATIONS = r"(?:^|,)iterations=([0-9]{1,9})(?:,|$)"


def _test_credential(value: Value) -> None:
    found = re.search(_ITERATIONS, value) if isinstance(value, str) else None
    iterations = int(found[1]) if found else value
    if not isinstance(iterations, int) or not LEAST_ITERATIONS <= iterations <= MOST_ITERATIONS:
        raise InvalidValue(f"must have from {LEAST_ITERATIONS} to {MOST_ITERATIONS} iterations")


# All metadata versions up to 3.9: release → last IV number; releases before 0.10 have none.
_VERSIONS: Final[dict[str, int | None]] = {
    "0.8.0": None, "0.8.1": None, "0.8.2": None, "0.9.0": None, "0.10.0": 1, "0.10.1": 2, "0.10.2": 0, "0.11.0": 2,
    "1.0": 0, "1.1": 0, "2.0": 1, "2.1": 2, "2.2": 1, "2.3": 1, "2.4": 1, "2.5": 0, "2.6": 0, "2.7": 2, "2.8": 1,
    "3.0": 1, "3.1": 0, "3.2": 0, "3.3": 3, "3.4": 0, "3.5": 2, "3.6": 2, "3.7": 4, "3.8": 0, "3.9": 0,
}  # fmt: skip
_IV = r"(.*)-IV([0-9])"


def _test_metadata_version(value: Value) -> None:
    text = _string(value)
    exact = re.fullmatch(_IV, text)
    if exact:
        last = _VERSIONS.get(exact[1])
        known = last is not None and int(exact[2]) <= last
    else:
        segments = text.split(".")
        known = ".".join(segments[: 3 if segments[0] == "0" else 2]) in _VERSIONS
    if not known:
        raise InvalidValue("must be a metadata version from 0.8.0 to 3.9-IV0")


def validator_of(spec: str | None) -> Validator | None:
    """The validator of a spec in a release's data file."""
    if spec is None:
        return None
    if found := re.fullmatch(r"at least (-?[0-9.]+)", spec):
        return between(_bound(found[1]))
    if found := re.fullmatch(r"from (-?[0-9.]+) to (-?[0-9.]+)", spec):
        return between(_bound(found[1]), _bound(found[2]))
    if spec.startswith("one of "):
        return one_of(*spec.removeprefix("one of ").split(", "))
    if spec.startswith("list of "):
        return list_of(*spec.removeprefix("list of ").split(", "))
    if spec == NEGATIVE_ONE_OR_MORE.spec:
        return NEGATIVE_ONE_OR_MORE
    raise ValueError(f"{spec!r} describes no validator")


def _bound(text: str) -> float:
    return float(text) if "." in text else int(text)


def at_least_one_or(negative_one: str) -> Validator:
    """At least 1, or -1. `negative_one` names it in the reason: "-1 for no limit"."""

    def test(value: Value) -> None:
        if value != -1 and _number(value) < 1:
            raise InvalidValue(f"must be at least 1, or {negative_one}")

    return Validator("at least 1, or -1", test)


NEGATIVE_ONE_OR_MORE: Final = at_least_one_or("-1")
AT_LEAST_0: Final = between(0)
AT_LEAST_1: Final = between(1)
ANY_LIST: Final = list_of()
FILLED_LIST: Final = list_of(filled=True)
GZIP_LEVEL: Final = Validator("from 1 to 9, or -1", _test_gzip_level)
LZ4_LEVEL: Final = between(1, 17)
ZSTD_LEVEL: Final = between(-131072, 22)
CLEANUP_POLICY: Final = list_of("compact", "delete")
CODEC: Final = one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
TIMESTAMP_TYPE: Final = one_of("CreateTime", "LogAppendTime")
THROTTLED_REPLICAS: Final = Validator("* or list of partition:broker", _test_throttled_replicas)
NON_EMPTY_STRING: Final = Validator("non-empty string", _test_non_empty)
NOT_NULL: Final = Validator("not null", _test_nothing)
STARTING_POINT: Final = Validator("latest, earliest or by_duration:<ISO-8601 duration>", _test_starting_point)
CLIENT_MATCH: Final = Validator("list of name=regex", _test_client_match, distinct=True)
ADDRESSES: Final = Validator("list of host:port", _test_addresses)
VOTERS: Final = Validator("list of id@host:port", _test_voters)
CREDENTIAL: Final = Validator(f"{LEAST_ITERATIONS} to {MOST_ITERATIONS} iterations", _test_credential)
METADATA_VERSION: Final = Validator("metadata version from 0.8.0 to 3.9-IV0", _test_metadata_version)
