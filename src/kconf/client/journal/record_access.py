"""Records changes of quotas, SCRAM credentials and ACLs."""

from __future__ import annotations

from contextlib import suppress

from kconf.client.calls.acls import CreateAcls, DeleteAcls, DescribeAcls
from kconf.client.calls.client_quotas import AlterClientQuotas, DescribeClientQuotas, Quotas
from kconf.client.calls.effective_quotas import AlterQuotas
from kconf.client.calls.scram import AlterUserScramCredentials, DescribeUserScramCredentials
from kconf.client.journal.base import UNREADABLE, CallSequence, ItemChange, PlannedChangesRecorder
from kconf.engine.access.acls import key_of, matches, pattern_of
from kconf.engine.declarative.diff import iterations_text, quota_value
from kconf.errors import ErrorCode, KafkaError
from kconf.model.acl import AclBinding
from kconf.model.journal import Change, ChangeKind
from kconf.model.resource import Resource, ResourceType
from kconf.model.results import Results
from kconf.model.scram import CredentialInfo, Mechanism, UserScramCredentialDeletion
from kconf.security.scram import credential, to_text

_MECHANISMS = {int(each): each for each in Mechanism}


class AlterQuotasRecorder(PlannedChangesRecorder):
    def __init__(self, call: AlterClientQuotas | AlterQuotas) -> None:
        self.alterations = call.alterations

    def before(self) -> CallSequence[list[ItemChange]]:
        try:
            stored: Quotas = yield DescribeClientQuotas(None)
        except KafkaError:
            stored = {}
        found = []
        for entity, alteration in self.alterations.items():
            for key, value in alteration.items():
                old = stored.get(entity, {}).get(key)
                before = None if old is None else quota_value(key, old)
                after = None if value is None else quota_value(key, value)
                if before != after:
                    op = "delete" if after is None else "set"
                    found.append(ItemChange(entity, Change(ChangeKind.CONFIG, entity.resource, key, before, after, op)))
        return found


class AlterScramCredentialsRecorder(PlannedChangesRecorder):
    """Records SCRAM credentials. Only the iterations of an existing credential are known; a new one is redacted.

    If it is unknown whether a credential exists, it counts as existing, so that a rollback does not remove it.
    """

    def __init__(self, call: AlterUserScramCredentials) -> None:
        self.alterations = list(call.alterations.values())

    def before(self) -> CallSequence[list[ItemChange]]:
        users = list(dict.fromkeys(each.user for each in self.alterations))
        unread = set(users)
        existing: dict[tuple[str, int], str] = {}
        with suppress(KafkaError):
            described: Results[str, tuple[CredentialInfo, ...]] = yield DescribeUserScramCredentials(users)
            unread = {
                user for user, each in described.failures.items() if each.code is not ErrorCode.RESOURCE_NOT_FOUND
            }
            existing = {
                (user, int(info.mechanism)): f"{UNREADABLE},{iterations_text(info.iterations)}"
                for user in described
                if user not in described.failures
                for info in described[user]
            }
        found = []
        for each in self.alterations:
            mechanism = _MECHANISMS.get(int(each.mechanism), Mechanism.UNKNOWN)
            before = existing.get((each.user, int(mechanism)), UNREADABLE if each.user in unread else None)
            after = None
            if not isinstance(each, UserScramCredentialDeletion):
                after = to_text(credential(mechanism, each.salted_password, each.salt, each.iterations))
            op = "set" if after else "delete"
            resource = Resource(ResourceType.SCRAM, each.user)
            change = Change(ChangeKind.CONFIG, resource, mechanism.word, before, after, op, sensitive=True)
            found.append(ItemChange(each.user, change))
        return found


class CreateAclsRecorder(PlannedChangesRecorder):
    def __init__(self, call: CreateAcls) -> None:
        self.items = call.items

    def before(self) -> CallSequence[list[ItemChange]]:
        existing = set((yield from _acls()))
        return [ItemChange(each, _acl_change(each, None, "", "set")) for each in self.items if each not in existing]


class DeleteAclsRecorder(PlannedChangesRecorder):
    """Records each ACL that matches the filters, once."""

    def __init__(self, call: DeleteAcls) -> None:
        self.filters = call.items

    def before(self) -> CallSequence[list[ItemChange]]:
        existing = yield from _acls()
        matched = {acl: each for acl in existing for each in reversed(self.filters) if matches(acl, each)}
        return [ItemChange(each, _acl_change(acl, "", None, "delete")) for acl, each in matched.items()]


def _acls() -> CallSequence[list[AclBinding]]:
    try:
        found: list[AclBinding] = yield DescribeAcls(None)
    except KafkaError:
        return []
    return found


def _acl_change(acl: AclBinding, before: str | None, after: str | None, op: str) -> Change:
    return Change(ChangeKind.CONFIG, pattern_of(acl).resource, key_of(acl), before, after, op)
