"""How the writer has a plan checked by policies that cannot run inside it, because they may be slow or hang.

In two phases: a plan is made with hooks that note the open questions, `resolve` has them answered outside of the
writer, and a plan without open questions is committed. server/policy implements it.
"""

from __future__ import annotations

from typing import Protocol

from kconf.engine.policy.hooks import PolicyHooks
from kconf.model.journal import RequestContext


class PlanCheck(Protocol):
    """One request's check by the policies. It lasts from the first plan to the commit."""

    needs_preview: bool
    """Whether to plan before the writer does, to find out early what the policies are to be asked."""

    @property
    def is_pending(self) -> bool:
        """Whether the last plan depends on a question that no policy has answered yet."""

    async def prepare(self) -> None:
        """Called once, before the first plan."""

    def hooks(self) -> PolicyHooks:
        """The policies for one call of the planner: they answer what they know, and note what they do not."""

    async def resolve(self) -> bool:
        """Have the open questions answered. True: nothing was asked, since the state may have moved; preview again."""

    def committed(self) -> None:
        """The last plan is committed, or was a dry run's."""

    def close(self) -> None:
        """Called in the end, whatever happened."""


class Policy(Protocol):
    """What plans are checked by."""

    def check(self, context: RequestContext, *, validate_only: bool) -> PlanCheck | None:
        """A check for one request; None: there are no policies."""
