"""The contexts file: its contents, and edits that keep the rest of the text."""

from __future__ import annotations

import pytest

from kconf.client.contexts.file import read_contexts, with_context, with_current, without_context
from kconf.errors import ConfigurationError


@pytest.mark.parametrize("text", ["", "\n", "# my clusters\n"])
def test_an_empty_file_has_no_contexts(text: str) -> None:
    found = read_contexts(text.encode(), "config.yaml")

    assert (found.current, dict(found.contexts)) == (None, {})


def test_an_error_names_the_contexts_file() -> None:
    with pytest.raises(ConfigurationError, match=r"^config.yaml:1:1: the contexts file must be a mapping"):
        read_contexts(b"[]", "config.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "# my clusters\n",
        "contexts: {}  # none yet\n",
        "contexts:\n  ähre:\n    bootstrap: 'ü:1'  # the first\n",
        "contexts:\n    a:\n        bootstrap: x:1\n        password_command: |\n            pass show x\n# end\n",
        "current: a\ncontexts:\n  a: {bootstrap: x:1}",
    ],
)
def test_adding_and_using_a_context_keeps_comments(text: str) -> None:
    before = read_contexts(text.encode(), "config.yaml")
    edited = with_current(with_context(text, "new", {"bootstrap": "z:9"}), "new")
    after = read_contexts(edited.encode(), "config.yaml")

    assert (after.current, after.named("new").bootstrap) == ("new", "z:9")
    assert {**after.contexts} == {**before.contexts, "new": after.named("new")}
    assert [line for line in text.splitlines() if "#" in line and line.partition("#")[2] not in edited] == []


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("# all\ncurrent: a\ncontexts:\n  a:\n    bootstrap: x:1\n  # next\n  b: {bootstrap: y:1}\n", ["b"]),
        ("contexts:\n  b: {bootstrap: y:1}  # mine\n  a: {bootstrap: x:1}\ncurrent: b", ["b"]),
        ("version: 1\ncontexts:\n  a:\n    bootstrap: x:1\ncurrent: a\n", []),
        (
            "contexts:\n    a:\n        bootstrap: x:1\n        password_command: |\n            pass show x\n# end\n",
            [],
        ),
    ],
)
def test_removing_a_context_keeps_the_rest_of_the_file(text: str, left: list[str]) -> None:
    before = read_contexts(text.encode(), "config.yaml")
    edited = without_context(text, "a")
    after = read_contexts(edited.encode(), "config.yaml")

    assert list(after.contexts) == left
    assert after.current == (None if before.current == "a" else before.current)
    assert [line for line in text.splitlines() if "#" in line and line.partition("#")[2] not in edited] == []


def test_a_context_in_braces_is_not_removed() -> None:
    with pytest.raises(ConfigurationError, match="flow mapping"):
        without_context("contexts: {a: {bootstrap: x:1}, b: {bootstrap: y:1}}", "a")
