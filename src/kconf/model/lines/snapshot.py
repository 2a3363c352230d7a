"""The state of a cluster as lines of JSON: what `kconf snapshot` writes and the pipeline reads.

The first line describes the file, and the last one has the number of lines before it. Brokers have all their keys,
other resources only their overrides. Sensitive values are null. docs/reference/formats.md lists the fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from kconf.model.acl import AclBinding
from kconf.model.cluster_state import ClusterState
from kconf.model.entry import SOURCE_NAMES, Entry, own_source
from kconf.model.lines.journal import FORMAT
from kconf.model.resource import Resource, ResourceType
from kconf.model.scram import CredentialInfo
from kconf.model.snapshot import encode_id

Line = dict[str, Any]


def snapshot_lines(state: ClusterState, name: str, labels: Mapping[str, str], version: str) -> Iterator[Line]:
    """All lines of a file. `name` is the name of the context, `version` the version of kconf."""
    count = 0
    for line in _body(state, name, labels, version):
        count += 1
        yield line
    yield {"kind": "end", "lines": count}


def _body(state: ClusterState, name: str, labels: Mapping[str, str], version: str) -> Iterator[Line]:
    yield {
        "kind": "snapshot",
        "format": FORMAT,
        "cluster": state.cluster,
        "name": name,
        "labels": dict(labels),
        "started": state.started,
        "taken": state.taken,
        "kconf": version,
        "missing": [
            {"what": what, "error": failure.code.name, "message": failure.message} for what, failure in state.missing
        ],
    }
    for topic, shape in state.topics.items():
        yield topic_line(topic, *shape)
    for resource, view in state.configs.items():
        yield from _configs(resource, view.entries)
    for entity, limits in state.quotas.items():
        for key, value in limits.items():
            yield {"kind": "quota", "entity": dict(entity.parts), "key": key, "value": value}
    for user, infos in state.users.items():
        for info in infos:
            yield scram_line(user, info)
    for acl in state.acls:
        yield acl_line(acl)


def _configs(resource: Resource, entries: Iterable[Entry]) -> Iterator[Line]:
    own = own_source(resource)
    everything = resource.type is ResourceType.BROKER
    for entry in entries:
        if everything or entry.source == own:
            yield config_line(resource, entry)


def topic_line(name: str, topic_id: UUID, partitions: int, replication: int, internal: bool) -> Line:
    return {
        "kind": "topic",
        "name": name,
        "id": encode_id(topic_id) if topic_id.int else None,
        "partitions": partitions,
        "replication": replication,
        "internal": internal,
    }


def config_line(resource: Resource, entry: Entry) -> Line:
    return {
        "kind": "config",
        "resource_type": resource.type.word,
        "resource_name": resource.name,
        "key": entry.name,
        "value": None if entry.sensitive else entry.value,
        "source": SOURCE_NAMES[entry.source],
        "sensitive": entry.sensitive,
        "read_only": entry.read_only,
    }


def scram_line(user: str, info: CredentialInfo) -> Line:
    return {"kind": "scram", "user": user, "mechanism": info.mechanism.word, "iterations": info.iterations}


def acl_line(acl: AclBinding) -> Line:
    return {
        "kind": "acl",
        "resource_type": acl.resource_type.name,
        "pattern": acl.pattern.name,
        "name": acl.name,
        "principal": acl.principal,
        "host": acl.host,
        "operation": acl.operation.name,
        "permission": acl.permission.name,
    }
