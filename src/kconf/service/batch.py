"""The plans of one transaction.

A store with its own state gets plans that are each made on the state after the previous one. Another cluster may refuse
any part of a plan, so plans for it are all made on the state before the transaction, and no two of them change the same
resource.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from kconf.errors import ChangeTooLarge, RevisionConflict, StaleState
from kconf.model.journal import Revision
from kconf.model.plan import PendingCommit, Plan
from kconf.model.resource import Resource
from kconf.model.snapshot import Snapshot
from kconf.service.job import Job, Outdated
from kconf.service.state import State, StateFactory
from kconf.store.base import PassedOn, Store

CommitResult = Revision | RevisionConflict | PassedOn | StaleState


class PlannedJob(NamedTuple):
    job: Job[Any]
    plan: Plan[Any]
    position: int | None  # position in the transaction; None if there is nothing to commit


class Batch:
    """`state` is the state that the next plan is made on. `commits` are passed to the store.

    If the store gets only one change of a resource at a time, later changes of it wait for the next batch. Changes of
    other resources do not wait for them.
    """

    def __init__(self, store: Store, states: StateFactory, state: State, time: int) -> None:
        self.state = state
        self.commits: list[PendingCommit] = []
        self.planned: list[PlannedJob] = []
        self._store, self._states, self._time = store, states, time
        self._begun: frozenset[int] = frozenset()  # positions in `commits` that were passed to the store
        self._taken: set[Resource] = set()  # changed by this batch, or by jobs that wait for the next one

    def add(self, job: Job[Any]) -> bool:
        """Plan a job. Returns False if it must wait for the next batch.

        A bug in a planner fails its caller, not the writer.
        """
        if not self._take(job.resources):  # the resources of its last plan: it must wait, so do not plan it again
            return False
        try:
            plan = job.plan(self.state)
            if isinstance(plan, Outdated):
                job.finish(plan)
                return True
            if job.check is not None and job.check.is_pending:
                job.finish(plan.outcome)  # not committed: see Service.submit
                return True
            pending = None
            if is_committed(plan, self._store):
                pending = plan.pending(job.context, self._time, job.deadline)
                known, job.resources = job.resources, self._store.one_per_batch(pending)
                if not self._take(job.resources - known):
                    return False
            if plan.changes and not job.resources:  # else another cluster decides
                snapshot = self.state.snapshot
                self.state = self._states.after(self.state, snapshot.apply(plan.changes, snapshot.revision + 1))
        except Exception as error:
            job.fail(error)
            return True
        position = None
        if pending is not None:
            position = len(self.commits)
            self.commits.append(pending)
        self.planned.append(PlannedJob(job, plan, position))
        return True

    def _take(self, resources: AbstractSet[Resource]) -> bool:
        """Reserve resources, and return whether they were free. Otherwise they are those of a waiting job."""
        are_free = self._taken.isdisjoint(resources)
        self._taken |= resources
        return are_free

    def begin(self, now: float) -> list[PendingCommit]:
        """The commits to pass to the store at this time, in monotonic seconds.

        Not those after their deadline, because their callers may have the response that the change was not sent.
        """
        self._begun = frozenset(index for index, each in enumerate(self.commits) if now <= each.deadline)
        return [self.commits[index] for index in sorted(self._begun)]

    def has_begun(self, job: Job[Any]) -> bool:
        """Whether the store got the changes of a job. Thread-safe."""
        return any(each.job is job and each.position in self._begun for each in self.planned)

    def finish(self, results: Sequence[CommitResult], snapshot: Snapshot) -> list[Job[Any]]:
        """Return the outcomes to the callers. `results` are those of `commits`, `snapshot` is the visible one.

        Returns the jobs to plan again: those with a conflict with another server, and later refusals, since they may
        depend on a plan that was not committed.
        """
        again: list[Job[Any]] = []
        failed = False
        for job, plan, position in self.planned:
            result = None if position is None else results[position]
            conflict = isinstance(result, RevisionConflict)
            failed = failed or conflict
            if isinstance(result, ChangeTooLarge | StaleState):
                job.fail(result)
            elif conflict or (failed and position is None):
                again.append(job)
            elif isinstance(result, PassedOn):
                job.finish(plan.outcome_after(result.refusals, snapshot))
            else:
                job.finish(plan.outcome)
        return again


def is_committed(plan: Plan[Any], store: Store) -> bool:
    """Whether the store gets a plan. A gateway also sends what would change nothing: its state may be outdated."""
    return bool(plan.changes) or (store.brokers_static is not None and bool(plan.unchanged))
