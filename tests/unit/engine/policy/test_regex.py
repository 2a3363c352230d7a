from __future__ import annotations

import subprocess
import sys

import pytest

from kconf.engine.policy.regex import LONGEST, compile_regex


@pytest.mark.parametrize(
    "text",
    [
        r"[a-z]+(\.[a-z]+)*",
        r"([a-z]+\.)+[a-z]+",
        r"(foo|bar)+",
        r"^pay\.[a-z0-9-]+\.v[0-9]+$",
        r"[a-z0-9]+(-[a-z0-9]+){1,5}",
        r"[a-z]+-[a-z]+-[a-z]+-[a-z]+-[a-z]+",
        r"[a-z][a-z0-9]*(\.[a-z][a-z0-9]*){2}(-v[0-9]+)?",
        r"(?:prod|dev|test)\.[a-z0-9]+(?:[.-][a-z0-9]+)*",
        r".*foo.*",
        r"\w+",
        r"",
        # A backtracking engine does not finish with these.
        r"(a+)+",
        r"(.*)*",
        r"(a?)*b",
        r"(\w+\s?)*",
        r"(x+x+)+y",
        r"(?:a{1,10}){1,10}b",
        r"(a|aa)+",
        r"(\w|\d)+",
        r"(a|ab|b)*c",
        r"(((b|b)|ab\.))*",
        r".*a.*b.*c.*d",
        r"([ab]*|c)[ab]*(a|[ab]*)d",
        r"a*[ab]*c*a*[ab]*",
        "a?" * 26 + "a" * 26,
        "(" * 900 + ")" * 900,
    ],
)
def test_matching_any_pattern_takes_little_time(text: str) -> None:
    patterns = compile_regex(text), compile_regex(text, whole=True)

    for name in ("a" * LONGEST, "a." * (LONGEST // 2), "a-" * (LONGEST // 2), "a" * (LONGEST - 1) + "!", "x" * LONGEST):
        for pattern in patterns:
            pattern.search(name)  # the suite's time limit detects a slow match


@pytest.mark.parametrize(
    ("text", "found", "whole"),
    [
        ("ay", ["pay", "ay"], ["ay"]),
        ("^pay$", ["pay"], ["pay"]),
        ("a|bc", ["xbcx", "a"], ["a", "bc"]),
        ("(a+)+", ["aaaa", "ba"], ["aaaa"]),
        ("(?i)PAY", ["xPay"], ["pay", "Pay"]),
        (r"\w+", ["ä1", "a_1"], ["a_1"]),
        (".", ["ä", "😀", "\ud800"], ["ä", "😀", "\ud800"]),
        (r"[[:digit:]]+\.v\d", ["x1.v2x"], ["12.v3"]),
        ("(?P<name>a)", ["bab"], ["a"]),
        ("", ["", "x"], [""]),
    ],
)
def test_a_pattern_matches_a_part_or_the_whole_of_a_name(text: str, found: list[str], whole: list[str]) -> None:
    for name in [*found, *whole]:
        assert compile_regex(text).search(name), name
        assert compile_regex(text, whole=True).search(name) is (name in whole), name
    assert not compile_regex("x" + text).search("-")


@pytest.mark.parametrize("text", [r"\w", r"\d", r"\bé", r"é\b"])
def test_character_classes_match_only_ascii(text: str) -> None:
    assert not compile_regex(text).search("é٣")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (r"(?!test)[a-z]+", r"contains a negative lookahead, (?!, which RE2 does not support"),
        (r"(?=test)[a-z]+", r"contains a lookahead, (?=, which RE2 does not support"),
        (r"(?<!a)b", r"contains a negative lookbehind, (?<!, which RE2 does not support"),
        (r"(?<=a)b", r"contains a lookbehind, (?<=, which RE2 does not support"),
        (r"(?>a+)b", r"contains an atomic group, (?>, which RE2 does not support"),
        (r"(a)\1", r"contains a backreference, \1, which RE2 does not support"),
        (r"(?P<n>a)\k<n>", r"contains a backreference, \k, which RE2 does not support"),
        (r"[a-z", r"cannot be parsed: missing ]: [a-z"),
        (r"a++", r"cannot be parsed: bad repetition operator: ++"),
        (r"a{1,2000}", r"cannot be parsed: invalid repetition size: {1,2000}"),
        (r"a)(b", r"cannot be parsed: unexpected ): a)(b"),
        ("(" * 5000, r"cannot be parsed: missing ): "),
        ("\ud800", r"cannot be parsed: it is not Unicode text"),
    ],
)
@pytest.mark.parametrize("whole", [False, True])
def test_patterns_that_re2_does_not_support_are_refused(text: str, reason: str, whole: bool) -> None:
    with pytest.raises(ValueError) as refused:
        compile_regex(text, whole=whole)

    assert str(refused.value).startswith(reason)


def test_an_unterminated_quotation_is_refused_for_a_whole_match() -> None:
    assert compile_regex(r"\Qa.b").search("xa.bx")
    with pytest.raises(ValueError, match="cannot be parsed"):
        compile_regex(r"\Qa.b", whole=True)


def test_re2_is_imported_with_the_first_pattern() -> None:
    script = (
        "import sys, kconf.engine.policy.parser\n"
        "assert 're2' not in sys.modules\n"
        "kconf.engine.policy.regex.compile_regex('a')\n"
        "assert 're2' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
