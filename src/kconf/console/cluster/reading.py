"""Reads a cluster for the console: everything, or only what a change was about."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from time import time
from typing import TYPE_CHECKING, Final

from kconf.client.cluster_reader import PARTS, read_cluster
from kconf.configdef.releases.detect import release_of
from kconf.console.cluster.snapshot import ClusterSnapshot, Status
from kconf.errors import JournalTrimmed, KafkaError, NotAuthorized, UnsupportedVersion
from kconf.model.resource import Resource, ResourceType

if TYPE_CHECKING:
    from kconf.client.admin import AdminClient
    from kconf.model.cluster_state import ClusterState

MOST_SINGLE: Final = 500
"""Changed resources up to which only they are read again."""


async def read_all(admin: AdminClient, before: ClusterSnapshot, *, is_kconf: bool) -> ClusterSnapshot:
    """The whole cluster, with the precedence of every value."""
    described = await admin.describe_cluster()
    state = await read_cluster(admin, synonyms=True)
    features = await admin.describe_features()
    groups, groups_error = before.groups, ""
    try:
        groups = await admin.list_groups()
    except KafkaError as error:
        groups_error = str(error)
    return replace(
        before,
        status=Status.REACHABLE,
        state=state,
        nodes=described.nodes,
        groups=groups,
        groups_error=groups_error,
        release=release_of(features.supported, features.apis).text,
        is_kconf=is_kconf,
        taken=_now(),
        error="",
        failed_since=None,
    )


async def read_changed(
    admin: AdminClient, before: ClusterSnapshot, changed: Collection[Resource], *, is_kconf: bool
) -> ClusterSnapshot:
    """The cluster with some resources read again. A change of brokers may affect every topic: then all is read."""
    kinds = {each.type for each in changed}
    if ResourceType.BROKER in kinds or len(changed) > MOST_SINGLE or not before.is_read:
        return await read_all(admin, before, is_kconf=is_kconf)
    parts = [part for part, kind in PARTS.items() if kind in kinds]
    read = await read_cluster(admin, parts, wanted=lambda each: each in changed, synonyms=True)
    return replace(before, state=_merged(before.state, read, changed, kinds), taken=_now())


def _merged(
    old: ClusterState, new: ClusterState, changed: Collection[Resource], kinds: Collection[ResourceType]
) -> ClusterState:
    """The old state with what was read again. Lists (topics, quotas, users, ACLs) are always read as a whole."""
    configs = {each: view for each, view in old.configs.items() if each not in changed}
    configs.update(new.configs)
    is_new = {part: kind in kinds for part, kind in PARTS.items()}
    again = {part for part in PARTS if is_new[part]} | {str(each) for each in changed}
    missing = [each for each in old.missing if each.what not in again]
    return replace(
        old,
        started=new.started,
        taken=new.taken,
        topics=new.topics if is_new["topics"] else old.topics,
        configs=configs,
        quotas=new.quotas if is_new["quotas"] else old.quotas,
        users=new.users if is_new["users"] else old.users,
        acls=new.acls if is_new["acls"] else old.acls,
        missing=tuple(sorted([*missing, *new.missing])),
        revision=new.revision if new.revision is not None else old.revision,
    )


async def has_feed(admin: AdminClient) -> bool:
    """Whether the cluster has a change feed: so it is a kconf server."""
    try:
        await admin.list_changes(0, limit=1)
    except UnsupportedVersion:
        return False
    except (JournalTrimmed, NotAuthorized):
        return True
    return True


def _now() -> int:
    return int(time() * 1000)
