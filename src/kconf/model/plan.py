"""Plans: what a request would change. Planning has no side effects; committing the plan applies it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from kconf.errors import ApiError
from kconf.model.journal import Change, RequestContext
from kconf.model.resource import Resource
from kconf.model.snapshot import Snapshot

if TYPE_CHECKING:
    from kconf.model.alteration import RequestedChange

T = TypeVar("T")

Refusals = Mapping[Resource, ApiError]
"""The resources whose changes a store was refused, and why."""


@dataclass(frozen=True, slots=True)
class Plan(Generic[T]):
    """The changes of a request, and its result once they are committed.

    `guards` has each resource that the plan depends on, and the revision of its last change when it was planned.
    `operations` are the requested ones that led to the changes, for a store that passes them on to another cluster.
    Such a store may be refused some resources: `revised` is then the result, from the outcome, the refusals, and the
    state after the commit.
    """

    outcome: T
    changes: Sequence[Change] = ()
    guards: Mapping[Resource, int] = field(default_factory=dict)
    operations: Sequence[RequestedChange] = ()
    revised: Callable[[T, Refusals, Snapshot], T] | None = None


class PendingCommit(NamedTuple):
    """A plan that is ready to be committed."""

    caller: RequestContext
    time: int
    changes: Sequence[Change]
    guards: Mapping[Resource, int]
    operations: Sequence[RequestedChange] = ()
