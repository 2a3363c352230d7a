"""Errors of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kconf.errors import KconfError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kconf.engine.declarative.diff import Difference


class Aborted(KconfError):
    """Not confirmed, or not permitted without another option. Nothing was done."""


class PlanRejected(Aborted):
    """A plan that cannot be executed or written."""


class PlanOutOfDate(PlanRejected):
    """The cluster has changed since the plan was made; `moved` are the affected differences."""

    def __init__(self, message: str, moved: Sequence[Difference]) -> None:
        super().__init__(message)
        self.moved = moved


class NotVisible(KconfError):
    """Changes were accepted, but the cluster does not show them in time."""
