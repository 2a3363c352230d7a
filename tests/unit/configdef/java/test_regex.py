"""Regular expressions; every expected result comes from java.util.regex.Pattern."""

from __future__ import annotations

import pytest

from kconf.configdef.java.regex import is_java_regex


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
        "{2}",
        "a{2}{3}",
        "a{2}+",
        "a*{2}",
        "a{0000000000000000000002}",
        "\\b*",
        "\\b{g}",
        "()*",
        "(?:|)",
        "(?<=ab)c(?<!(?=\\1))d",
        "(?x) a * ? # ( [",
        "(?x: # [\n a )b #",
        "((?x) #)\n)#",
        "(?-)",
        "(?i-:a)",
        "(?c)",
        "\\Q\\E",
        "\\Qa*\\E*",
        "[a\\Q]^-[\\E]",
        "[\\n-a-]",
        "[a&&b]",
        "[a&&&b]",
        "[a&&]",
        "[&&a]",
        "[&]",
        "[a-[b]]",
        "[-a]",
        "[^-]",
        "[\\cA-\\x{42}]",
        "[\\p{Lu}-z]",
        "\\N{DIGIT ONE}",
        "[一-龿]",
        "\\é\\_",
        "(" * 800 + ")" * 800,
    ],
)
def test_a_pattern_that_java_accepts_is_valid(text: str) -> None:
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
        "|*",
        "(*)",
        "a(?i)*",
        "a***",
        "a{3000000000}",
        "a{}",
        "(?<n>a)(?<n>b)",
        "\\k<n>(?<n>a)",
        "(?<1>a)",
        "(?<=\\1)a",
        "(?x:#)",
        "(?x)[#]",
        "\\E",
        "\\Qa\\E\\E",
        "\\Q\\E*",
        "[\\b]",
        "[\\1]",
        "[\\R]",
        "[a-\\d]",
        "[a-&&b]",
        "[&&]",
        "[&&&]",
        "[]",
        "[^]",
        "[龿-一]",
        "\\p{Foo}",
        "\\p",
        "\\x{110000}",
        "\\x4",
        "\\u004",
        "\\c",
        "\\N{no such character}",
        "\\N",
        "\\k",
        "(" * 1500 + ")" * 1500,
        "[" * 8000 + "a" + "]" * 8000,
    ],
)
def test_a_pattern_that_java_refuses_is_invalid(text: str) -> None:
    assert not is_java_regex(text)


def test_a_hostile_pattern_is_parsed_but_not_run() -> None:
    assert is_java_regex("(a+)+$" * 50)


def test_long_patterns_are_read_in_one_pass() -> None:
    for first in range(0x4E00, 0x4E00 + 40):  # `re` took ten seconds for each; the suite's time limit detects that
        assert is_java_regex(f"[{chr(first)}-\u9fff]" * 6400)
    for part in (".*?", "(a*)*", "(?<!a)", "\\Q-.\\E", "a|", "^+", "[^a&&-]", "(?i)", "\\Q"):
        assert is_java_regex(part * (32_000 // len(part)))
