"""Tables: aligned columns, no wider than the terminal, colors only at a terminal.

Written here since importing a library for it would cost more time than most commands take.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from unicodedata import east_asian_width

from kconf.cli.output.safe_text import visible, write_controls

_GAP = "  "
_BELOW = "    "
_MANY = 5  # columns, from which on a last one of sentences may stand below its row
_LEAST = 8  # characters that a column keeps, however narrow the terminal
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"\s*\S+\s*")
_PART = re.compile(r".+?(?:\s+|[.,:/_-](?=[^\W\d_])|$)")  # a cell goes on below behind a word, but not within a number


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    colour = has_colour()
    lines = table(headings, rows, width=terminal_width(), colour=colour)
    if colour:
        write_controls("".join(f"{each}\n" for each in lines), sys.stdout)
        return
    for line in lines:
        print(line)


def print_pairs(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Each row as lines of a heading and its cell; empty cells are left out."""
    space = max(map(len, headings)) + len(_GAP)
    width = terminal_width()
    for number, row in enumerate(rows):
        if number:
            print()
        for heading, cell in zip(headings, row, strict=True):
            room = len(cell) or 1 if width is None else max(width - space, _LEAST)
            for place, part in enumerate(_wrapped(visible(cell), room) if cell else []):
                print(f"{heading.lower() if place == 0 else '':<{space}}{part}")


def table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, width: int | None = None, colour: bool = False
) -> list[str]:
    """The lines. Cells that do not fit go on below, in their column, or a last one of sentences below its row."""
    cells = [[visible(each) for each in row] for row in rows]
    columns = list(zip(headings, *cells, strict=True))
    widths = [max(map(text_width, column)) for column in columns]
    below = 0
    if width is not None:
        below = 1 if _wants_its_own_lines(columns, widths, width) else 0
        kept = len(columns) - below
        widths = _fitted(columns[:kept], widths[:kept], width)
    lines = [_line(headings[: len(widths)], widths)]
    lines[0] = f"\x1b[1m{lines[0]}\x1b[0m" if colour else lines[0]
    for row in cells:
        wrapped = _lines_of(row[: len(widths)], widths)
        if below and row[-1] and width is not None:
            sentence = f"{headings[-1].lower()}: {row[-1]}"
            wrapped += [f"{_BELOW}{line}" for line in _wrapped(sentence, width - len(_BELOW))]
        marked = colour and any("! " in cell for cell in row)
        lines += [f"\x1b[31m{line}\x1b[0m" if marked else line for line in wrapped]
    return lines


def _lines_of(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    wrapped = [_wrapped(cell, space) for cell, space in zip(row, widths, strict=True)]
    return [
        _line([each[number] if number < len(each) else "" for each in wrapped], widths)
        for number in range(max(map(len, wrapped)))
    ]


def _wants_its_own_lines(columns: Sequence[Sequence[str]], widths: Sequence[int], width: int) -> bool:
    """Whether the last column has sentences that few rows have, and names would be broken for their sake."""
    least = sum(map(_least_of_sentences, columns, widths)) + len(_GAP) * (len(widths) - 1)
    *_, last = columns
    empty = sum(not cell for cell in last[1:])
    return least > width and len(columns) > _MANY and empty > 0 and _least_of_sentences(last, widths[-1]) < widths[-1]


def terminal_width() -> int | None:
    """None where there is no terminal: then lines are as long as they are."""
    if not sys.stdout.isatty():
        return None
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except OSError:
        return None


def has_colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def text_width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(each) in "WF" else 1 for each in text)


def _fitted(columns: Sequence[Sequence[str]], widths: list[int], width: int) -> list[int]:
    """Narrow the widest columns until all fit: sentences first, then names after their dots, then words.

    Headings stay whole, and so do numbers and dates; a date's time goes below it before a word is broken.
    """
    room = width - len(_GAP) * (len(widths) - 1)
    if sum(widths) <= room:
        return widths
    parts = [[part.rstrip() for cell in column for part in _PART.findall(cell)] for column in columns]
    whole = [max(map(text_width, each), default=0) for each in parts]
    numbers = [max((len(part) for part in each if not _LETTER.search(part)), default=0) for each in parts]
    least = [
        max(text_width(column[0]), min(_LEAST, word), min(_LEAST * 2, number))
        for column, word, number in zip(columns, whole, numbers, strict=True)
    ]
    words = [max(text_width(column[0]), word) for column, word in zip(columns, whole, strict=True)]
    narrowed = widths
    for stage in (list(map(_least_of_sentences, columns, widths)), words, least):
        narrowed = _narrowed(narrowed, stage, room)
    return _spread(columns, widths, narrowed, room)


def _least_of_sentences(column: Sequence[str], width: int) -> int:
    """The widest word of a column of sentences, which are broken anywhere; all of another column."""
    heading, *cells = column
    if not any(" " in cell and _LETTER.search(cell) for cell in cells):
        return width
    return max(text_width(heading), *(text_width(word) for cell in cells for word in cell.split()))


def _narrowed(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Take from the widest until there is room, or no column has anything left to give."""
    narrowed = list(widths)
    while sum(narrowed) > room:
        giving = [number for number, each in enumerate(narrowed) if each > least[number]]
        if not giving:
            break
        narrowed[max(giving, key=narrowed.__getitem__)] -= 1
    return narrowed


def _spread(columns: Sequence[Sequence[str]], wanted: Sequence[int], narrowed: Sequence[int], room: int) -> list[int]:
    """What is left free where lines were broken makes columns whole, and what then is left goes to the neediest."""
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
    words = _WORD.findall(text)
    for part in [p for word in words for p in ([word] if text_width(word.rstrip()) <= space else _PART.findall(word))]:
        if lines[-1] and text_width(lines[-1] + part.rstrip()) > space:
            lines.append("")
        while text_width(part.rstrip()) > space:  # a word that is wider than all there is
            fits = next(n for n in range(min(space, len(part)), 0, -1) if text_width(part[:n]) <= space or n == 1)
            lines[-1:] = [part[:fits], ""]
            part = part[fits:]
        lines[-1] += part
    return [line.rstrip() for line in lines if line.strip()] or [""]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (space - text_width(cell)) for cell, space in zip(cells, widths, strict=True))
    return _GAP.join(padded).rstrip()
