"""Plans: what a request would change. Planning has no side effects; committing the plan applies it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from kconf.errors import ApiError
from kconf.model.journal import Change, RequestContext
from kconf.model.resource import Resource
from kconf.model.snapshot import Snapshot

if TYPE_CHECKING:
    from kconf.model.alteration import RequestedChange

T = TypeVar("T")

Place = Resource | tuple[Resource, str]
"""What another cluster accepts or refuses on its own: a resource, or one of the ACLs of a resource, by its key."""

Refusals = Mapping[Place, ApiError]
"""What another cluster refused to change, with the errors."""


def places_of(resource: Resource, key: str) -> tuple[Place, Place]:
    """The places where a refusal of a change may be."""
    return (resource, key), resource


def refusal_of(refusals: Refusals, resource: Resource, key: str) -> ApiError | None:
    return next((refusals[place] for place in places_of(resource, key) if place in refusals), None)


@dataclass(frozen=True, slots=True)
class Plan(Generic[T]):
    """The changes of a request, and its result once they are committed.

    `guards` maps each resource that the plan depends on to the revision of its last change at planning time.
    `operations` are the requested operations, for a store that sends them to another cluster. If that cluster refuses
    some resources, `revised` computes the result from the outcome, the refusals, and the state after the commit.
    `unchanged` are requested values that are the current ones. A gateway sends them too, because its state may be older
    than the cluster's.
    """

    outcome: T
    changes: Sequence[Change] = ()
    guards: Mapping[Resource, int] = field(default_factory=dict)
    operations: Sequence[RequestedChange] = ()
    revised: Callable[[T, Refusals, Snapshot], T] | None = None
    unchanged: Sequence[Change] = ()

    def pending(self, caller: RequestContext, time: int, deadline: float = inf) -> PendingCommit:
        return PendingCommit(caller, time, self.changes, self.guards, self.operations, self.unchanged, deadline)

    def outcome_after(self, refusals: Refusals, snapshot: Snapshot) -> T:
        """The result if another cluster got the operations. `snapshot` is the state after that."""
        return self.outcome if self.revised is None else self.revised(self.outcome, refusals, snapshot)


class PendingCommit(NamedTuple):
    """A plan that is ready to be committed.

    After `deadline`, in monotonic seconds, it is not sent to another cluster anymore.
    """

    caller: RequestContext
    time: int
    changes: Sequence[Change]
    guards: Mapping[Resource, int]
    operations: Sequence[RequestedChange] = ()
    unchanged: Sequence[Change] = ()
    deadline: float = inf
