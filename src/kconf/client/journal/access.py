"""How quotas, credentials and ACLs are recorded."""

from __future__ import annotations

from kconf.client.calls.acls import CreateAcls, DeleteAcls, DescribeAcls
from kconf.client.calls.client_quotas import AlterClientQuotas, DescribeClientQuotas, Quotas
from kconf.client.calls.effective_quotas import AlterQuotas
from kconf.client.calls.scram import AlterUserScramCredentials, DescribeUserScramCredentials
from kconf.client.journal.configs import UNSEEN, Begun, Known, Script
from kconf.engine.access.acls import key_of, matches, pattern_of
from kconf.engine.declarative.diff import quota_value
from kconf.errors import KafkaError, Results
from kconf.model.acl import AclBinding
from kconf.model.journal import Change, ChangeKind
from kconf.model.resource import Resource, ResourceType
from kconf.model.scram import CredentialInfo, Mechanism, UserScramCredentialDeletion
from kconf.security.scram import credential, to_text

_MECHANISMS = {int(each): each for each in Mechanism}


class AlteredQuotas(Known):
    def __init__(self, call: AlterClientQuotas | AlterQuotas) -> None:
        self.wishes = call.alterations

    def before(self) -> Script[list[Begun]]:
        try:
            there: Quotas = yield DescribeClientQuotas(None)
        except KafkaError:
            there = {}
        found = []
        for entity, wanted in self.wishes.items():
            for key, value in wanted.items():
                had = there.get(entity, {}).get(key)
                before = None if had is None else quota_value(key, had)
                after = None if value is None else quota_value(key, value)
                if before != after:
                    op = "delete" if after is None else "set"
                    found.append(Begun(entity, Change(ChangeKind.CONFIG, entity.resource, key, before, after, op)))
        return found


class AlteredCredentials(Known):
    """Of what was there only that it was; what comes is sealed, as all that is secret."""

    def __init__(self, call: AlterUserScramCredentials) -> None:
        self.wishes = list(call.wishes.values())

    def before(self) -> Script[list[Begun]]:
        try:
            told: Results[str, tuple[CredentialInfo, ...]] = yield DescribeUserScramCredentials(
                dict.fromkeys(each.user for each in self.wishes)
            )
            there = {(user, int(info.mechanism)) for user in told if user not in told.failures for info in told[user]}
        except KafkaError:
            there = set()
        found = []
        for wish in self.wishes:
            mechanism = _MECHANISMS.get(int(wish.mechanism), Mechanism.UNKNOWN)
            before = UNSEEN if (wish.user, int(mechanism)) in there else None
            after = None
            if not isinstance(wish, UserScramCredentialDeletion):
                after = to_text(credential(mechanism, wish.salted_password, wish.salt, wish.iterations))
            op = "set" if after else "delete"
            resource = Resource(ResourceType.SCRAM, wish.user)
            change = Change(ChangeKind.CONFIG, resource, mechanism.word, before, after, op, sensitive=True)
            found.append(Begun(wish.user, change))
        return found


class CreatedAcls(Known):
    def __init__(self, call: CreateAcls) -> None:
        self.items = call.items

    def before(self) -> Script[list[Begun]]:
        there = set((yield from _acls()))
        return [Begun(each, _line(each, None, "", "set")) for each in self.items if each not in there]


class DeletedAcls(Known):
    """What the filters match, each once."""

    def __init__(self, call: DeleteAcls) -> None:
        self.filters = call.items

    def before(self) -> Script[list[Begun]]:
        there = yield from _acls()
        doomed = {acl: wanted for acl in there for wanted in reversed(self.filters) if matches(acl, wanted)}
        return [Begun(wanted, _line(acl, "", None, "delete")) for acl, wanted in doomed.items()]


def _acls() -> Script[list[AclBinding]]:
    try:
        found: list[AclBinding] = yield DescribeAcls(None)
    except KafkaError:
        return []
    return found


def _line(acl: AclBinding, before: str | None, after: str | None, op: str) -> Change:
    return Change(ChangeKind.CONFIG, pattern_of(acl).resource, key_of(acl), before, after, op)
