"""Compares files with a cluster: reads what is needed, finds differences, and decides what may be pruned."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kconf.client.cluster_reader import PARTS, read_cluster
from kconf.engine.declarative.diff import Difference, differences, same
from kconf.engine.declarative.model import SCOPES
from kconf.engine.declarative.prune import PRUNABLE, Prune, pruned, undeclared
from kconf.errors import ApiError, ConfigurationError, ErrorCode
from kconf.model.cluster_state import MissingPart
from kconf.model.journal import ChangeKind
from kconf.model.resource import Resource, ResourceType
from kconf.operations.errors import Aborted
from kconf.operations.key_notes import unknown_key_notes
from kconf.operations.risks.inheritance import with_inherited

if TYPE_CHECKING:
    from kconf.configdef.releases.detect import ClusterRelease
    from kconf.engine.declarative.model import Declared
    from kconf.model.cluster_state import ClusterState
    from kconf.operations.target import Target

_PARTS: Final = {kind: part for part, kind in PARTS.items()}
_CONFIGURED: Final = {ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP, ResourceType.CLIENT_METRICS}


class DifferencePlan(NamedTuple):
    """The changes to a cluster, and what is unknown about it; `revision` is that of a kconf server.

    `undeclared`: set on the cluster, but in no file; applying the plan does not change this drift. `unread`: could not
    be read, so it is unknown whether it differs.
    """

    cluster: str
    differences: list[Difference]
    failures: dict[Resource, ApiError]
    notes: list[str]
    revision: int | None = None
    undeclared: Sequence[Difference] = ()
    unread: Sequence[MissingPart] = ()


def prune_of(words: str | None, target: Target, declared: Declared) -> Prune | None:
    """What `--prune=WORD,…` may remove; None if nothing."""
    if words is None:
        return None
    parts = [each.strip() for each in words.split(",") if each.strip()]
    for each in parts:
        if each not in PRUNABLE:
            raise ConfigurationError(f"--prune takes a list of {', '.join(PRUNABLE)}, not {each!r}")
    if parts and not declared.selectors:
        raise ConfigurationError(f"--prune={words} needs a `selector:` in the files, which limits what may be removed")
    return Prune(parts, _own_users(target))


def plan_files(paths: Sequence[str], target: Target, prune_words: str | None) -> DifferencePlan:
    """Read the files and the cluster, and compare them."""
    from kconf.configdef.lookup import keys_for
    from kconf.operations.declarative.files import load_declared

    declared = load_declared(paths, target.context)
    prune = prune_of(prune_words, target, declared)
    state, release = asyncio.run(_read(target, declared))
    found, notes = differences(declared, state, keys_for)
    if prune is not None:
        removed, more = pruned(declared, state, keys_for, prune)
        found, notes = found + removed, notes + more
    found, drift = _without_inherited(target, found, undeclared(declared, state, keys_for, _own_users(target)))
    gone = {(each.resource, each.key) for each in found if each.pruned}
    drift = [each for each in drift if (each.resource, each.key) not in gone]
    notes = [*notes, *unknown_key_notes(release, _declared_keys(found))]
    if drift:
        notes = [*notes, _undeclared_note(len(drift))]
    hidden = _hidden_topics(target, found)
    found = [each for each in found if each.resource not in hidden]
    failures = _failures(state, found)
    unread = [*_unread(state, failures), *(MissingPart(str(each), failure) for each, failure in hidden.items())]
    return DifferencePlan(state.cluster, found, failures, notes, state.revision, drift, unread)


def _declared_keys(found: Iterable[Difference]) -> list[tuple[ResourceType, str]]:
    """The keys that would be set."""
    return [(each.resource.type, each.key) for each in found if each.kind is ChangeKind.CONFIG and each.op != "delete"]


def _hidden_topics(target: Target, found: Sequence[Difference]) -> dict[Resource, ApiError]:
    """Topics that are not listed but may exist, if the caller is not authorized to describe them. Not shown as new."""
    names = [each.resource.name for each in found if each.kind is ChangeKind.TOPIC and each.op == "create"]
    if not names:
        return {}
    with target.open() as admin:
        failures = admin.describe_topics(names).failures
    why = "not authorized to describe it: whether it exists is unknown"
    return {
        Resource.topic(str(name)): ApiError(each.code, why)
        for name, each in failures.items()
        if each.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED
    }


def _without_inherited(
    target: Target, found: Sequence[Difference], drift: Sequence[Difference]
) -> tuple[list[Difference], list[Difference]]:
    """Both sides with inherited values: an override equal to the inherited value is not a difference."""
    if not found and not drift:
        return [], []
    with target.open() as admin:
        resolved = with_inherited(admin, found)
        unset = with_inherited(admin, [each._replace(op="delete", new=None) for each in drift])
    return (
        [each for each in resolved if not (each.pruned and _is_inherited(each))],
        [each for each, one in zip(drift, unset, strict=True) if not _is_inherited(one)],
    )


def _is_inherited(each: Difference) -> bool:
    from kconf.configdef.lookup import known_key

    key = known_key(each.resource.type, each.key) if each.resource.type in _CONFIGURED else None
    return key is not None and each.new is not None and same(key.type, each.before, each.new)


def _undeclared_note(count: int) -> str:
    what = "1 undeclared item" if count == 1 else f"{count} undeclared items"
    return (
        f"{what}: remove undeclared overrides with `apply --prune`, other undeclared resources with "
        f"`apply --prune={','.join(PRUNABLE)}`; to keep them, list them under `unmanaged:` or `ignore:`"
    )


def check_deletes(found: Iterable[Difference], limit: int) -> None:
    """Refuse to prune more than `limit` items."""
    count = sum(each.pruned for each in found)
    if count > limit:
        raise Aborted(f"this would remove {count} items, but --max-deletes allows {limit}")


async def _read(target: Target, declared: Declared) -> tuple[ClusterState, ClusterRelease]:
    """Read the resources that the files name or manage, and the release of the cluster."""
    kinds = {each.type for each in declared.configs} | {SCOPES[each.word] for each in declared.selectors}
    kinds |= {ResourceType.TOPIC} if declared.topics else set()
    kinds |= {ResourceType.QUOTA} if declared.quotas else set()
    kinds |= {ResourceType.SCRAM} if declared.users else set()
    kinds |= {ResourceType.ACL} if declared.acls else set()
    configs = declared.configs

    def every_key(resource: Resource) -> bool:
        return declared.claims(resource, declared.names(resource)) and not declared.leaves_all_keys(resource)

    def wanted(resource: Resource) -> bool:
        return bool(configs.get(resource)) or every_key(resource)

    async with target.open_async() as admin:
        state = await read_cluster(
            admin,
            [part for part, kind in PARTS.items() if kind in kinds],
            wanted=wanted,
            named=[each for each in configs if each.type is not ResourceType.TOPIC],
            keys={each: list(values) for each, values in configs.items() if not every_key(each)},
            synonyms=True,
        )
        return state, await admin.cluster_release()


def _failures(state: ClusterState, found: Sequence[Difference]) -> dict[Resource, ApiError]:
    """Resources that differ but cannot be changed, because they could not be read completely, with the reason."""
    missing = {each.what: each.failure for each in state.missing}
    failures: dict[Resource, ApiError] = {}
    for resource in dict.fromkeys(each.resource for each in found):
        failure = missing.get(str(resource)) or missing.get(_PARTS[resource.type])
        if failure is not None:
            failures[resource] = failure
    return failures


def _unread(state: ClusterState, failures: Mapping[Resource, ApiError]) -> list[MissingPart]:
    """Resources that could not be read and are not among the failures."""
    known = {name for resource in failures for name in (str(resource), _PARTS[resource.type])}
    return [each for each in state.missing if not each.is_absent and each.what not in known]


def _own_users(target: Target) -> list[str]:
    """The client's own user, which must not be pruned."""
    with target.open() as admin:
        user = admin.settings.security.username
    return [] if user is None else [user]
