"""What a context's policy says of the topics that a plan would make or let grow."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kconf.engine.declarative.diff import Difference
from kconf.model.alteration import NewTopic
from kconf.model.journal import ChangeKind
from kconf.model.resource import Resource

if TYPE_CHECKING:
    from kconf.cli.common.target import Target
    from kconf.cli.output.result import CommandResult
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.operations.planned_change import ChangePlan


def judged_topics(
    chosen: Target, admin: SyncAdminClient, plan: ChangePlan, found: Sequence[Difference], answer: CommandResult
) -> ChangePlan:
    """The plan, with the failures of topics that the policy refuses, or that the cluster would not make at all."""
    policy = chosen.context.policy
    if policy is None:
        return plan
    from kconf.operations.policy_check import judge_creation, judge_growth

    failures = dict(plan.failures)
    wishes = {each.name: each for each in creations(found) if Resource.topic(each.name) not in failures}
    if wishes:
        tried = admin.create_topics(wishes.values(), validate_only=True)
        for name, wish in wishes.items():
            refused = tried.failures.get(name)
            verdict = refused or judge_creation(policy, wish, tried[name], answer)
            failures.update({Resource.topic(name): verdict} if verdict is not None else {})
    grown = {each.resource: _counts(each) for each in found if each.op == "grow" and each.resource not in failures}
    if grown:
        failures.update(judge_growth(policy, admin, grown, answer))
    return plan._replace(failures=failures)


def creations(found: Sequence[Difference]) -> list[NewTopic]:
    """The topics that would be made, with their configs."""
    configs: dict[Resource, list[tuple[str, str | None]]] = {}
    for each in found:
        if each.kind is ChangeKind.CONFIG:
            configs.setdefault(each.resource, []).append((each.key, each.after))
    wishes = []
    for each in found:
        if each.op == "create":
            partitions, replication = _counts(each)
            wanted = configs.get(each.resource, ())
            wishes.append(NewTopic(each.resource.name, partitions or -1, replication or -1, (), wanted))
    return wishes


def _counts(each: Difference) -> tuple[int, int]:
    """Partitions and replicas; 0 where the cluster may choose."""
    shape = json.loads(each.after or "{}")
    return shape["partitions"] or 0, shape["replication"] or 0
