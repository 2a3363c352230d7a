"""Parses and prints config values exactly as Java does.

`parse` trims like Java's `String.trim` (characters up to U+0020), so a no-break space is kept and makes a number
invalid. Python accepts more than Java (underscores, `nan`, any Unicode blank), so the grammars are explicit here.
`render` prints a value as in DescribeConfigs; `parse(type, render(parse(type, text)))` equals `parse(type, text)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from kconf.configdef.java.classes import KNOWN_CLASSES
from kconf.model.entry import ValueType

Value: TypeAlias = bool | int | float | str | tuple[str, ...]


class InvalidValue(ValueError):
    """A value that a key does not accept. The message is the reason, without the name of the key."""


def parse(type: ValueType, text: str) -> Value:  # noqa: A002
    """Parse a text. Raises InvalidValue. If the type is unknown, the value is the text itself."""
    return _PARSERS[type](text)


def render(type: ValueType, value: Value) -> str:  # noqa: A002
    """The text of a parsed value in a describe."""
    if type is ValueType.BOOLEAN:
        return "true" if value else "false"
    if type is ValueType.DOUBLE:
        assert isinstance(value, float)
        return java_double(value)
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value)


def trim(text: str) -> str:
    """Java's `String.trim`."""
    return text.strip(_TRIMMED)


_TRIMMED = "".join(map(chr, range(0x21)))
_BLANKS = " \t\n\v\f\r"  # Java's \s, which a LIST removes around its commas

# Patterns are strings, so that re compiles them on first use and not at import.
_SIGNED_DIGITS = r"[+-]?\d+"
_DECIMAL = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?"
_HEX = r"([+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?"
_NAMED_DOUBLES = {sign + name: float(sign + name) for sign in ("", "+", "-") for name in ("NaN", "Infinity")}
_BOOLEANS = {"true": True, "false": False}


def _boolean(text: str) -> bool:
    value = _BOOLEANS.get(text)
    if value is None:
        # Java compares upper-case characters, so U+017F (long s) equals s, as with upper().
        value = _BOOLEANS.get(trim(text).upper().lower())
        if value is None:
            raise InvalidValue("expected true or false")
    return value


def _whole(name: str, bits: int) -> Callable[[str], int]:
    lowest, highest = -(1 << bits - 1), (1 << bits - 1) - 1
    reason = f"expected an integer of type {name}, from {lowest} to {highest}"

    def parse_whole(text: str) -> int:
        digits = text[1:] if text[:1] == "-" else text
        plain = digits.isascii() and digits.isdigit() and len(digits) < 20
        value = int(text) if plain else _any_whole(trim(text), reason)
        if lowest <= value <= highest:
            return value
        raise InvalidValue(reason)

    return parse_whole


def _any_whole(text: str, reason: str) -> int:
    # Java reads UTF-16 code units, so digits above U+FFFF are not digits.
    if not re.fullmatch(_SIGNED_DIGITS, text) or (not text.isascii() and max(text) > "\uffff"):
        raise InvalidValue(reason)
    negative, digits = text[0] == "-", text.lstrip("+-")
    if len(digits) > 20:  # int() refuses very long strings, but leading zeros do not count
        digits = "".join(str(int(digit)) for digit in digits).lstrip("0") or "0"
        if len(digits) > 20:
            raise InvalidValue(reason)
    return -int(digits) if negative else int(digits)


def _double(text: str) -> float:
    if text.isascii() and text.replace(".", "", 1).isdigit():
        return float(text)
    text = trim(text)
    if re.fullmatch(_DECIMAL, text):
        return float(text.rstrip("fFdD"))  # out of range: infinity, as in Java
    named = _NAMED_DOUBLES.get(text)
    if named is not None:
        return named
    hexadecimal = re.fullmatch(_HEX, text)
    if hexadecimal is None:
        raise InvalidValue("expected a number of type DOUBLE")
    try:
        return float.fromhex(hexadecimal[1])
    except OverflowError:
        return float("-inf" if text[0] == "-" else "inf")


def _list(text: str) -> tuple[str, ...]:
    text = trim(text)
    if "," not in text:
        return (text,) if text else ()
    return tuple([item.strip(_BLANKS) for item in text.split(",")])


def _class(text: str) -> str:
    name = trim(text)
    if name not in KNOWN_CLASSES:
        # There is no JVM, so only classes that Kafka ships are accepted.
        raise InvalidValue("expected the full name of a class that Kafka ships; kconf accepts no other classes")
    return name


def _raw(text: str) -> str:
    return text


_PARSERS: tuple[Callable[[str], Value], ...] = (
    _raw,
    _boolean,
    trim,
    _whole("INT", 32),
    _whole("SHORT", 16),
    _whole("LONG", 64),
    _double,
    _list,
    _class,
    trim,
)
assert len(_PARSERS) == len(ValueType)  # indexed by the type's number


def java_double(value: float) -> str:
    """Java's `Double.toString` of JDK 19 and later, which prints the shortest representation, like repr."""
    if 1e-3 <= value < 1e7 or -1e7 < value <= -1e-3 or value == 0:
        return repr(value)
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    two_digits = f"{value:.1e}"
    # Java prints at least two digits: 4.9E-324, while repr prints 5e-324.
    mantissa, _, exponent = (two_digits if float(two_digits) == value else f"{value!r}").partition("e")
    if not exponent:  # repr uses no exponent up to 1e16
        sign, digits = ("-", mantissa[1:]) if mantissa[0] == "-" else ("", mantissa)
        whole, _, fraction = digits.partition(".")
        if whole == "0":  # below 1e-3: 0.000123
            figures = fraction.lstrip("0")
            power = len(figures) - len(fraction) - 1
        else:
            figures, power = (whole + fraction).rstrip("0"), len(whole) - 1
        return f"{sign}{figures[0]}.{figures[1:] or '0'}E{power}"
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"
