"""Exports a cluster, or a part of it, as declarative files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kconf.configdef.units import shown_value
from kconf.operations.selection.unknown_names import check_scopes
from kconf.operations.state import read_scopes, set_values

if TYPE_CHECKING:
    from kconf.engine.declarative.model import Scope
    from kconf.model.cluster_state import ClusterState
    from kconf.operations.target import Target


class Export(NamedTuple):
    """The files by name, and the state from which they were generated."""

    files: dict[str, str]
    state: ClusterState


def export_files(target: Target, scopes: Sequence[Scope]) -> Export:
    """The files that declare what the scopes cover; without scopes, the whole cluster."""
    from kconf.engine.declarative.export import declared_files
    from kconf.engine.declarative.model import Declared
    from kconf.operations.declarative.files import ignored_by

    state = read_scopes(target, scopes)
    check_scopes([target], scopes, set_values(state).keys(), has_record=False)
    declared = Declared(selectors=tuple(scopes), ignored=ignored_by(target.context))
    return Export(declared_files(state, declared, _value), state)


def _value(name: str, raw: str) -> str:
    """A value with its unit, if parsing it returns the same value."""
    return shown_value(name, raw) if raw.isdigit() and raw != "0" else raw
