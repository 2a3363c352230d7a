"""Tables: aligned columns, no wider than the terminal, colors only at a terminal.

Own code, because importing a library for it takes longer than most commands run.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Sequence
from unicodedata import east_asian_width

from kconf.cli.output.safe_text import write_controls
from kconf.util.visible_text import visible

_GAP = "  "
_BELOW = "    "
_MANY = 5  # from this number of columns on, a last column of sentences may be printed below its row
_LEAST = 8  # minimum characters of a column, on any terminal
_SHORT_NAME = 20  # characters of a name that is not split while another column can be printed below its row
_TOGETHER = {"AFTER": "BEFORE", "NEW": "OLD"}  # columns that are read together stay next to each other
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"\s*(?:\d{4}-\d\d-\d\d \d\d:\d\d\S*|\S+)\s*")  # a date and its time are one word
_PART = re.compile(r".+?(?:\s+|[.,:/_-](?=[^\W\d_])|$)")  # a cell wraps after a word, but not within a number
_ITEM = re.compile(r"[^,]+,?\s*|,\s*")  # a list wraps after a comma before it wraps within a name


def print_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    whole: Collection[int] = (),
    unbroken: Collection[int] = (),
) -> None:
    color = has_color()
    lines = table(headings, rows, width=terminal_width(), color=color, whole=whole, unbroken=unbroken)
    if color:
        write_controls("".join(f"{each}\n" for each in lines), sys.stdout)
        return
    for line in lines:
        print(line)


def print_pairs(headings: Sequence[str], rows: Sequence[Sequence[str]], whole: Collection[int] = ()) -> None:
    """Each row as lines of a heading and its cell; empty cells are left out."""
    for line in _pairs(headings, [[visible(each) for each in row] for row in rows], terminal_width(), whole):
        print(line)


def _pairs(
    headings: Sequence[str], rows: Sequence[Sequence[str]], width: int | None, whole: Collection[int]
) -> list[str]:
    space = max(map(len, headings)) + len(_GAP)
    lines: list[str] = []
    for row in rows:
        lines += [""] if lines else []
        for number, (heading, cell) in enumerate(zip(headings, row, strict=True)):
            room = len(cell) or 1 if width is None or number in whole else max(width - space, _LEAST)
            parts = _wrapped(cell, room) if cell else []
            lines += [f"{heading.lower() if n == 0 else '':<{space}}{part}" for n, part in enumerate(parts)]
    return lines


def table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int | None = None,
    color: bool = False,
    whole: Collection[int] = (),
    unbroken: Collection[int] = (),
) -> list[str]:
    """The lines. Cells that do not fit wrap within their column, or a last column of sentences moves below its row.

    Cells of the columns `whole` are never wrapped: other columns move below the rows instead, or each cell gets a line.
    Columns `unbroken` move below the rows before they are wrapped.
    """
    cells = [[visible(each) for each in row] for row in rows]
    columns = list(zip(headings, *cells, strict=True))
    widths = [max(map(text_width, column)) for column in columns]
    kept = list(range(len(columns)))
    if width is not None:
        kept = kept[:-1] if _wants_its_own_lines(columns, widths, width) else kept
        fitted = _fitted([columns[each] for each in kept], [widths[each] for each in kept], width)
        firm = {*whole, *unbroken}
        if any(fitted[kept.index(each)] < widths[each] for each in firm if each in kept):
            kept = _kept_beside(columns, widths, width, whole, firm)
            fitted = _fitted([columns[each] for each in kept], [widths[each] for each in kept], width, _at(kept, firm))
        if sum(fitted) + len(_GAP) * (len(kept) - 1) > width and whole:
            return _pairs(headings, cells, width, whole)
        widths = fitted
    lines = [_line([headings[each] for each in kept], widths)]
    lines[0] = f"\x1b[1m{lines[0]}\x1b[0m" if color else lines[0]
    for row in cells:
        wrapped = _lines_of([row[each] for each in kept], widths)
        if width is not None:
            wrapped += _lines_below([(headings[n], row[n]) for n in range(len(row)) if n not in kept and row[n]], width)
        marked = color and any("! " in cell for cell in row)
        lines += [f"\x1b[31m{line}\x1b[0m" if marked else line for line in wrapped]
    return lines


def _lines_below(cells: Sequence[tuple[str, str]], width: int) -> list[str]:
    """The cells printed below their row, several on a line if they are short."""
    lines: list[str] = []
    for text in (f"{heading.lower()}: {cell}" for heading, cell in cells):
        if lines and text_width(_GAP.join((lines[-1], text))) <= width - len(_BELOW):
            lines[-1] = _GAP.join((lines[-1], text))
        else:
            lines += _wrapped(text, width - len(_BELOW))
    return [f"{_BELOW}{line}" for line in lines]


def _at(kept: Sequence[int], whole: Collection[int]) -> list[int]:
    return [place for place, each in enumerate(kept) if each in whole]


def _kept_beside(
    columns: Sequence[Sequence[str]], widths: Sequence[int], width: int, whole: Collection[int], firm: Collection[int]
) -> list[int]:
    """The columns that stay side by side; the last ones that are not `whole` move below their rows.

    Cells of `firm` columns that stay are not wrapped.
    """
    least = [
        widths[number] if number in firm else max(text_width(column[0]), *map(_longest_part, column))
        for number, column in enumerate(columns)
    ]
    kept = list(range(len(columns)))
    for number in reversed(range(1, len(columns))):
        if number not in kept:
            continue
        if sum(least[each] for each in kept) + len(_GAP) * (len(kept) - 1) <= width:
            break
        if number not in whole:
            kept.remove(number)
        partner = _TOGETHER.get(columns[number][0])
        if partner == columns[number - 1][0] and number not in kept and number > 1:
            kept.remove(number - 1)
    return kept


def _longest_part(cell: str) -> int:
    """Minimum width of a column: words of sentences and short names are not split, other names wrap after a dot."""
    if " " not in cell and text_width(cell) <= _SHORT_NAME:
        return text_width(cell)
    parts = _words(cell) if " " in cell else [part.rstrip() for part in _PART.findall(cell)]
    return max(map(text_width, parts), default=0)


def _words(cell: str) -> list[str]:
    return [each.strip() for each in _WORD.findall(cell)]


def _lines_of(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    wrapped = [_wrapped(cell, space) for cell, space in zip(row, widths, strict=True)]
    return [
        _line([each[number] if number < len(each) else "" for each in wrapped], widths)
        for number in range(max(map(len, wrapped)))
    ]


def _wants_its_own_lines(columns: Sequence[Sequence[str]], widths: Sequence[int], width: int) -> bool:
    """Whether the last column has sentences in only a few rows, and names would have to wrap to make room for it."""
    least = sum(map(_least_of_sentences, columns, widths)) + len(_GAP) * (len(widths) - 1)
    *_, last = columns
    empty = sum(not cell for cell in last[1:])
    return least > width and len(columns) > _MANY and empty > 0 and _least_of_sentences(last, widths[-1]) < widths[-1]


def terminal_width() -> int | None:
    """The width of the terminal; None if there is none, and lines are not wrapped."""
    if not sys.stdout.isatty():
        return None
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except OSError:
        return None


def has_color() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def text_width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(each) in "WF" else 1 for each in text)


def _fitted(columns: Sequence[Sequence[str]], widths: list[int], width: int, whole: Collection[int] = ()) -> list[int]:
    """Narrow the widest columns until all fit: sentences first, then names after their dots, then words.

    Headings are not split, numbers and dates only if nothing else helps; the time wraps below its date before a word is
    split.
    """
    room = width - len(_GAP) * (len(widths) - 1)
    if sum(widths) <= room:
        return widths
    parts = [[part.rstrip() for cell in column for part in _PART.findall(cell)] for column in columns]
    longest = [max(map(text_width, each), default=0) for each in parts]
    numbers = [max((len(part) for part in each if not _LETTER.search(part)), default=0) for each in parts]
    least = [
        max(text_width(column[0]), min(_LEAST, word), min(_LEAST * 2, number))
        for column, word, number in zip(columns, longest, numbers, strict=True)
    ]
    any_part = [max(text_width(column[0]), min(_LEAST, word)) for column, word in zip(columns, longest, strict=True)]
    words = [max(text_width(column[0]), word) for column, word in zip(columns, longest, strict=True)]
    narrowed = widths
    for stage in (list(map(_least_of_sentences, columns, widths)), words, least, any_part):
        kept = [widths[number] if number in whole else each for number, each in enumerate(stage)]
        narrowed = _narrowed(narrowed, kept, room)
    return _spread(columns, widths, narrowed, room)


def _least_of_sentences(column: Sequence[str], width: int) -> int:
    """The minimum width of a column: the longest word of sentences, or the whole cell of other columns."""
    heading, *cells = column
    if not any(" " in cell and _LETTER.search(cell) for cell in cells):
        return width
    return max(text_width(heading), *(text_width(word) for cell in cells for word in _words(cell)))


def _narrowed(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Narrow the widest columns until everything fits, or no column can be narrowed further."""
    narrowed = list(widths)
    while sum(narrowed) > room:
        giving = [number for number, each in enumerate(narrowed) if each > least[number]]
        if not giving:
            break
        narrowed[max(giving, key=narrowed.__getitem__)] -= 1
    return narrowed


def _spread(columns: Sequence[Sequence[str]], wanted: Sequence[int], narrowed: Sequence[int], room: int) -> list[int]:
    """Use the space left after wrapping to unwrap columns, then widen those that need it most."""
    spread = [
        max(text_width(line) for cell in column for line in _wrapped(cell, space))
        for column, space in zip(columns, narrowed, strict=True)
    ]
    needy = sorted(range(len(spread)), key=lambda each: wanted[each] - spread[each])
    for number in needy:
        if wanted[number] - spread[number] <= room - sum(spread):
            spread[number] = wanted[number]
    for number in reversed(needy):
        spread[number] += max(0, min(room - sum(spread), wanted[number] - spread[number]))
    return spread


def _wrapped(text: str, space: int) -> list[str]:
    """Lines of at most `space` columns, wrapped after words; a longer word after a dot or the like within it."""
    if text_width(text) <= space:
        return [text]
    lines = [""]
    for part in _breakable(text, space):
        if lines[-1] and text_width(lines[-1] + part.rstrip()) > space:
            lines.append("")
        while text_width(part.rstrip()) > space:  # a word that is wider than the space
            fits = next(n for n in range(min(space, len(part)), 0, -1) if text_width(part[:n]) <= space or n == 1)
            lines[-1:] = [part[:fits], ""]
            part = part[fits:]
        lines[-1] += part
    return [line.rstrip() for line in lines if line.strip()] or [""]


def _breakable(text: str, space: int) -> list[str]:
    """The parts of a text, no wider than `space` if possible: words, then items of lists, then names up to a dot."""
    parts = _WORD.findall(text)
    for finer in (_ITEM, _PART):
        parts = [p for each in parts for p in ([each] if text_width(each.rstrip()) <= space else finer.findall(each))]
    return parts


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (space - text_width(cell)) for cell, space in zip(cells, widths, strict=True))
    return _GAP.join(padded).rstrip()
