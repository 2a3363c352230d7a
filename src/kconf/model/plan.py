"""Plans: what a request would change. Planning has no side effects; committing the plan applies it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from kconf.model.journal import Change, RequestContext
from kconf.model.resource import Resource

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plan(Generic[T]):
    """The changes of a request, and its result once they are committed.

    `guards` has each resource that the plan depends on, and the revision of its last change when it was planned.
    """

    outcome: T
    changes: Sequence[Change] = ()
    guards: Mapping[Resource, int] = field(default_factory=dict)


class PendingCommit(NamedTuple):
    """A plan that is ready to be committed."""

    caller: RequestContext
    time: int
    changes: Sequence[Change]
    guards: Mapping[Resource, int]
