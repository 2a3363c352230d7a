"""Reads a cluster for the console: everything, or only the changed resources."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from time import time
from typing import TYPE_CHECKING, Final

from kconf.client.cluster_reader import PARTS, read_cluster
from kconf.configdef.releases.detect import release_of
from kconf.console.cluster.snapshot import ClusterSnapshot, Status
from kconf.errors import JournalTrimmed, KafkaError, NotAuthorized, UnsupportedVersion
from kconf.model.cluster_state import TopicShape
from kconf.model.journal import ChangeKind
from kconf.model.resource import Resource, ResourceType

if TYPE_CHECKING:
    from kconf.client.admin import AdminClient
    from kconf.model.cluster_state import ClusterState
    from kconf.model.journal import Change

_CONFIGURED: Final = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLIENT_METRICS)
MOST_SINGLE: Final = 500
"""Up to this number of changes, only the changed resources are read again."""


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
        is_refused=False,
        failed_since=None,
    )


async def read_changed(admin: AdminClient, before: ClusterSnapshot, changes: Collection[Change]) -> ClusterSnapshot:
    """The snapshot of a followed cluster with the changed resources read again, so that it is current."""
    shaped = [each.resource.name for each in changes if each.kind is ChangeKind.TOPIC]
    found = await read_resources(admin, before, {each.resource for each in changes}, shaped)
    return replace(found, taken=_now())


async def read_resources(
    admin: AdminClient, before: ClusterSnapshot, changed: Collection[Resource], shaped: Collection[str] = ()
) -> ClusterSnapshot:
    """The cluster with some resources read again; `shaped` are topics that may be new, gone or larger.

    The age of the snapshot is that of the parts that were not read again. If brokers have changed, everything is read,
    because this may affect every topic.
    """
    kinds = {each.type for each in changed}
    if ResourceType.BROKER in kinds or len(changed) > MOST_SINGLE or not before.is_read:
        return await read_all(admin, before, is_kconf=before.is_kconf)
    parts = [part for part, kind in PARTS.items() if kind in kinds and kind not in _CONFIGURED]
    state = before.state
    if parts:
        state = _with_parts(state, await read_cluster(admin, parts), parts)
    if shaped:
        state = replace(state, topics=await _shapes(admin, state.topics, shaped))
    configured = [each for each in changed if each.type in _CONFIGURED]
    if configured:
        state = await _with_configs(admin, state, configured)
    findings = {place: text for place, text in before.findings.items() if place[0] not in changed}
    return replace(before, state=state, findings=findings)


def _with_parts(old: ClusterState, new: ClusterState, parts: Collection[str]) -> ClusterState:
    """The old state with newly read quotas, users or ACLs."""
    missing = [each for each in old.missing if each.what not in parts]
    return replace(
        old,
        quotas=new.quotas if "quotas" in parts else old.quotas,
        users=new.users if "users" in parts else old.users,
        acls=new.acls if "acls" in parts else old.acls,
        missing=tuple(sorted([*missing, *new.missing])),
    )


async def _shapes(admin: AdminClient, old: Mapping[str, TopicShape], names: Collection[str]) -> dict[str, TopicShape]:
    described = await admin.describe_topics(names)
    found = {name: shape for name, shape in old.items() if name not in set(names)}
    for name in names:
        if name not in described.failures:
            topic = described[name]
            replicas = len(topic.partitions[0].replicas) if topic.partitions else 0
            found[name] = TopicShape(topic.topic_id, len(topic.partitions), replicas, topic.internal)
    return found


async def _with_configs(admin: AdminClient, old: ClusterState, resources: Collection[Resource]) -> ClusterState:
    """The old state with newly read configs. A resource that cannot be described was deleted or is not visible; it is
    removed.
    """
    described = await admin.describe_configs(resources, synonyms=True)
    configs = {**old.configs, **{each: described[each] for each in resources if each not in described.failures}}
    for each in described.failures:
        configs.pop(each, None)
    return replace(old, configs=configs, taken=_now(), revision=described.revision or old.revision)


async def has_feed(admin: AdminClient) -> bool:
    """Whether the cluster has a change feed, that is, whether it is a kconf server."""
    try:
        await admin.list_changes(0, limit=1)
    except UnsupportedVersion:
        return False
    except (JournalTrimmed, NotAuthorized):
        return True
    return True


def _now() -> int:
    return int(time() * 1000)
