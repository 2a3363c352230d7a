"""Tables for people: aligned columns, no wider than the terminal, colours only where someone looks.

Written here since importing a library for it would cost more time than most commands take.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from unicodedata import east_asian_width

_GAP = "  "
_LEAST = 12  # characters that a column keeps, however narrow the terminal
_CONTROL = {**dict.fromkeys(range(32), " "), **dict.fromkeys(range(127, 160), " ")}


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    for line in table(headings, rows, width=terminal_width(), colour=has_colour()):
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
            for place, part in enumerate(_wrapped(clean(cell), room) if cell else []):
                print(f"{heading.lower() if place == 0 else '':<{space}}{part}")


def table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, width: int | None = None, colour: bool = False
) -> list[str]:
    """The lines. Cells that do not fit go on below, in their column; nothing is cut off."""
    cells = [[clean(each) for each in row] for row in rows]
    widths = [max(map(text_width, column)) for column in zip(headings, *cells, strict=True)]
    if width is not None:
        widths = _fitted(widths, width)
    lines = [_line(headings, widths)]
    lines[0] = f"\x1b[1m{lines[0]}\x1b[0m" if colour else lines[0]
    for row in cells:
        wrapped = [_wrapped(cell, space) for cell, space in zip(row, widths, strict=True)]
        for number in range(max(map(len, wrapped))):
            line = _line([each[number] if number < len(each) else "" for each in wrapped], widths)
            lines.append(f"\x1b[31m{line}\x1b[0m" if colour and any("! " in cell for cell in row) else line)
    return lines


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


def clean(text: str) -> str:
    """Names and values may hold anything; a terminal must not take it for orders."""
    return text if text.isprintable() else text.translate(_CONTROL)


def _fitted(widths: list[int], width: int) -> list[int]:
    """The widest columns give way until all fit."""
    widths = list(widths)
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - width
    while excess > 0:
        widest = max(range(len(widths)), key=widths.__getitem__)
        others = [each for number, each in enumerate(widths) if number != widest]
        least = max([_LEAST, *(each for each in others if each < widths[widest])])
        least = min(least, widths[widest] - 1)
        if widths[widest] <= _LEAST:
            break
        cut = min(excess, widths[widest] - max(least, _LEAST))
        widths[widest] -= max(1, cut)
        excess -= max(1, cut)
    return widths


def _wrapped(text: str, space: int) -> list[str]:
    lines = []
    while text_width(text) > space:
        fits = space
        while text_width(text[:fits]) > space:
            fits -= 1
        lines.append(text[:fits])
        text = text[fits:]
    return [*lines, text]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (space - text_width(cell)) for cell, space in zip(cells, widths, strict=True))
    return _GAP.join(padded).rstrip()
