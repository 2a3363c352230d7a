"""Converts differences to requests and sends them to a cluster."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from kconf.engine.access.acls import ResourcePattern, binding_of
from kconf.engine.declarative.diff import Difference
from kconf.errors import ApiError
from kconf.model.alteration import AlterConfigOp, OpType
from kconf.model.journal import ChangeKind
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource, ResourceType
from kconf.model.scram import Mechanism, UserScramCredentialDeletion, UserScramCredentialUpsertion
from kconf.operations.declarative.changes import plan_of
from kconf.operations.declarative.files import read_secret
from kconf.operations.declarative.topics import check_topics, new_topics
from kconf.operations.execute import ChangeRequest
from kconf.operations.risks.inheritance import with_inherited

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.operations.declarative.plan import DifferencePlan
    from kconf.operations.execute import SendResult
    from kconf.operations.target import Target

_MECHANISMS: Final = {each.word: each for each in Mechanism}
_ITERATIONS: Final = 4096


def differences_request(
    command: str, target: Target, admin: SyncAdminClient, plan: DifferencePlan, reason: str | None
) -> ChangeRequest:
    """The change request for a plan from files or for a rollback; it always needs confirmation."""
    plan = plan._replace(differences=with_inherited(admin, plan.differences))
    checked = check_topics(target.context.policy, admin, plan_of(plan), plan.differences)
    doable = [each for each in plan.differences if each.resource not in checked.failures]
    count = len(checked.resources)
    summary = f"change {count} resource{'' if count == 1 else 's'}"
    send = DifferenceSender(admin, doable, plan.revision, reason)
    return ChangeRequest(command, checked, send, summary, confirm=True, assignments=summary)


class DifferenceSender:
    """Sends each difference with the API for its type. Secrets are read before anything is sent.

    `revision` is that of the kconf server when the plan was made: it refuses resources that changed since.
    """

    def __init__(
        self, admin: SyncAdminClient, found: Sequence[Difference], revision: int | None, reason: str | None
    ) -> None:
        self._admin, self._revision, self._reason = admin, revision, reason
        self._secrets = {
            _name(each): read_secret(each.secret, f"{str(each.resource).replace('scram:', 'user:')} {each.key}")
            for each in found
            if each.secret is not None
        }
        self._by_resource: dict[Resource, list[Difference]] = {}
        for each in found:
            self._by_resource.setdefault(each.resource, []).append(each)

    def __call__(self, resources: Sequence[Resource], validate_only: bool) -> SendResult:
        """The result by resource and key; None if accepted, or if clusters cannot validate this type."""
        some = [each for resource in resources for each in self._by_resource[resource]]
        created = {each.resource for each in some if each.op == "create"}
        outcomes: dict[Any, ApiError | None] = {}
        rest = [each for each in some if each.kind is ChangeKind.CONFIG and each.resource not in created]
        by_type: dict[ResourceType, list[Difference]] = {}
        for each in rest:
            by_type.setdefault(each.resource.type, []).append(each)
        for kind, found in by_type.items():
            match kind:
                case ResourceType.QUOTA:
                    outcomes.update(self._quotas(found, validate_only))
                case ResourceType.SCRAM:
                    outcomes.update(dict.fromkeys(map(_name, found)) if validate_only else self._users(found))
                case ResourceType.ACL:
                    outcomes.update(dict.fromkeys(map(_name, found)) if validate_only else self._acls(found))
                case _:
                    outcomes.update(self._configs(found, validate_only))
        # Last: adding partitions increases the topic's revision, and its config changes expect the current one.
        outcomes.update(self._topics([each for each in some if each.kind is ChangeKind.TOPIC], validate_only))
        return outcomes

    def _topics(self, found: Sequence[Difference], validate_only: bool) -> SendResult:
        outcomes: dict[Any, ApiError | None] = {}
        topics = new_topics([each for one in found for each in self._by_resource[one.resource]])
        counts = {
            each.resource.name: json.loads(each.after or "{}")["partitions"] for each in found if each.op == "grow"
        }
        gone = [each.resource.name for each in found if each.op == "delete"]
        failures: dict[Any, ApiError] = {}
        why = self._reason
        if topics:
            failures.update(self._admin.create_topics(topics, validate_only=validate_only, reason=why).failures)
        if counts:
            failures.update(self._admin.create_partitions(counts, validate_only=validate_only, reason=why).failures)
        if gone and not validate_only:
            failures.update(self._admin.delete_topics(gone, reason=why).failures)
        outcomes.update({_name(each): failures.get(each.resource.name) for each in found})
        return outcomes

    def _configs(self, found: Sequence[Difference], validate_only: bool) -> SendResult:
        alterations: dict[Resource, list[AlterConfigOp]] = {}
        for each in found:
            op = OpType.DELETE if each.op == "delete" else OpType.SET
            value = "" if op is OpType.DELETE else self._value(each)
            alterations.setdefault(each.resource, []).append(AlterConfigOp(op, each.key, value))
        expected = None if self._revision is None else dict.fromkeys(alterations, self._revision)
        failures = self._admin.incremental_alter_configs(
            alterations, validate_only=validate_only, expected=expected, reason=self._reason
        ).failures
        return {_name(each): failures.get(each.resource) for each in found}

    def _value(self, each: Difference) -> str:
        return self._secrets.get((each.resource, each.key), each.after or "")

    def _quotas(self, found: Sequence[Difference], validate_only: bool) -> SendResult:
        alterations: dict[QuotaEntity, dict[str, float | None]] = {}
        for each in found:
            value = None if each.after is None else float(each.after)
            alterations.setdefault(QuotaEntity.from_resource(each.resource), {})[each.key] = value
        failures = self._admin.alter_client_quotas(
            alterations, validate_only=validate_only, reason=self._reason
        ).failures
        by_resource = {entity.resource: failure for entity, failure in failures.items()}
        return {_name(each): by_resource.get(each.resource) for each in found}

    def _users(self, found: Sequence[Difference]) -> SendResult:
        from kconf.client.calls.scram import scram_upsertion

        alterations: list[UserScramCredentialUpsertion | UserScramCredentialDeletion] = []
        for each in found:
            mechanism = _MECHANISMS[each.key]
            if each.op == "delete":
                alterations.append(UserScramCredentialDeletion(each.resource.name, mechanism))
            else:
                iterations = int((each.after or "").rpartition("=")[2] or _ITERATIONS)
                password = self._value(each)
                alterations.append(scram_upsertion(each.resource.name, mechanism, password, iterations=iterations))
        failures = self._admin.alter_user_scram_credentials(alterations, reason=self._reason).failures
        return {_name(each): failures.get(each.resource.name) for each in found}

    def _acls(self, found: Sequence[Difference]) -> SendResult:
        bindings = {_name(each): binding_of(ResourcePattern.of(each.resource), each.key) for each in found}
        gone = {_name(each) for each in found if each.op == "delete"}
        failures: dict[Any, ApiError] = {}
        new = [binding for name, binding in bindings.items() if name not in gone]
        if new:
            failures.update(self._admin.create_acls(new, reason=self._reason).failures)
        if gone:
            filters = [bindings[name].filter() for name in gone]
            removed = self._admin.delete_acls(filters, reason=self._reason).failures
            failures.update(
                {name: removed[bindings[name].filter()] for name in gone if bindings[name].filter() in removed}
            )
        return {name: failures.get(name) or failures.get(binding) for name, binding in bindings.items()}


def _name(each: Difference) -> tuple[Resource, str]:
    return each.resource, each.key
