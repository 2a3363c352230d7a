from __future__ import annotations

import pytest

from kconf.engine.policy.regex import LONGEST, compile_safely


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
    ],
)
def test_a_pattern_that_ends_soon_is_taken(text: str) -> None:
    pattern = compile_safely(text)

    for name in ("a" * LONGEST, "a." * (LONGEST // 2), "a-" * (LONGEST // 2), "a" * (LONGEST - 1) + "!"):
        pattern.fullmatch(name)  # the time limit of the suite is the judge
        pattern.search(name)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (r"(a+)+", "repeat inside a repeat"),
        (r"(.*)*", "repeat inside a repeat"),
        (r"(a?)*b", "repeat inside a repeat"),
        (r"(\w+\s?)*", "repeat inside a repeat"),
        (r"(x+x+)+y", "repeat inside a repeat"),
        (r"(?:a{1,10}){1,10}b", "repeat inside a repeat"),
        (r"(a|aa)+", "begin with the same"),
        (r"(\w|\d)+", None),
        (r"(a|ab|b)*c", "begin with the same"),
        (r"(((b|b)|ab\.))*", "begin with the same"),
        (r".*a.*b.*c.*d", "in a row"),
        (r"([ab]*|c)[ab]*(a|[ab]*)d", "in a row"),
        (r"a*[ab]*c*a*[ab]*", "in a row"),
        ("a?" * 26 + "a" * 26, "in a row"),
        (r"[a-z", "cannot be read"),
        (r"(?P<name>a)", "Java"),
        ("(" * 5000 + ")" * 5000, "cannot be read"),
    ],
)
def test_a_pattern_that_may_never_end_or_that_one_side_cannot_read_is_refused(text: str, reason: str | None) -> None:
    if reason is None:  # re itself makes one set of it
        compile_safely(text)
        return
    with pytest.raises(ValueError, match=reason):
        compile_safely(text)


def test_a_pattern_to_be_found_anywhere_begins_at_every_place() -> None:
    compile_safely(r".*foo.*")
    compile_safely(r"foo.*bar", search=True)
    compile_safely(r"^.*foo.*", search=True)
    with pytest.raises(ValueError, match="in a row"):
        compile_safely(r".*foo.*", search=True)
