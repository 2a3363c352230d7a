"""Parsing and printing agree with Kafka 4.3.1's ConfigDef on JDK 17: every expected value comes from it."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kconf.configdef.java.classes import KNOWN_CLASSES
from kconf.configdef.java.parsing import InvalidValue, Value, java_double, parse, render, trim
from kconf.model.entry import ValueType

INT, SHORT, LONG, DOUBLE = ValueType.INT, ValueType.SHORT, ValueType.LONG, ValueType.DOUBLE
NO_BREAK_SPACE = "\u00a0"


@pytest.mark.parametrize("text", ["true", "TRUE", "tRue", " true\t", "\x00true\x1f"])
def test_true_may_be_written_in_any_case_with_blanks_around(text: str) -> None:
    assert parse(ValueType.BOOLEAN, text) is True


def test_a_long_s_counts_as_an_s_as_in_java() -> None:
    assert parse(ValueType.BOOLEAN, "fal\u017fe") is False


@pytest.mark.parametrize("text", ["", " ", "yes", "1", "t", "truee", "true" + NO_BREAK_SPACE])
def test_other_texts_are_not_booleans(text: str) -> None:
    with pytest.raises(InvalidValue):
        parse(ValueType.BOOLEAN, text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("+7", 7),
        ("-7", -7),
        ("-0", 0),
        ("007", 7),
        (" 5 ", 5),
        ("\x005\x1f", 5),
        ("2147483647", 2147483647),
        ("-2147483648", -2147483648),
        ("\u0661\u0662", 12),
        ("\uff11", 1),
        ("0" * 5000 + "5", 5),
    ],
)
def test_an_int_is_a_sign_and_decimal_digits_of_any_script(text: str, value: int) -> None:
    assert parse(INT, text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "+",
        "-",
        "--1",
        "- 1",
        "1.0",
        "1e3",
        "1_000",
        "0x10",
        "1L",
        "2147483648",
        "-2147483649",
        "9" * 5000,
        NO_BREAK_SPACE + "5",
        "5\u2003",
        "\U0001d7cf",
        "²",
    ],
)
def test_other_texts_are_not_ints(text: str) -> None:
    with pytest.raises(InvalidValue):
        parse(INT, text)


@pytest.mark.parametrize(
    ("type_", "bits"),
    [(SHORT, 16), (INT, 32), (LONG, 64)],
)
def test_overflow_is_refused_and_never_wraps(type_: ValueType, bits: int) -> None:
    highest = 2 ** (bits - 1) - 1

    assert parse(type_, str(highest)) == highest
    assert parse(type_, str(-highest - 1)) == -highest - 1
    for text in (str(highest + 1), str(-highest - 2)):
        with pytest.raises(InvalidValue, match=type_.name):
            parse(type_, text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1.e5", 1e5),
        ("+3", 3.0),
        ("1d", 1.0),
        ("1F", 1.0),
        ("0.1f", 0.1),
        (" 0.50\n", 0.5),
        ("0x1p3", 8.0),
        ("0X1.8P1", 3.0),
        ("0x.8p1d", 1.0),
        ("-0x1p9999", -math.inf),
        ("0x0p99999999999", 0.0),
        ("0x1p-99999999999", 0.0),
        ("1e400", math.inf),
        ("-1e99999999999", -math.inf),
        ("1e-400", 0.0),
        ("Infinity", math.inf),
        ("+Infinity", math.inf),
        ("-Infinity", -math.inf),
    ],
)
def test_a_double_is_written_as_in_java(text: str, value: float) -> None:
    assert parse(DOUBLE, text) == value


@pytest.mark.parametrize("text", ["NaN", "+NaN", "-NaN", " NaN "])
def test_nan_is_a_double(text: str) -> None:
    assert math.isnan(float(str(parse(DOUBLE, text))))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        ".",
        "e5",
        "1e",
        "1e+",
        "nan",
        "inf",
        "infinity",
        "NaNd",
        "Infinityf",
        "1_0",
        "1,5",
        "0x1",
        "1ff",
        "--1",
        "\u0661",
        "\u0661.5",
        "1" + NO_BREAK_SPACE,
    ],
)
def test_other_texts_are_not_doubles(text: str) -> None:
    with pytest.raises(InvalidValue):
        parse(DOUBLE, text)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("", ()),
        (" \t", ()),
        ("a", ("a",)),
        ("a,b", ("a", "b")),
        (" a \t,\n b ", ("a", "b")),
        ("a,,b", ("a", "", "b")),
        (",a", ("", "a")),
        ("a,", ("a", "")),
        (",", ("", "")),
        ("a, ,b", ("a", "", "b")),
        ("a b,c", ("a b", "c")),
        (f"a,{NO_BREAK_SPACE}b", ("a", f"{NO_BREAK_SPACE}b")),
        ("a,\x01b", ("a", "\x01b")),
        ("a,a", ("a", "a")),
    ],
)
def test_a_list_is_split_at_commas_and_keeps_its_empty_items(text: str, items: tuple[str, ...]) -> None:
    assert parse(ValueType.LIST, text) == items


def test_a_list_of_blanks_is_read_in_linear_time() -> None:
    """A pattern such as \\s*,\\s* would need seconds here."""
    text = "a" + " " * 1_000_000 + "b"

    assert parse(ValueType.LIST, text + ",") == (text, "")


def test_strings_and_passwords_are_trimmed_and_unknown_types_are_not() -> None:
    assert parse(ValueType.STRING, " a b\x00") == "a b"
    assert parse(ValueType.PASSWORD, " secret ") == "secret"
    assert parse(ValueType.STRING, "") == ""
    assert parse(ValueType.UNKNOWN, " x ") == " x "


def test_a_class_must_be_one_that_kafka_ships() -> None:
    reporter = "org.apache.kafka.common.metrics.JmxReporter"

    assert reporter in KNOWN_CLASSES
    assert parse(ValueType.CLASS, f" {reporter} ") == reporter
    for text in ("", "JmxReporter", "com.example.Mine"):
        with pytest.raises(InvalidValue):
            parse(ValueType.CLASS, text)


def test_trim_removes_control_characters_and_no_other_blanks() -> None:
    assert trim("\x00\t a\u00a0 \x1f") == "a\u00a0"


@pytest.mark.parametrize(
    ("type_", "text", "printed"),
    [
        (ValueType.BOOLEAN, " TRUE ", "true"),
        (ValueType.BOOLEAN, "False", "false"),
        (INT, "+7", "7"),
        (LONG, "007", "7"),
        (SHORT, "-0", "0"),
        (ValueType.LIST, " a , b,a,", "a,b,a,"),
        (ValueType.LIST, "", ""),
        (ValueType.STRING, " x ", "x"),
        (DOUBLE, "0.50", "0.5"),
        (DOUBLE, "100", "100.0"),
        (DOUBLE, "1", "1.0"),
    ],
)
def test_a_value_is_printed_in_one_form(type_: ValueType, text: str, printed: str) -> None:
    assert render(type_, parse(type_, text)) == printed


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1e-3, "0.001"),
        (0.00099, "9.9E-4"),
        (9e-4, "9.0E-4"),
        (1.5e-5, "1.5E-5"),
        (-1.5e-5, "-1.5E-5"),
        (9999999.0, "9999999.0"),
        (9999999.999, "9999999.999"),
        (1e7, "1.0E7"),
        (-1e7, "-1.0E7"),
        (12345678.25, "1.234567825E7"),
        (123456789.0, "1.23456789E8"),
        (2147483647.0, "2.147483647E9"),
        (1e16, "1.0E16"),
        (1e22, "1.0E22"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (5e-324, "4.9E-324"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
    ],
)
def test_a_double_is_printed_as_double_to_string_does(value: float, printed: str) -> None:
    assert java_double(value) == printed


@given(st.integers(min_value=0, max_value=2**64 - 1))
def test_every_double_survives_printing(bits: int) -> None:
    value = struct.unpack("<d", struct.pack("<Q", bits))[0]

    again = parse(DOUBLE, render(DOUBLE, value))

    assert again == value or math.isnan(value)


@given(st.sampled_from(list(ValueType)), st.text(max_size=12))
def test_a_printed_value_is_parsed_and_printed_unchanged(type_: ValueType, text: str) -> None:
    try:
        value: Value = parse(type_, text)
    except InvalidValue:
        return

    printed = render(type_, value)

    assert render(type_, parse(type_, printed)) == printed
