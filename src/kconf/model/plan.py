"""What a request would do. Deciding touches nothing; committing a plan's changes makes it true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from kconf.model.journal import Change, RequestContext
from kconf.model.resource import Resource

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plan(Generic[T]):
    """The changes of a request, and what its caller will be told once they are committed.

    `guards` names, for each resource that the decision rests on, the revision of its last change as it was seen.
    """

    outcome: T
    changes: Sequence[Change] = ()
    guards: Mapping[Resource, int] = field(default_factory=dict)


class PendingCommit(NamedTuple):
    """A plan on its way into the journal."""

    caller: RequestContext
    time: int
    changes: Sequence[Change]
    guards: Mapping[Resource, int]
