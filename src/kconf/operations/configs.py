"""Changes of config keys, for one resource or thousands: compares them with the cluster and builds the request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kconf.configdef.sensitive import HIDDEN, is_sensitive_key
from kconf.errors import ApiError, ErrorCode, InvalidConfig, KafkaError
from kconf.model.alteration import AlterConfigOp, OpType
from kconf.model.entry import Entry, ValueType, own_source
from kconf.model.resource import Resource
from kconf.operations.execute import ChangeRequest
from kconf.operations.planned_change import SOURCES, UNKNOWN, ChangePlan, PlannedChange, keys_shown
from kconf.operations.risks.data_loss import flag_data_loss
from kconf.operations.risks.inheritance import EffectiveValue, Inheritance, other_key
from kconf.operations.selection.selectors import is_one_resource, resolve

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.configdef.key import ConfigKey
    from kconf.model.entry import View
    from kconf.operations.execute import Send, SendResult
    from kconf.operations.selection.selectors import Selector

Assignments = Mapping[Resource, Sequence[AlterConfigOp]]

_NOT_ALLOWED: Final = (
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
)


def alter_request(
    command: str,
    admin: SyncAdminClient,
    selectors: Sequence[Selector],
    ops: Sequence[AlterConfigOp],
    reason: str | None = None,
) -> ChangeRequest:
    """The same alterations for all resources that the selectors match."""
    resources = resolve(admin, selectors)
    request = assignments_request(command, admin, dict.fromkeys(resources, ops), reason)
    return replace(request, confirm=not is_one_resource(selectors), assignments=repr([tuple(each) for each in ops]))


def assignments_request(
    command: str, admin: SyncAdminClient, assignments: Assignments, reason: str | None = None, *, exact: bool = False
) -> ChangeRequest:
    """Different alterations per resource. `exact`: a kconf server refuses resources that changed after the plan."""
    plan = plan_configs(admin, assignments)
    return ChangeRequest(
        command=command,
        plan=plan,
        send=_send(admin, assignments, reason, plan.revision if exact else None),
        summary=f"change {_count(list(assignments))}",
        confirm=len(assignments) > 1,
    )


def not_described(plan: ChangePlan) -> list[Resource]:
    """The resources that may be altered but not described."""
    return list(dict.fromkeys(each.resource for each in plan.changes if each.old_unknown))


def keys_not_set(plan: ChangePlan) -> list[str]:
    """The keys to delete that no resource has. They may be misspelled, which servers do not report."""
    by_key: dict[str, list[PlannedChange]] = {}
    for change in plan.changes:
        by_key.setdefault(change.key, []).append(change)
    return [key for key, changes in by_key.items() if all(each.op == "delete" and each.unchanged for each in changes)]


def _send(admin: SyncAdminClient, assignments: Assignments, reason: str | None, revision: int | None) -> Send:
    """IncrementalAlterConfigs, pipelined. A kconf server records the reason in its journal."""

    def send(resources: Sequence[Resource], validate_only: bool) -> SendResult:
        failures = admin.incremental_alter_configs(
            {each: assignments[each] for each in resources},
            validate_only=validate_only,
            expected=None if revision is None else dict.fromkeys(resources, revision),
            reason=reason,
        ).failures
        return {each: _redacted(failures.get(each), each, assignments[each]) for each in resources}

    return send


def _redacted(failure: ApiError | None, resource: Resource, ops: Sequence[AlterConfigOp]) -> ApiError | None:
    """A server's message without the secrets that were sent to it."""
    if failure is None or not failure.message:
        return failure
    from kconf.configdef.lookup import known_key

    message = failure.message
    for each in ops:
        if each.value and is_sensitive(resource, each.key, known_key(resource.type, each.key), None):
            message = message.replace(each.value, HIDDEN)
    return failure._replace(message=message)


def _count(resources: Sequence[Resource]) -> str:
    if len(resources) == 1:
        return str(resources[0])
    return f"{len(resources)} {resources[0].type.word}s"


# -- plan ------------------------------------------------------------------------------------------------------------


def plan_configs(admin: SyncAdminClient, assignments: Assignments) -> ChangePlan:
    """Compare assignments with the configuration of a cluster, by the keys of its release."""
    from kconf.configdef.lookup import release_key

    views, failures, unseen, revision = _views(admin, assignments)
    release = admin.cluster_release().catalog
    inheritance = Inheritance(admin)
    changes = []
    for resource, ops in assignments.items():
        if resource not in views:
            continue
        entries = {entry.name: entry for entry in views[resource].entries}
        try:
            keys = {each.key: release_key(resource.type, each.key, release) for each in ops}
            planned = [_change(resource, each, entries.get(each.key), keys[each.key], inheritance) for each in ops]
            changes += [flag_data_loss(_unseen(each) if resource in unseen else each) for each in planned]
        except KafkaError as error:
            failures[resource] = error.failure()
    return ChangePlan(changes, failures, revision=revision)


def _unseen(change: PlannedChange) -> PlannedChange:
    """A change of a resource that the caller is not authorized to describe. The old value is unknown, so the change is
    never `unchanged`.
    """
    if change.after is not None:
        return change._replace(old_unknown=True)
    return change._replace(before=UNKNOWN, old_unknown=True)


def _views(
    admin: SyncAdminClient, assignments: Assignments
) -> tuple[dict[Resource, View], dict[Resource, ApiError], set[Resource], int | None]:
    """The current values of the keys. A principal that may alter but not describe gets a plan without old values.

    Also returns the resources that the caller is not authorized to describe, and the revision of a kconf server.
    """
    from kconf.model.entry import View

    keys = {resource: [each.key for each in ops] for resource, ops in assignments.items()}
    described = admin.describe_configs(assignments, keys=keys, synonyms=True)
    failures = described.failures
    unseen = {each for each, failure in failures.items() if failure.code in _NOT_ALLOWED}
    views = {each: described[each] for each in assignments if each not in failures}
    views.update(dict.fromkeys(unseen, View(())))
    failures = {each: failure for each, failure in failures.items() if each not in unseen}
    return views, failures, unseen, described.revision


def _change(
    resource: Resource, op: AlterConfigOp, entry: Entry | None, key: ConfigKey | None, inheritance: Inheritance
) -> PlannedChange:
    own = own_source(resource)
    is_own = entry is not None and entry.source == own
    word = OpType(op.op).name.lower()
    if is_sensitive(resource, op.key, key, entry):
        before = HIDDEN if is_own else None
        after = None if op.op == OpType.DELETE else HIDDEN
        return PlannedChange(resource, op.key, before, after, word, before, after, _source(entry), True)
    before = entry.value if entry is not None and is_own else None
    after = _after(op, key, entry, before)
    old = inheritance.effective_with_key(resource, entry, key)
    new = EffectiveValue(after, op.key) if after is not None else inheritance.below_with_key(resource, entry, key)
    shown = keys_shown(other_key(resource, op.key, old), other_key(resource, op.key, new))
    change = PlannedChange(resource, op.key, before, after, word, old.value, new.value, _source(entry))
    return change._replace(shown=shown)


def _after(op: AlterConfigOp, key: ConfigKey | None, entry: Entry | None, before: str | None) -> str | None:
    if op.op == OpType.DELETE:
        return None
    if op.op == OpType.SET:
        return op.value
    from kconf.configdef.key import ConfigKey
    from kconf.engine.configs.list_ops import combined

    is_unknown = key is None or key.type is ValueType.UNKNOWN
    if is_unknown and entry is not None and entry.type is ValueType.LIST:
        key = ConfigKey(name=op.key, type=ValueType.LIST)
    elif is_unknown:
        raise InvalidConfig(f"{op.key} is not a known key; only set and unset work on unknown keys")
    return combined(op.op, key, op.key, before, op.value or "")


def is_sensitive(resource: Resource, name: str, key: ConfigKey | None, entry: Entry | None) -> bool:
    """Whether a value must be hidden, according to the cluster, the catalog or the name of the key."""
    if entry is not None and entry.sensitive:
        return True
    if key is not None:
        return key.sensitive
    return is_sensitive_key(resource.type, name)


def _source(entry: Entry | None) -> str:
    return "" if entry is None else SOURCES[entry.source]
