"""The check of a plan by policies. They run outside of the writer, because they may be slow or hang.

It has two phases: a plan is made with hooks that record which policy calls it needs, and `resolve` makes these calls
outside of the writer. A plan that needs no further calls is committed. server/policy implements it.
"""

from __future__ import annotations

from typing import Protocol

from kconf.engine.policy.hooks import PolicyHooks
from kconf.model.journal import RequestContext


class PlanCheck(Protocol):
    """The policy check of one request, from the first plan to the commit."""

    needs_preview: bool
    """Whether to make a plan before the writer does, to find the necessary policy calls early."""

    @property
    def is_pending(self) -> bool:
        """Whether the last plan needs a policy call that has not been made yet."""

    async def prepare(self) -> None:
        """Called once, before the first plan."""

    def hooks(self) -> PolicyHooks:
        """The hooks for one call of the planner: they return known results and record the missing ones."""

    async def resolve(self) -> bool:
        """Make the missing policy calls. True: none was made, because the state may have changed; plan again."""

    def committed(self) -> None:
        """Called when the last plan was committed, or was that of a dry run."""

    def close(self) -> None:
        """Called at the end, also after errors."""


class Policy(Protocol):
    """Creates the policy checks."""

    def check(self, context: RequestContext, *, validate_only: bool) -> PlanCheck | None:
        """A check for one request; None: there are no policies."""
