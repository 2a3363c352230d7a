"""Rows of the table: the figures of both servers, the goal, and whether it was reached."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Series = Mapping[str, Sequence[float]]

_WIDTHS = (62, 11, 11, 8, 24)
_HEADINGS = ("work", "kafka", "kconf", "ratio", "goal")
QUIET = 0.15  # cores that others may use before a row is marked


@dataclass(frozen=True, slots=True)
class Goal:
    """`times`: kconf ≥ n × kafka · `part`: kconf ≤ kafka / n · `most`, `least`: limits for kconf alone."""

    kind: Literal["times", "part", "most", "least"]
    bound: float
    text: str = ""

    def __str__(self) -> str:
        number = f"{self.bound:g}"
        plain = {"times": f"≥ {number}×", "part": f"≤ 1/{number}", "most": f"≤ {number}", "least": f"≥ {number}"}
        return self.text or plain[self.kind]

    def reach(self, kafka: float | None, kconf: float | None) -> float | None:
        """The ratio to the goal: reached at 1 or more; None if a figure is missing."""
        if not kconf or (self.kind in ("times", "part") and not kafka):
            return None
        match self.kind:
            case "times":
                return kconf / (kafka or 1.0) / self.bound
            case "part":
                return (kafka or 1.0) / kconf / self.bound
            case "most":
                return self.bound / kconf
            case "least":
                return kconf / self.bound


@dataclass(frozen=True, slots=True)
class Row:
    """One line. The figures are medians of rounds; `others` is the highest load of other processes, in cores."""

    work: str
    unit: str
    series: Series
    goals: Sequence[Goal] = ()
    less_is_better: bool = False
    others: float = 0.0
    notes: Mapping[str, Any] = field(default_factory=dict)

    def figure(self, peer: str) -> float | None:
        numbers = self.series.get(peer)
        return statistics.median(numbers) if numbers else None

    @property
    def ratio(self) -> float | None:
        """kconf compared with Kafka, so that higher is better."""
        kafka, kconf = self.figure("kafka"), self.figure("kconf")
        if not kafka or not kconf:
            return None
        return kafka / kconf if self.less_is_better else kconf / kafka

    @property
    def verdict(self) -> str:
        reaches = [each.reach(self.figure("kafka"), self.figure("kconf")) for each in self.goals]
        known = [each for each in reaches if each is not None]
        if not known or len(known) < len(reaches):
            return ""
        worst = min(known)
        return "reached" if worst >= 1 else f"short: {worst:.1%} of the goal"

    def __str__(self) -> str:
        ratio = "" if self.ratio is None else f"{self.ratio:.3g}×"
        if self.ratio is not None and self.ratio >= 100:
            ratio = f"{self.ratio:.0f}×"
        figures = [_figure(self.figure(peer), self.unit) for peer in ("kafka", "kconf")]
        goal = ", ".join(map(str, self.goals))
        disturbed = f"  ({self.others:.1f} cores were taken by others)" if self.others > QUIET else ""
        return _line((self.work, *figures, ratio, goal), self.verdict + disturbed)

    def record(self) -> dict[str, Any]:
        """The row for the results file."""
        return {
            "work": self.work,
            "unit": self.unit,
            **{peer: self.figure(peer) for peer in ("kafka", "kconf")},
            "ratio": self.ratio,
            "goals": [str(each) for each in self.goals],
            "verdict": self.verdict,
            "rounds": {peer: list(numbers) for peer, numbers in self.series.items()},
            "others": self.others,
            "notes": dict(self.notes),
        }


def heading() -> str:
    return _line(_HEADINGS, "") + "\n" + "-" * (sum(_WIDTHS) + 2 * len(_WIDTHS) + 8)


def _line(cells: Sequence[str], verdict: str) -> str:
    first, *rest, goal = (f"{cell:>{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))
    return "  ".join([first.strip().ljust(_WIDTHS[0]), *rest, goal.strip().ljust(_WIDTHS[-1]), verdict]).rstrip()


def _figure(number: float | None, unit: str) -> str:
    if number is None:
        return "–"
    if unit == "ms":
        return f"{number * 1e3:,.3g} ms" if number < 1 else f"{number * 1e3:,.0f} ms"
    digits = f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
    return digits + unit if unit in ("/s", "×") else f"{digits} {unit}"
