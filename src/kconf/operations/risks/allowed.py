"""The risks that a command allows: `--allow-risk NAME,…`, and `--allow-data-loss` for data loss."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from kconf.engine.risks import Risk, RiskName
from kconf.errors import ConfigurationError
from kconf.operations.errors import Aborted
from kconf.operations.planned_change import PlannedChange

MARK: Final = "! may delete data"


def parse_risks(names: Iterable[str], *, data_loss: bool = False) -> frozenset[RiskName]:
    """The risks named by the options. A value may be a comma-separated list."""
    found = {RiskName.DATA_LOSS} if data_loss else set()
    for name in (each.strip() for text in names for each in text.split(",")):
        if name not in list(RiskName):
            from kconf.util.yaml.reader import suggestion

            close = suggestion(name, list(RiskName)) or f"; use one of {', '.join(RiskName)}"
            raise ConfigurationError(f"unknown risk {name!r}{close}")
        found.add(RiskName(name))
    return frozenset(found)


def check_risks(changes: Sequence[PlannedChange], allowed: Collection[RiskName]) -> None:
    """Refuse changes with a risk that is not allowed."""
    risky = [(change, risk) for change in changes for risk in change.risks if not is_allowed(risk, allowed)]
    if not risky:
        return
    change, first = risky[0]
    count = len({(each.resource, each.key) for each, _ in risky})
    more = f", and {count - 1} more" if count > 1 else ""
    what = f"{change.shown.get('resource', change.resource)} {change.key}".strip()
    options = _options(dict.fromkeys(risk.name for _, risk in risky))
    raise Aborted(f"{what}: {risk_mark(first)} ({first.why}){more}; nothing was changed: pass {options} to allow it")


def is_allowed(risk: Risk, allowed: Collection[RiskName]) -> bool:
    return risk.allowed or risk.name in allowed


def risk_mark(risk: Risk) -> str:
    return MARK if risk.name is RiskName.DATA_LOSS else f"! {risk.name}"


def _options(names: Iterable[RiskName]) -> str:
    named = list(names)
    if named == [RiskName.DATA_LOSS]:
        return "--allow-data-loss"
    return f"--allow-risk {','.join(named)}"
