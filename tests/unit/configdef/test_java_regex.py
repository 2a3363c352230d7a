"""Each row was also given to java.util.regex.Pattern."""

from __future__ import annotations

import pytest

from kconf.configdef.java_regex import is_java_regex


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.*",
        "^*",
        "$?",
        "a++",
        "(?>a)",
        "(?i)a",
        "a(?i)b",
        "(?i-s:a)",
        "(?<n>a)\\k<n>",
        "\\1",
        "(?<=a*)b",
        "a{2}",
        "\\p{L}+",
        "\\P{IsGreek}",
        "\\pL",
        "\\Qa[b\\E",
        "\\Q(",
        "\\h\\R",
        "\\x{1F600}",
        "\\07",
        "\\cA",
        "\\z",
        "}",
        "]",
        "[a-z&&[^aeiou]]",
        "[[a]b]",
        "[]a]",
        "[^]a]",
        "[\\w-a]",
        "[{]",
        "[\\Q]\\E]",
        "\\u0041",
    ],
)
def test_java_takes_it(text: str) -> None:
    assert is_java_regex(text)


@pytest.mark.parametrize(
    "text",
    [
        "(",
        ")",
        "[",
        "[a\\]",
        "*",
        "a**",
        "a{",
        "{a}",
        "a{,2}",
        "a{2,1}",
        "a{1000000000000}",
        "[z-a]",
        "\\",
        "\\y",
        "\\0",
        "(?P<n>a)",
        "(?(1)a)",
        "(?#x)",
        "(?",
        "\\pQ",
        "(" * 5000,
    ],
)
def test_java_refuses_it(text: str) -> None:
    assert not is_java_regex(text)


def test_a_hostile_pattern_is_only_compiled() -> None:
    assert is_java_regex("(a+)+$" * 50)
