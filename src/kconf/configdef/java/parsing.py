"""What a text means under a type, and how a value is printed: both exactly as Java does it.

`parse` trims as Java's `String.trim` (characters up to U+0020), so a no-break space stays and spoils a number.
Python is more generous than Java (underscores, `nan`, any Unicode blank), hence the explicit grammars here.
`render` prints what DescribeConfigs prints; `parse(type, render(parse(type, text)))` is `parse(type, text)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from kconf.configdef.java.classes import KNOWN_CLASSES
from kconf.model.entry import ValueType

Value: TypeAlias = bool | int | float | str | tuple[str, ...]


class InvalidValue(ValueError):
    """A text or a value that a key does not take. Its text is the reason: a clause, without the key's name."""


def parse(type: ValueType, text: str) -> Value:  # noqa: A002
    """The value that a text stands for, or `InvalidValue`. A text of unknown type is its own value."""
    return _PARSERS[type](text)


def render(type: ValueType, value: Value) -> str:  # noqa: A002
    """The text that a describe prints for a parsed value."""
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
_BLANKS = " \t\n\v\f\r"  # Java's \s: what a LIST drops around its commas

# Patterns are left to re's own cache: compiled when first met, not when imported.
_SIGNED_DIGITS = r"[+-]?\d+"
_DECIMAL = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?"
_HEX = r"([+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?"
_NAMED_DOUBLES = {sign + name: float(sign + name) for sign in ("", "+", "-") for name in ("NaN", "Infinity")}
_BOOLEANS = {"true": True, "false": False}


def _boolean(text: str) -> bool:
    value = _BOOLEANS.get(text)
    if value is None:
        # Java compares upper-cased characters, so U+017F (long s) is an s to it, as it is to upper().
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
    # Java reads UTF-16 units one by one, so digits beyond U+FFFF are no digits to it.
    if not re.fullmatch(_SIGNED_DIGITS, text) or (not text.isascii() and max(text) > "\uffff"):
        raise InvalidValue(reason)
    negative, digits = text[0] == "-", text.lstrip("+-")
    if len(digits) > 20:  # int() refuses very long texts, but leading zeros do not count
        digits = "".join(str(int(digit)) for digit in digits).lstrip("0") or "0"
        if len(digits) > 20:
            raise InvalidValue(reason)
    return -int(digits) if negative else int(digits)


def _double(text: str) -> float:
    if text.isascii() and text.replace(".", "", 1).isdigit():
        return float(text)
    text = trim(text)
    if re.fullmatch(_DECIMAL, text):
        return float(text.rstrip("fFdD"))  # beyond the range: infinity, as in Java
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
        # There is no JVM here to ask, so a class is loadable when it is one that Kafka ships.
        raise InvalidValue("expected the full name of a class that Kafka ships; other classes cannot be loaded here")
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
    """Java's `Double.toString` (of JDK 19 and later, which prints the shortest digits, as repr does)."""
    if 1e-3 <= value < 1e7 or -1e7 < value <= -1e-3 or value == 0:
        return repr(value)
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    two_digits = f"{value:.1e}"
    # Java prints two digits at least and takes the nearest such: 4.9E-324, where repr says 5e-324.
    mantissa, _, exponent = (two_digits if float(two_digits) == value else f"{value!r}").partition("e")
    if not exponent:  # repr is plain up to 1e16
        sign, digits = ("-", mantissa[1:]) if mantissa[0] == "-" else ("", mantissa)
        whole, _, fraction = digits.partition(".")
        if whole == "0":  # below 1e-3: 0.000123
            figures = fraction.lstrip("0")
            power = len(figures) - len(fraction) - 1
        else:
            figures, power = (whole + fraction).rstrip("0"), len(whole) - 1
        return f"{sign}{figures[0]}.{figures[1:] or '0'}E{power}"
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"
