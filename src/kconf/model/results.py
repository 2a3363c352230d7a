"""The results of a request about several resources: a value or an error for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from kconf.errors import ApiError, name_of

K = TypeVar("K")
V = TypeVar("V")


_SHOWN = 20  # maximum results in a repr
_SHOWN_HTML = 200


class Results(Mapping[K, V], Generic[K, V]):
    """One result per resource. `results[resource]` returns the value or raises the error of the resource.

    Iterating yields the resources. `failures` has the errors, as values; `items()` and `values()` raise the first one.
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[K, V | ApiError]) -> None:
        self._items = dict(items)

    def __getitem__(self, key: K) -> V:
        value = self._items[key]
        if isinstance(value, ApiError):
            raise value.error(key)
        return value

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    @property
    def failures(self) -> dict[K, ApiError]:
        return {key: value for key, value in self._items.items() if isinstance(value, ApiError)}

    def raise_for_failures(self) -> None:
        """Raise all failures as an ExceptionGroup, if there are any."""
        errors = [failure.error(key) for key, failure in self.failures.items()]
        if errors:
            raise ExceptionGroup(f"{len(errors)} of {len(self)} failed", errors)

    def __repr__(self) -> str:
        rows = [f"{name_of(key)}: {_short(value)}" for key, value in list(self._items.items())[:_SHOWN]]
        if len(self) > _SHOWN:
            rows.append(f"… and {len(self) - _SHOWN} more")
        return f"{type(self).__name__}({len(self)} results, {len(self.failures)} failed: {{{', '.join(rows)}}})"

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        from html import escape

        rows = [
            f"<tr><td>{escape(name_of(key))}</td><td>{_cell(value)}</td></tr>"
            for key, value in list(self._items.items())[:_SHOWN_HTML]
        ]
        if len(self) > _SHOWN_HTML:
            rows.append(f"<tr><td>… and {len(self) - _SHOWN_HTML} more</td><td></td></tr>")
        title = f"{len(self)} results, {len(self.failures)} failed"
        return f"<table><caption>{title}</caption><tbody>{''.join(rows)}</tbody></table>"


def _short(value: object) -> str:
    if value is None:
        return "done"
    if isinstance(value, ApiError):
        return str(value)
    return f"{len(value)} entries" if isinstance(value, Mapping) else repr(value)


def _cell(value: object) -> str:
    from html import escape

    table = getattr(value, "_repr_html_", None)
    if table is None:
        return f"<b>{escape(str(value))}</b>" if isinstance(value, ApiError) else escape(_plain(value))
    return f"<details><summary>{escape(_short(value))}</summary>{table()}</details>"


def _plain(value: object) -> str:
    return "done" if value is None else repr(value)
