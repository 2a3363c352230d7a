"""YAML as nodes with positions, and syntax errors. The meaning of files is tested elsewhere."""

from __future__ import annotations

import pytest

from kconf.util.yaml.reader import ParseError, ParseErrors, YamlReader, compose


def error(text: str) -> str:
    with pytest.raises(ParseErrors) as refused:
        compose(text, "f.yaml")
    return str(refused.value)


def test_a_text_with_only_comments_has_no_document() -> None:
    assert compose("", "f.yaml") is None
    assert compose("# nothing but words\n", "f.yaml") is None


def test_scalars_are_read_as_written_and_nulls_are_recognized() -> None:
    root = compose("[yes, 007, 1_000, ~, null, '', \"null\", !!str null]", "f.yaml")

    assert root is not None
    assert [each.value for each in root.value] == ["yes", "007", "1_000", "~", "null", "", "null", "null"]
    assert [each.is_null for each in root.value] == [False, False, False, True, True, False, False, False]


def test_the_marks_of_a_node_are_positions_in_its_text() -> None:
    """Positions count characters, not bytes; editing a file depends on that."""
    text = "größe: [ä, {b: c}]\nname: |\n  lines\n  # no comment\nlast: 'x'  # a comment\n"
    root = compose(text, "f.yaml")

    assert root is not None
    parts = [text[value.start_mark.index : value.end_mark.index] for _, value in root.value]
    assert parts == ["[ä, {b: c}]", "|\n  lines\n  # no comment\n", "'x'"]
    assert [value.flow_style for _, value in root.value] == [True, False, False]


def test_an_alias_is_the_node_it_refers_to() -> None:
    root = compose("a: &x {b: c}\nd: *x", "f.yaml")

    assert root is not None
    assert root.value[0][1] is root.value[1][1]


@pytest.mark.parametrize("text", ["&a [*a]", "&a [{b: *a}]", "&a {b: [c, *a]}"])
def test_an_anchor_that_contains_itself_is_an_error(text: str) -> None:
    assert error(text) == f"f.yaml:1:{text.index('*a') + 1}: &a contains itself"


def test_deep_nesting_does_not_exhaust_the_stack() -> None:
    assert error("[" * 100_000) == "f.yaml:1:102: nested too deeply"


def test_the_errors_of_files_are_listed_once_and_in_their_order() -> None:
    errors = ParseErrors(
        {"b": [ParseError(2, 1, "second"), ParseError(1, 9, "first")], "a": [ParseError(1, 1, "x")] * 2}
    )

    assert str(errors) == "b:1:9: first\nb:2:1: second\na:1:1: x"


def test_a_reader_continues_after_an_error_and_raises_all_of_them() -> None:
    reader = YamlReader("f.yaml")
    root = reader.compose("colour: red\nsize: big\nsize: small\n")
    assert root is not None
    fields = reader.fields(root, ["color", "size"], "a shirt")
    reader.attempt(lambda: reader.flag(fields["size"], "size"))

    with pytest.raises(ParseErrors) as refused:
        reader.raise_errors()
    assert str(refused.value).splitlines() == [
        "f.yaml:1:1: unknown field 'colour' in a shirt; did you mean color?",
        "f.yaml:2:7: size must be true or false: 'big'",
        "f.yaml:3:1: size occurs twice in a shirt",
    ]
