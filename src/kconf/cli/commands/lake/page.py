"""The report as one HTML page, without scripts and external files, for light and dark screens and for print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final, NamedTuple

from kconf.cli.commands.lake.plots import COLORS

_STYLE: Final = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --faint: #59636e; --line: #d8dee4; --card: #f6f8fa;
  --c0: #0072b2; --c1: #c48200; --c2: #009e73; --c3: #d55e00; --c4: #cc79a7; --c5: #8c959f; }
@media (prefers-color-scheme: dark) { :root { --paper: #0d1117; --ink: #e6edf3; --faint: #9198a1; --line: #30363d;
  --card: #161b22; --c0: #58a6ff; --c1: #f0b429; --c2: #3fb98f; --c3: #f47c48; --c4: #dc9bc4; --c5: #7d8590; } }
@media print { :root { color-scheme: light; } section { break-inside: avoid; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 60rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2.5rem 0 .25rem; }
p { margin: .25rem 0 1rem; color: var(--faint); }
svg { width: 100%; height: auto; display: block; font: 12px system-ui, sans-serif; }
.grid { stroke: var(--line); } text { fill: var(--faint); } text.axis { text-anchor: end; }
text.date { text-anchor: middle; }
ul.bars { padding: 0; margin: .75rem 0; list-style: none; font-size: .85rem; font-variant-numeric: tabular-nums; }
ul.bars li { display: grid; grid-template-columns: 15rem 1fr 4rem; gap: 0 .75rem; align-items: center; }
ul.bars span { text-align: right; overflow-wrap: anywhere; } ul.bars svg { height: 1rem; margin: .3rem 0; }
ul.bars b { font-weight: normal; }
@media (max-width: 40rem) { ul.bars li { grid-template-columns: 1fr 3rem; } ul.bars span { grid-column: 1 / -1;
  text-align: left; } ul.bars svg { margin: .1rem 0 .5rem; } .scroll svg { min-width: 34rem; font-size: 16px; } }
ul.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .75rem; padding: 0;
  margin: 1.5rem 0 0; list-style: none; }
ul.tiles li { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem;
  color: var(--faint); }
ul.tiles b { display: block; font-size: 1.5rem; font-variant-numeric: tabular-nums; color: var(--ink); }
ul.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: 0; margin: .5rem 0; list-style: none;
  font-size: .85rem; overflow-wrap: anywhere; } ul.legend li { display: flex; gap: .4rem; align-items: baseline; }
ul.legend i { flex: none; width: .8rem; height: .8rem; border-radius: .15rem; }
.scroll { overflow-x: auto; margin-top: .75rem; } table { border-collapse: collapse; width: 100%; min-width: 46rem;
  font-size: .85rem; }
th, td { text-align: left; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--faint); font-weight: 600; } td { overflow-wrap: break-word; max-width: 18rem; }
td.none { color: var(--faint); }
"""


class ReportSection(NamedTuple):
    """A heading, a sentence, and a plot with its legend, a table, or both."""

    title: str
    about: str
    plot: str = ""
    legend: Mapping[str, int] = {}  # names and their colors
    headings: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


def page(title: str, about: str, tiles: Mapping[str, int | None], sections: Sequence[ReportSection]) -> str:
    """The whole document. The figure of a tile is None if it is unknown."""
    colors = "".join(
        f".s{number} {{ fill: var(--c{number}); background: var(--c{number}); }}\n" for number in range(COLORS)
    )
    items = "".join(
        f"<li><b>{'unknown' if count is None else f'{count:,}'}</b>{escape(name)}</li>" for name, count in tiles.items()
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}{colors}</style>\n</head>\n<body>\n"
        f'<h1>{escape(title)}</h1>\n<p>{escape(about)}</p>\n<ul class="tiles">{items}</ul>\n'
        f"{''.join(map(_section, sections))}</body>\n</html>\n"
    )


def _section(section: ReportSection) -> str:
    legend = "".join(
        f'<li><i class="s{number % COLORS}"></i>{escape(name)}</li>' for name, number in section.legend.items()
    )
    return (
        f"<section>\n<h2>{escape(section.title)}</h2>\n<p>{escape(section.about)}</p>\n{section.plot}"
        + (f'<ul class="legend">{legend}</ul>\n' if legend else "")
        + (_table(section.headings, section.rows) if section.rows else "")
        + "</section>\n"
    )


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in headings)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>\n'


def _cell(text: str) -> str:
    return f"<td>{escape(text)}</td>" if text else '<td class="none">–</td>'
