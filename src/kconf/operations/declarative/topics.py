"""Checks topics that a plan would create or add partitions to against the policy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kconf.engine.declarative.diff import Difference
from kconf.model.alteration import NewTopic
from kconf.model.journal import ChangeKind
from kconf.model.resource import Resource

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.operations.planned_change import ChangePlan


def check_topics(
    policy: str | None, admin: SyncAdminClient, plan: ChangePlan, found: Sequence[Difference]
) -> ChangePlan:
    """The plan, with the failures of topics that the policy refuses or the cluster would not create."""
    if policy is None:
        return plan
    from kconf.operations.policy.check import check_creation, check_growth, load_policy, with_verdicts
    from kconf.operations.policy.verdicts import PolicyFindings

    rules = load_policy(policy)
    new = {each.name: each for each in new_topics(found) if Resource.topic(each.name) not in plan.failures}
    verdicts: dict[Resource, PolicyFindings] = {}
    if new:
        validated = admin.create_topics(new.values(), validate_only=True)
        for name, topic in new.items():
            refused = validated.failures.get(name)
            verdict = PolicyFindings(refused) if refused else check_creation(rules, topic, validated[name])
            verdicts[Resource.topic(name)] = verdict
    grown = {each.resource: _counts(each) for each in found if each.op == "grow" and each.resource not in plan.failures}
    if grown:
        verdicts.update(check_growth(rules, admin, grown))
    return with_verdicts(plan, verdicts)


def new_topics(found: Sequence[Difference]) -> list[NewTopic]:
    """The topics that would be created, with their configs."""
    configs: dict[Resource, list[tuple[str, str | None]]] = {}
    for each in found:
        if each.kind is ChangeKind.CONFIG:
            configs.setdefault(each.resource, []).append((each.key, each.after))
    topics = []
    for each in found:
        if each.op == "create":
            partitions, replication = _counts(each)
            own = configs.get(each.resource, ())
            topics.append(NewTopic(each.resource.name, partitions or -1, replication or -1, (), own))
    return topics


def _counts(each: Difference) -> tuple[int, int]:
    """Partitions and replicas; 0 for the cluster's default."""
    shape = json.loads(each.after or "{}")
    return shape["partitions"] or 0, shape["replication"] or 0
