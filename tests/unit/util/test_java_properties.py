"""Java's rules for .properties files; every expected result comes from java.util.Properties."""

from __future__ import annotations

import pytest

from kconf.errors import ConfigurationError
from kconf.util.java_properties import read_properties


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("", {}),
        ("a=b", {"a": "b"}),
        ("a:b", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("a\tb", {"a": "b"}),
        ("a\fb", {"a": "b"}),
        ("  a  =  b  ", {"a": "b  "}),
        ("a = = b", {"a": "= b"}),
        ("a==b", {"a": "=b"}),
        ("a:=b", {"a": "=b"}),
        ("a = : b", {"a": ": b"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("=b", {"": "b"}),
        ("a=b c", {"a": "b c"}),
        ("a=b#c", {"a": "b#c"}),
        ("a=1\nb=2\rc=3\r\nd=4", {"a": "1", "b": "2", "c": "3", "d": "4"}),
        ("a=1\n\n \t\f\nb=2", {"a": "1", "b": "2"}),
        ("a=x\u2028y\x0bz", {"a": "x\u2028y\x0bz"}),
    ],
)
def test_a_key_ends_at_an_equals_sign_a_colon_or_a_blank(text: str, properties: dict[str, str]) -> None:
    assert read_properties(text) == properties


@pytest.mark.parametrize("text", ["# a=b", "! a=b", "  \t# a=b", "#a=b\\\n#c=d", "#", "!\r#"])
def test_a_comment_is_skipped_and_has_no_continuation_line(text: str) -> None:
    assert read_properties(text + "\nx=1") == {"x": "1"}


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("a=b\\\n  c", {"a": "bc"}),
        ("a=b\\\r\n\tc", {"a": "bc"}),
        ("a=b\\\rc", {"a": "bc"}),
        ("a\\\n  b=c", {"ab": "c"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=b\\\\\\\nc", {"a": "b\\c"}),
        ("a=b\\\n# c", {"a": "b# c"}),
        ("a=b\\\n\nc=d", {"a": "b", "c": "d"}),
        ("a=b\\", {"a": "b"}),
        ("\\\n# comment\na=b", {"a": "b"}),
        ("a=1,\\\n  2,\\\n  3", {"a": "1,2,3"}),
    ],
)
def test_an_odd_number_of_backslashes_joins_the_next_line(text: str, properties: dict[str, str]) -> None:
    assert read_properties(text) == properties


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        (r"a=\t\n\r\f", {"a": "\t\n\r\f"}),
        (r"a=\b\x\"", {"a": 'bx"'}),
        (r"a=\\", {"a": "\\"}),
        (r"a\=b=c", {"a=b": "c"}),
        (r"a\:b c", {"a:b": "c"}),
        (r"a\ b c", {"a b": "c"}),
        (r"a=\ b", {"a": " b"}),
        (r"\#a=b", {"#a": "b"}),
        (r"a\\=b", {"a\\": "b"}),
        (r"a=\u0041\u00e9", {"a": "Aé"}),
        (r"\u0061=b", {"a": "b"}),
        (r"a\u003db=c", {"a=b": "c"}),
        (r"a=\ud83d\ude00", {"a": "😀"}),
        (r"a=\\u0041", {"a": "\\u0041"}),
    ],
)
def test_escapes_are_resolved_in_keys_and_values(text: str, properties: dict[str, str]) -> None:
    assert read_properties(text) == properties


@pytest.mark.parametrize("text", [r"a=\u", r"a=\u004", r"a=\u00zz", r"\uu0041=b"])
def test_a_broken_unicode_escape_is_an_error(text: str) -> None:
    with pytest.raises(ConfigurationError):
        read_properties(text)


def test_a_lone_surrogate_becomes_a_replacement_character() -> None:
    assert read_properties(r"a=x\ud83dy") == {"a": "x\ufffdy"}


def test_a_single_backslash_at_the_end_is_ignored() -> None:
    """Java creates a property without name and value from it, which is useless."""
    assert read_properties("a=b\n\\") == {"a": "b"}


def test_the_last_value_wins_and_the_order_stays() -> None:
    properties = read_properties("b=1\na=2\nb=3")

    assert list(properties.items()) == [("b", "3"), ("a", "2")]
