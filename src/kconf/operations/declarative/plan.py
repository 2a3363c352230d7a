"""Files beside a cluster: what has to be read, what differs, and what may be removed."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kconf.cli.output.result import Aborted
from kconf.client.cluster_reader import PARTS, read_cluster
from kconf.engine.declarative.diff import Difference, differences
from kconf.engine.declarative.model import SCOPES
from kconf.engine.declarative.prune import PRUNABLE, Prune, pruned
from kconf.errors import ApiError, ConfigurationError
from kconf.model.resource import Resource, ResourceType

if TYPE_CHECKING:
    from kconf.cli.common.target import Target
    from kconf.engine.declarative.model import Declared
    from kconf.model.cluster_state import ClusterState

_WORDS: Final = {kind: part for part, kind in PARTS.items()}


class Planned(NamedTuple):
    """What would be changed on a cluster, and what is not known of it; `revision` is what kconf was read at."""

    cluster: str
    differences: list[Difference]
    failures: dict[Resource, ApiError]
    notes: list[str]
    revision: int | None = None


def prune_of(options: argparse.Namespace, target: Target, declared: Declared) -> Prune | None:
    """What `--prune` allows to be removed, or None."""
    if options.prune is None:
        return None
    words = [each.strip() for each in options.prune.split(",") if each.strip()]
    for each in words:
        if each not in PRUNABLE:
            raise ConfigurationError(f"--prune knows {', '.join(PRUNABLE)}, and not {each!r}")
    if words and not declared.selectors:
        raise ConfigurationError(f"--prune={options.prune} needs a selector in the files: what is theirs to remove")
    return Prune(words, _own_users(target))


def plan_files(target: Target, declared: Declared, prune: Prune | None) -> Planned:
    from kconf.cli.common.units import keys_for

    reading = asyncio.run(_read(target, declared, prune))
    found, notes = differences(declared, reading, keys_for)
    if prune is not None:
        removed, more = pruned(declared, reading, keys_for, prune)
        found, notes = found + removed, notes + more
    return Planned(reading.cluster, found, _failures(reading, found), notes, reading.revision)


def check_deletes(found: Iterable[Difference], options: argparse.Namespace) -> None:
    count = sum(each.pruned for each in found)
    if count > options.max_deletes:
        raise Aborted(f"this would remove {count} things, and --max-deletes allows {options.max_deletes}")


async def _read(target: Target, declared: Declared, prune: Prune | None) -> ClusterState:
    """Only what the files are about is read: without pruning, the keys that they name."""
    owned = {SCOPES[each.word] for each in declared.selectors} if prune is not None else set()
    kinds = {each.type for each in declared.configs} | owned
    kinds |= {ResourceType.TOPIC} if declared.topics else set()
    kinds |= {ResourceType.QUOTA} if declared.quotas else set()
    kinds |= {ResourceType.SCRAM} if declared.users else set()
    kinds |= {ResourceType.ACL} if declared.acls else set()
    configs = declared.configs
    everything = prune is not None

    def wanted(resource: Resource) -> bool:
        return bool(configs.get(resource)) or (everything and (declared.names(resource) or declared.owns(resource)))

    async with target.open_async() as admin:
        return await read_cluster(
            admin,
            [part for part, kind in PARTS.items() if kind in kinds],
            wanted=wanted,
            named=[each for each in configs if each.type is not ResourceType.TOPIC],
            keys=None if everything else {each: list(values) for each, values in configs.items()},
            synonyms=everything,
        )


def _failures(reading: ClusterState, found: Sequence[Difference]) -> dict[Resource, ApiError]:
    """Why something that differs, or seems to, is not known well enough to be changed."""
    missing = {each.what: each.failure for each in reading.missing}
    failures: dict[Resource, ApiError] = {}
    for resource in dict.fromkeys(each.resource for each in found):
        failure = missing.get(str(resource)) or missing.get(_WORDS[resource.type])
        if failure is not None:
            failures[resource] = failure
    return failures


def _own_users(target: Target) -> list[str]:
    """Whom we log in as: to remove oneself is never meant."""
    with target.open() as admin:
        user = admin.settings.security.username
    return [] if user is None else [user]
