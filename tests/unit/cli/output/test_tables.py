"""Tables are aligned, fit, and give a terminal no orders."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kconf.cli.output.tables import table, text_width


def test_columns_are_aligned_by_what_a_terminal_shows() -> None:
    lines = table(["KEY", "VALUE"], [["a", "1"], ["早い", "2"]])
    assert lines == ["KEY   VALUE", "a     1", "早い  2"]


def test_what_does_not_fit_goes_on_below() -> None:
    lines = table(["KEY", "VALUE"], [["k", "x" * 30]], width=25)
    assert lines == ["KEY  VALUE", "k    " + "x" * 20, "     " + "x" * 10]


def test_a_value_cannot_give_orders_to_a_terminal() -> None:
    assert table(["A"], [["\x1b[31mred\nbell\x07"]]) == ["A", r"\u001b[31mred\nbell\u0007"]


rows = st.lists(st.lists(st.text(max_size=60), min_size=3, max_size=3), max_size=5)


@given(rows, st.integers(50, 200))
def test_no_line_is_wider_than_the_terminal_and_nothing_is_lost(cells: list[list[str]], width: int) -> None:
    lines = table(["ONE", "TWO", "THREE"], cells, width=width)
    assert all(text_width(line) <= width for line in lines)
    kept = "".join("".join(lines[1:]).split())
    wanted = {each for row in cells for cell in row for each in cell if each.isprintable() and not each.isspace()}
    assert wanted <= set(kept)


def test_sentences_give_way_before_names_and_times_do() -> None:
    rows = [["2026-11-15 12:36:33", "topic:payments.card", "the auditors look back two weeks"]]

    assert table(["TIME", "RESOURCE", "REASON"], rows, width=60) == [
        "TIME                 RESOURCE             REASON",
        "2026-11-15 12:36:33  topic:payments.card  the auditors look",
        "                                          back two weeks",
    ]


def test_a_last_column_of_sentences_stands_below_its_row_where_names_would_be_broken_for_it() -> None:
    headings = ["TIME", "REV", "RESOURCE", "KEY", "WHO", "REASON"]
    rows = [
        ["2026-11-15 12:36:33", "2", "topic:orders", "retention.ms", "User:ANONYMOUS", ""],
        ["2026-11-15 12:36:34", "3", "topic:orders", "retention.ms", "User:ana", "the auditors look back two weeks"],
    ]

    assert table(headings, rows, width=72) == [
        "TIME                 REV  RESOURCE      KEY           WHO",
        "2026-11-15 12:36:33  2    topic:orders  retention.ms  User:ANONYMOUS",
        "2026-11-15 12:36:34  3    topic:orders  retention.ms  User:ana",
        "    reason: the auditors look back two weeks",
    ]
    assert table(headings, rows, width=120)[0].endswith("REASON")
    assert all(len(line) <= 40 for line in table(headings, rows, width=40)[3:] if line.startswith("    "))
