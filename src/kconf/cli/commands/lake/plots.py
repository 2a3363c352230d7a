"""Plots inside a page: bars over days as one SVG, and bars next to names as a list with an SVG per bar.

Colors come from the page's style sheet. Labels next to bars are HTML text, so that they keep their size and wrap on
narrow screens; text inside an SVG would shrink. Every bar has a title with its numbers for browsers and screen readers.
Nothing is loaded or executed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from html import escape
from typing import Final

COLORS: Final = 6  # series with their own color; the last one is for all others
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 760, 240, 56, 30, 10
_LONGEST, _SHORTEST = 1000, 2  # bars next to names, as a fraction of the row


def over_days(days: Sequence[date], series: Mapping[str, Sequence[int]], what: str) -> str:
    """Stacked bars, one per day; `series` has a number per day for each name, at most COLORS names."""
    totals = [sum(figures) for figures in zip(*series.values(), strict=True)]
    top = nice(max(totals, default=0))
    parts = [*_grid(top), *_dates(days)]
    step = (_WIDTH - _LEFT) / max(len(days), 1)
    for place, day in enumerate(days):
        base = float(_HEIGHT - _BOTTOM)
        for number, (name, figures) in enumerate(series.items()):
            if figures[place]:
                height = figures[place] / top * (_HEIGHT - _BOTTOM - _TOP)
                base -= height
                tooltip = f"{day.isoformat()}: {name}, {figures[place]:,} of {totals[place]:,} {what}"
                parts.append(_bar(number, (_LEFT + (place + 0.1) * step, base), (step * 0.8, height), tooltip))
    plot = _svg((_WIDTH, _HEIGHT), parts, f"{what} per day, {sum(totals):,} in all")
    return f'<div class="scroll">{plot}</div>\n'


def beside_names(figures: Mapping[str, Mapping[str, int]], kinds: Mapping[str, int], what: str) -> str:
    """Bars next to names, in order; each consists of numbers by kind, and `kinds` sets order and color."""
    top = max((sum(each.values()) for each in figures.values()), default=0) or 1
    items = []
    for name, each in figures.items():
        left, parts = 0.0, []
        for kind, number in kinds.items():
            if each.get(kind):
                width = max(each[kind] / top * (_LONGEST - _SHORTEST * len(kinds)), _SHORTEST)
                tooltip = f"{name}: {each[kind]:,} {what}" + (f" ({kind})" if kind else "")
                parts.append(_bar(number, (left, 0), (width, 1), tooltip))
                left += width
        total = sum(each.values())
        bar = _svg((_LONGEST, 1), parts, f"{name}: {total:,} {what}", 'preserveAspectRatio="none" ')
        items.append(f"<li><span>{escape(name)}</span>{bar}<b>{total:,}</b></li>")
    return f'<ul class="bars">{"".join(items)}</ul>\n'


def _bar(number: int, corner: tuple[float, float], size: tuple[float, float], tooltip: str) -> str:
    (x, y), (width, height) = corner, size
    return (
        f'<rect class="s{number % COLORS}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}">'
        f"<title>{escape(tooltip)}</title></rect>"
    )


def nice(largest: int) -> int:
    """Round up to a number that divides well into four, for an axis with four sections."""
    power = 1
    while largest > 32 * power:
        power *= 10
    return next(step * power for step in (4, 8, 12, 16, 20, 24, 32) if step * power >= largest)


def _grid(top: int) -> list[str]:
    parts = []
    for quarter in range(5):
        height = _HEIGHT - _BOTTOM - quarter / 4 * (_HEIGHT - _BOTTOM - _TOP)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH}" y1="{height:.1f}" y2="{height:.1f}"/>')
        parts.append(f'<text class="axis" x="{_LEFT - 6}" y="{height + 4:.1f}">{quarter * top // 4:,}</text>')
    return parts


def _dates(days: Sequence[date]) -> list[str]:
    step = (_WIDTH - _LEFT) / max(len(days), 1)
    every = max(1, -(-len(days) // 8))
    return [
        f'<text class="date" x="{_LEFT + (place + 0.5) * step:.1f}" y="{_HEIGHT - 8}">{day:%d %b}</text>'
        for place, day in enumerate(days)
        if place % every == 0
    ]


def _svg(size: tuple[int, int], parts: Sequence[str], title: str, more: str = "") -> str:
    width, height = size
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {more}role="img" '
        f'aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )
