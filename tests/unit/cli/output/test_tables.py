"""Tables are aligned, fit the terminal, and contain no control characters."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kconf.cli.commands import describe
from kconf.cli.commands.lake import queries
from kconf.cli.common.history_output import history_columns
from kconf.cli.common.plan_output import plan_columns
from kconf.cli.output.tables import table, text_width
from kconf.configdef.lookup import keys_for
from kconf.model.resource import ResourceType


def test_columns_are_aligned_by_display_width() -> None:
    lines = table(["KEY", "VALUE"], [["a", "1"], ["早い", "2"]])
    assert lines == ["KEY   VALUE", "a     1", "早い  2"]


def test_text_that_does_not_fit_wraps() -> None:
    lines = table(["KEY", "VALUE"], [["k", "x" * 30]], width=25)
    assert lines == ["KEY  VALUE", "k    " + "x" * 20, "     " + "x" * 10]


def test_control_characters_in_a_value_are_escaped() -> None:
    assert table(["A"], [["\x1b[31mred\nbell\x07"]]) == ["A", r"\u001b[31mred\nbell\u0007"]


rows = st.lists(st.lists(st.text(max_size=60), min_size=3, max_size=3), max_size=5)


@given(rows, st.integers(50, 200))
def test_no_line_is_wider_than_the_terminal_and_nothing_is_lost(cells: list[list[str]], width: int) -> None:
    lines = table(["ONE", "TWO", "THREE"], cells, width=width)
    assert all(text_width(line) <= width for line in lines)
    kept = "".join("".join(lines[1:]).split())
    wanted = {each for row in cells for cell in row for each in cell if each.isprintable() and not each.isspace()}
    assert wanted <= set(kept)


def test_numbers_are_split_where_nothing_else_fits() -> None:
    assert table(["ONE", "TWO"], [["0" * 16, "1" * 16]], width=20) == [
        "ONE        TWO",
        "000000000  111111111",
        "0000000    1111111",
    ]


def test_sentences_wrap_before_names_and_times_do() -> None:
    rows = [["2026-11-15 12:36:33", "topic:payments.card", "the auditors look back two weeks"]]

    assert table(["TIME", "RESOURCE", "REASON"], rows, width=60) == [
        "TIME                 RESOURCE             REASON",
        "2026-11-15 12:36:33  topic:payments.card  the auditors look",
        "                                          back two weeks",
    ]


def test_a_last_column_of_sentences_is_printed_below_its_row_if_names_would_wrap() -> None:
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
    below = [line for line in table(headings, rows, width=40) if line.startswith("    ")]
    assert below
    assert [line for line in below if len(line) > 40] == []


def test_columns_move_below_their_rows_to_make_room_for_keys_and_times() -> None:
    headings = ["TIME", "RESOURCE", "KEY", "BEFORE", "AFTER", "WHO"]
    rows = [["2026-11-15 12:36:33", "topic:payments.card", "min.insync.replicas", "(unset)", "2", "User:ANONYMOUS"]]

    assert table(headings, rows, width=64, whole=[0, 2]) == [
        "TIME                 RESOURCE             KEY",
        "2026-11-15 12:36:33  topic:payments.card  min.insync.replicas",
        "    before: (unset)  after: 2  who: User:ANONYMOUS",
    ]


def test_a_key_that_does_not_fit_next_to_others_has_its_own_line() -> None:
    key = "transaction.remove.expired.transaction.cleanup.interval.ms"
    rows = [["topic:orders", key, "2026-11-15 12:36:33"]]

    assert table(["RESOURCE", "KEY", "SINCE"], rows, width=80, whole=[1, 2]) == [
        "resource  topic:orders",
        f"key       {key}",
        "since     2026-11-15 12:36:33",
    ]


def test_the_principal_is_printed_below_the_row_before_it_wraps() -> None:
    headings = ["RESOURCE", "KEY", "BEFORE", "AFTER", "WHO"]
    outside = "changed outside kconf after 2026-11-15 12:36:33"
    rows = [["topic:orders", "message.timestamp.after.max.ms", "(unset)", "2h", outside]]

    assert table(headings, rows, width=80, whole=[1], unbroken=[4]) == [
        "RESOURCE      KEY                             BEFORE   AFTER",
        "topic:orders  message.timestamp.after.max.ms  (unset)  2h",
        f"    who: {outside}",
    ]


def test_a_time_in_a_sentence_is_not_broken() -> None:
    lines = table(["NOTE"], [["changed outside kconf after 2026-11-15 12:36:33 by someone"]], width=40)

    assert lines == ["NOTE", "changed outside kconf after", "2026-11-15 12:36:33 by someone"]


def test_a_long_list_wraps_between_its_items() -> None:
    value = "log.retention.ms,log.retention.minutes,log.retention.hours"

    assert table(["VALUE"], [[value]], width=50) == [
        "VALUE",
        "log.retention.ms,log.retention.minutes,",
        "log.retention.hours",
    ]


KEYS = sorted(key for kind in ResourceType for key in keys_for(kind) if len(key) <= 68)
SHOWN = st.sampled_from(["", "7d", "(unset)", "6 partitions, 1 replica", "User:ANONYMOUS", "topic:payments.refunds"])
PEOPLE = st.sampled_from(
    ["", "User:ana (root)", "changed outside kconf after 2026-10-15 12:36:33", "unknown: not recorded"]
)


@given(
    st.lists(st.tuples(SHOWN, st.sampled_from(KEYS), SHOWN, SHOWN, PEOPLE, SHOWN), min_size=1, max_size=4),
    st.sets(st.integers(0, 5)),
    st.integers(80, 200),
)
def test_no_key_no_time_and_no_name_is_broken_at_80_columns(
    rows: list[tuple[str, ...]], times: set[int], width: int
) -> None:
    """For random tables: any column may contain times, and the key column has any position."""
    time = "2026-11-15 12:36:33"
    cells = [[time if number in times - {1} else cell for number, cell in enumerate(row)] for row in rows]
    whole = {1, *times}

    headings = ["RESOURCE", "KEY", "OLD", "NEW", "WHO", "OUTCOME"]
    lines = table(headings, cells, width=width, whole=whole, unbroken=[4])

    assert all(text_width(line) <= width for line in lines)
    text = "\n".join(lines)
    assert all(text.count(row[1]) > 0 for row in cells)
    assert text.count(time) == sum(row.count(time) for row in cells)
    assert all(row[4] in text for row in cells)


def test_key_and_time_columns_of_all_commands_are_never_wrapped() -> None:
    columns = [*history_columns(), *plan_columns(), *describe._COLUMNS, *queries._WHERE, queries.time("since")]

    assert [each.name for each in columns if each.is_whole] == ["time", "key", "key", "key", "key", "since"]
    assert [each.name for each in history_columns() if each.is_unbroken] == ["principal"]
