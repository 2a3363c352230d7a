"""Undeclared values: which of them are drift, and what pruning removes.

An override, quota or credential that no file declares is drift if a file declares the resource or a selector matches
it, unless it is ignored or unmanaged; so is a topic or an ACL that a selector matches. Pruning removes it within the
selectors.

Overrides are removed by default; topics, users, ACLs and whole quota entities only if their kind is given. Internal
topics are never removed, nor secrets, nor a value that would be inherited anyway. Replication throttles and the
operators' own users are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Final

from kconf.configdef.sensitive import HIDDEN
from kconf.engine.access.acls import key_of, pattern_of
from kconf.engine.declarative.diff import (
    Difference,
    Differences,
    KeysOf,
    iterations_text,
    plain_difference,
    quota_value,
    same,
    shape_text,
    type_of,
)
from kconf.engine.declarative.model import Declared, is_operators
from kconf.model.cluster_state import ClusterState
from kconf.model.entry import Entry, Source, own_source
from kconf.model.journal import ChangeKind
from kconf.model.quota import USER
from kconf.model.resource import Resource, ResourceType
from kconf.model.scram import Mechanism

UNDECLARED: Final = "undeclared"
"""The `op` of a difference that is drift, but that `apply` without pruning does not change."""

PRUNABLE: Final = ("topics", "users", "acls", "quotas")
"""The kinds that are removed only if given by this name; overrides are always removed."""


Claims = Callable[..., bool]
"""Called with a resource, whether a file declares it, and the names that selectors match."""


@dataclass(frozen=True, slots=True)
class Prune:
    """What may be removed. `operators` are users to ignore, in addition to the usual ones."""

    words: Collection[str] = ()
    operators: Collection[str] = ()


def pruned(declared: Declared, reading: ClusterState, keys: KeysOf, prune: Prune) -> Differences:
    """What would be removed, the least severe first. The views must include synonyms."""
    pruning = _Pruning(declared, reading, keys, prune)
    parts = [pruning.overrides(), pruning.limits(whole=False)]
    if "quotas" in prune.words:
        parts.append(pruning.limits(whole=True))
    if "users" in prune.words:
        parts.append(pruning.credentials())
    if "acls" in prune.words:
        parts.append(pruning.bindings())
    if "topics" in prune.words:
        parts.append(pruning.topics())
    return Differences([each for part in parts for each in part], pruning.notes)


def undeclared(
    declared: Declared, reading: ClusterState, keys: KeysOf, operators: Collection[str] = ()
) -> list[Difference]:
    """Undeclared drift: it stays unless it is pruned. The views must include synonyms."""
    surplus = _Surplus(declared, reading, keys, operators)
    claims = declared.claims
    found = [
        *surplus.topics(claims),
        *surplus.overrides(claims),
        *surplus.limits(claims, whole=False),
        *surplus.limits(claims, whole=True),
        *surplus.credentials(claims),
        *surplus.bindings(claims),
    ]
    return [each._replace(op=UNDECLARED, after=each.before, new=each.old, pruned=False) for each in found]


class _Surplus:
    """Everything undeclared on resources that `claims` covers, except users of operators."""

    def __init__(self, declared: Declared, reading: ClusterState, keys: KeysOf, operators: Collection[str]) -> None:
        self.declared, self.reading, self.keys, self._operators = declared, reading, keys, operators

    def overrides(self, claims: Claims) -> Iterator[Difference]:
        for resource, view in self.reading.configs.items():
            if not claims(resource, self.declared.names(resource)) or self._is_internal(resource):
                continue
            own = own_source(resource)
            wanted = self.declared.configs.get(resource, {})
            for entry in view.entries:
                if entry.source != own or entry.name in wanted or self.declared.leaves_key(resource, entry.name):
                    continue
                found = self._override(resource, own, entry)
                if found is not None:
                    yield found

    def _override(self, resource: Resource, own: Source, entry: Entry) -> Difference | None:
        rest = next((each for each in entry.synonyms if each.source != own), None)
        value, new = entry.value, None if rest is None else rest.value
        if entry.sensitive:
            value, new = HIDDEN, None
        elif rest is not None and same(type_of(resource, entry, self.keys), value, new):
            return None
        made = Difference(ChangeKind.CONFIG, resource, "delete", entry.name, value, None, value, new, own)
        return made._replace(pruned=True, sensitive=entry.sensitive)

    def limits(self, claims: Claims, *, whole: bool) -> Iterator[Difference]:
        """Undeclared quotas, of declared entities or of the others."""
        for entity, limits in self.reading.quotas.items():
            wanted = self.declared.quotas.get(entity)
            names = [name or "" for _, name in entity.parts]
            if (wanted is None) != whole or not claims(entity.resource, wanted is not None, *names):
                continue
            if wanted is None and self._is_operators(dict(entity.parts).get(USER) or ""):
                continue
            for key, value in limits.items():
                if key not in (wanted or {}) and not self.declared.ignores_key(key):
                    yield _gone(entity.resource, key, quota_value(key, value))

    def credentials(self, claims: Claims) -> Iterator[Difference]:
        for user, infos in self.reading.users.items():
            wanted = self.declared.users.get(user)
            resource = Resource(ResourceType.SCRAM, user)
            if not claims(resource, wanted is not None) or (wanted is None and self._is_operators(user)):
                continue
            for mechanism, iterations in infos:
                if mechanism not in (wanted or {}) and mechanism is not Mechanism.UNKNOWN:
                    yield _gone(resource, mechanism.word, iterations_text(iterations))._replace(sensitive=True)

    def bindings(self, claims: Claims) -> Iterator[Difference]:
        for binding in self.reading.acls:
            resource = pattern_of(binding).resource
            if binding in self.declared.acls or not claims(resource, False, binding.principal):
                continue
            if not self._is_operators(binding.principal.partition(":")[2]):
                yield _gone(resource, key_of(binding), "")

    def topics(self, claims: Claims) -> Iterator[Difference]:
        for name, shape in self.reading.topics.items():
            resource = Resource(ResourceType.TOPIC, name)
            if name not in self.declared.topics and not shape.internal and claims(resource, False):
                before = shape_text(shape.partitions, shape.replication)
                yield Difference(ChangeKind.TOPIC, resource, "delete", "", before, None, pruned=True)

    def _is_operators(self, user: str) -> bool:
        return is_operators(user, self._operators)

    def _is_internal(self, resource: Resource) -> bool:
        shape = self.reading.topics.get(resource.name) if resource.type is ResourceType.TOPIC else None
        return shape is not None and shape.internal


class _Pruning:
    def __init__(self, declared: Declared, reading: ClusterState, keys: KeysOf, prune: Prune) -> None:
        self.declared = declared
        self._surplus = _Surplus(declared, reading, keys, prune.operators)
        self.notes: list[str] = []

    def overrides(self) -> Iterator[Difference]:
        for each in self._surplus.overrides(self._inside):
            if each.sensitive:
                self.notes.append(f"{each.resource} {each.key}: no file declares this secret; secrets are not pruned")
            else:
                yield each

    def limits(self, *, whole: bool) -> Iterator[Difference]:
        return self._surplus.limits(self._inside, whole=whole)

    def credentials(self) -> Iterator[Difference]:
        return self._surplus.credentials(self._inside)

    def bindings(self) -> Iterator[Difference]:
        return self._surplus.bindings(self._inside)

    def topics(self) -> Iterator[Difference]:
        return self._surplus.topics(self._inside)

    def _inside(self, resource: Resource, is_declared: bool, *names: str) -> bool:
        """If no selector defines the scope, the files manage what they declare."""
        if self.declared.selectors:
            return self.declared.owns(resource, *names)
        return is_declared and not self.declared.ignores(resource, *names)


def _gone(resource: Resource, key: str, before: str) -> Difference:
    return plain_difference(resource, "delete", key, before, None)._replace(pruned=True)
