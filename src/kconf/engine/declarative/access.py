"""Declarations of quotas, SCRAM users and ACLs."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from kconf.configdef.java.parsing import InvalidValue
from kconf.configdef.key import ConfigDef, ConfigKey
from kconf.configdef.units import read_amount
from kconf.configdef.validate import invalid_in_file_message
from kconf.engine.declarative.model import DesiredConfigs, DesiredCredential
from kconf.engine.declarative.reader import DeclarationReader
from kconf.engine.quotas.alter import keys_of as quota_keys
from kconf.engine.quotas.alter import quota_text
from kconf.errors import InvalidRequest
from kconf.model.acl import CLUSTER_NAME, AclBinding, AclType, Operation, PatternType, Permission
from kconf.model.entry import ValueType
from kconf.model.quota import CLIENT_ID, IP, USER, QuotaEntity
from kconf.model.scram import Mechanism
from kconf.util.yaml.reader import YamlNode, suggestion

KINDS: Final = (USER, CLIENT_ID, IP)
QUOTA_FIELDS: Final = (*(field for kind in KINDS for field in (kind, f"{kind}-default")), "limits")
MECHANISMS: Final = {each.word: each for each in Mechanism if each is not Mechanism.UNKNOWN}
CREDENTIAL_FIELDS: Final = ("iterations", "passwordFrom")
ACL_FIELDS: Final = ("principal", "resource", "pattern", "operations", "permission", "host")
ACL_TYPES: Final = {
    each.name.lower().replace("_", "-"): each for each in AclType if each not in (AclType.UNKNOWN, AclType.ANY)
}
OPERATIONS: Final = {each.name: each for each in Operation if each not in (Operation.UNKNOWN, Operation.ANY)}
PATTERNS: Final = {each.name: each for each in (PatternType.LITERAL, PatternType.PREFIXED)}
_FRACTION: Final = re.compile(r"[0-9]+\.[0-9]+(?:E[0-9]+)?", re.ASCII)  # as quota_text writes it
PERMISSIONS: Final = {each.name: each for each in (Permission.ALLOW, Permission.DENY)}


def _amount(key: ConfigKey, text: str) -> float:
    """A quota, which may have a unit. Bytes may have a fraction, because KIP-248's request can set one."""
    if key.type is ValueType.LONG and _FRACTION.fullmatch(text.strip()):
        return float(text)
    return float(read_amount(key, text))  # type: ignore[arg-type]  # quotas are numbers


class AccessReader(DeclarationReader):
    """The sections `quotas`, `users` and `acls`."""

    def quotas(self, node: YamlNode) -> None:
        for item in self.listed(node):
            self.attempt(partial(self.quota, item))

    def quota(self, node: YamlNode) -> None:
        fields = self.fields(node, QUOTA_FIELDS, "a quota")
        parts: dict[str, str | None] = {}
        for kind in KINDS:
            if kind in fields:
                parts[kind] = self.text(fields[kind], kind)
            if f"{kind}-default" in fields and self.flag(fields[f"{kind}-default"], f"{kind}-default"):
                if kind in parts:
                    raise self.invalid(node, f"a quota has either {kind} or {kind}-default, not both")
                parts[kind] = None
        entity = QuotaEntity.of(parts)
        try:
            keys = quota_keys(entity, lambda _: True)  # only the cluster can tell whether a host resolves
        except InvalidRequest as error:
            raise self.invalid(node, str(error)) from None
        self.once(entity, node, f"the quota of {entity}")
        limits = self.required(node, fields, "limits", "a quota")
        pairs = self.read_each(self.pairs(limits, "limits"), lambda pair: (pair[0].value, self.limit(keys, *pair)))
        self.gathered.quotas[entity] = dict(pairs)

    def limit(self, keys: ConfigDef, name: YamlNode, node: YamlNode) -> DesiredConfigs:
        key = keys.get(name.value)
        if key is None:
            raise self.invalid(name, f"{name.value!r} is not a quota key for this entity{suggestion(name.value, keys)}")
        text = self.text(node, key.name)
        try:
            return DesiredConfigs(quota_text(key, _amount(key, text), fractions=True), self.place(node))
        except InvalidValue as error:
            raise self.invalid(node, invalid_in_file_message(text, key.name, error)) from None
        except InvalidRequest as error:
            raise self.invalid(node, str(error)) from None

    def users(self, node: YamlNode) -> None:
        for name, key, value in self.names(node, "users"):
            self.once(("user", name), key, f"the user {name!r}")
            into = self.gathered.users.setdefault(name, {})
            for word, one in (self.attempt(partial(self.fields, value, list(MECHANISMS), "a user")) or {}).items():
                made = self.attempt(partial(self.credential, one))
                if made is not None:
                    into[MECHANISMS[word]] = made

    def credential(self, node: YamlNode) -> DesiredCredential:
        if node.is_null:
            return DesiredCredential(self.place(node))
        fields = self.fields(node, CREDENTIAL_FIELDS, "a credential")
        iterations = self.count(fields.get("iterations"), "iterations")
        source = self.source(fields["passwordFrom"], "passwordFrom") if "passwordFrom" in fields else None
        return DesiredCredential(self.place(node), iterations, source)

    def acls(self, node: YamlNode) -> None:
        for item in self.listed(node):
            self.attempt(partial(self.acl, item))

    def acl(self, node: YamlNode) -> None:
        fields = self.fields(node, ACL_FIELDS, "an ACL")
        principal = self.text(self.required(node, fields, "principal", "an ACL"), "principal")
        if ":" not in principal:
            raise self.invalid(
                fields["principal"], f"a principal must be TYPE:NAME, for example User:alice: {principal!r}"
            )
        kind, name = self.acl_resource(self.required(node, fields, "resource", "an ACL"))
        pattern = self.choice(fields.get("pattern"), "pattern", PATTERNS, PatternType.LITERAL)
        permission = self.choice(fields.get("permission"), "permission", PERMISSIONS, Permission.ALLOW)
        host = self.text(fields["host"], "host") if "host" in fields else "*"
        for each in self.items(self.required(node, fields, "operations", "an ACL"), "operations"):
            operation = self.choice(each, "operation", OPERATIONS, Operation.UNKNOWN)
            binding = AclBinding(kind, name, principal, operation, permission, pattern, host)
            self.once(binding, each, f"this ACL ({operation.name})")
            self.gathered.acls[binding] = self.place(each)

    def acl_resource(self, node: YamlNode) -> tuple[AclType, str]:
        word, colon, name = self.text(node, "resource").partition(":")
        kind = ACL_TYPES.get(word)
        if kind is None:
            known = ", ".join(ACL_TYPES)
            raise self.invalid(
                node, f"{word!r} is not an ACL resource type{suggestion(word, ACL_TYPES)}; use one of {known}"
            )
        if kind is AclType.CLUSTER:
            return kind, CLUSTER_NAME
        if not colon or not name:
            raise self.invalid(node, f"the resource of an ACL must be {word}:NAME; `{word}:*` means all")
        return kind, name
