"""Properties of a resource other than keys: partitions and owner of a topic, address of a broker, quotas of a user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from kconf.configdef.units import shown_value
from kconf.console.history.activity import resource_text
from kconf.console.links import context_path
from kconf.console.words import plural, short_time
from kconf.engine.declarative.diff import quota_value
from kconf.errors import ErrorCode
from kconf.model.quota import USER
from kconf.model.resource import Resource, ResourceType
from kconf.model.snapshot import encode_id

if TYPE_CHECKING:
    from kconf.console.cluster.snapshot import ClusterSnapshot
    from kconf.console.page import PageRequest


NO_AUTHORIZER: Final = "This cluster has no authorizer: everybody who can connect can do everything."


@dataclass(frozen=True)
class Fact:
    title: str
    value: str


@dataclass(frozen=True)
class FactTable:
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    empty: str


@dataclass(frozen=True)
class RelatedPage:
    title: str
    path: str


def related_pages(context: str, resource: Resource) -> list[RelatedPage]:
    """Other pages about a resource."""
    base = context_path(context)
    found = {"Activity": f"{base}/activity?{urlencode({'resource': resource_text(resource)})}"}
    match resource.type:
        case ResourceType.TOPIC | ResourceType.GROUP:
            asked = {"operation": "read", "resource": f"{resource.type.word}:{resource.name}"}
            found["Who can read it"] = f"{base}/access?{urlencode(asked)}"
        case ResourceType.SCRAM:
            found["Quotas"] = f"{base}/quotas?{urlencode({'user': resource.name})}"
            found["ACLs"] = f"{base}/access/acls?{urlencode({'principal': f'User:{resource.name}'})}"
    return [RelatedPage(title, path) for title, path in found.items()]


def is_known(snapshot: ClusterSnapshot, resource: Resource) -> bool:
    """Whether the cluster lists the resource."""
    state = snapshot.state
    match resource.type:
        case ResourceType.TOPIC:
            return resource.name in state.topics
        case ResourceType.GROUP:
            return resource in state.configs or any(each.name == resource.name for each in snapshot.groups)
        case ResourceType.SCRAM:
            return bool(
                resource.name in state.users
                or any(dict(each.parts).get(USER) == resource.name for each in state.quotas)
                or any(each.principal == f"User:{resource.name}" for each in state.acls)
            )
        case _:
            return resource in state.configs


def facts_of(snapshot: ClusterSnapshot, resource: Resource) -> list[Fact]:
    match resource.type:
        case ResourceType.TOPIC:
            return _topic(snapshot, resource.name)
        case ResourceType.BROKER:
            node = next((each for each in snapshot.nodes.values() if str(each.id) == resource.name), None)
            if node is None:
                return []
            return [Fact("Address", f"{node.host}:{node.port}"), *([Fact("Rack", node.rack)] if node.rack else [])]
        case ResourceType.GROUP:
            group = next((each for each in snapshot.groups if each.name == resource.name), None)
            found = (
                [] if group is None else [("State", group.state), ("Type", group.type), ("Protocol", group.protocol)]
            )
            return [Fact(title, value) for title, value in found if value]
        case _:
            return []


def _topic(snapshot: ClusterSnapshot, name: str) -> list[Fact]:
    shape = snapshot.state.topics.get(name)
    if shape is None:
        return [Fact("Topic", "not listed now")]
    found = [Fact("Partitions", f"{shape.partitions:,}"), Fact("Replicas", str(shape.replication))]
    lake = snapshot.lake
    if lake is not None and not lake.error:
        found.append(Fact("Owner", lake.owners.get(name, "none")))
        resource = Resource.topic(name)
        run = "" if lake.finished is None else f" (run of {short_time(lake.finished)})"
        if lake.drifted is not None:
            found.append(Fact("Drift", plural(lake.drifted.get(resource, 0), "value") + run))
        if lake.violations is not None:
            found.append(Fact("Violations", f"{lake.violations.get(resource, 0)}{run}"))
    if shape.id.int:
        found.append(Fact("Topic ID", encode_id(shape.id)))
    return found + ([Fact("Internal", "yes")] if shape.internal else [])


def fact_tables(_request: PageRequest, snapshot: ClusterSnapshot, resource: Resource) -> list[FactTable]:
    """Tables of SCRAM credentials, quotas and ACLs, for users only."""
    if resource.type is not ResourceType.SCRAM:
        return []
    name, state = resource.name, snapshot.state
    credentials = [
        [each.mechanism.name.replace("_", "-"), f"{each.iterations:,}"] for each in state.users.get(name, ())
    ]
    quotas = [
        [str(entity), key, shown_value(key, quota_value(key, value))]
        for entity, limits in state.quotas.items()
        if dict(entity.parts).get(USER) == name
        for key, value in limits.items()
    ]
    acls = [
        [each.permission.name, each.operation.name, f"{each.resource_type.name}:{each.name}", each.host]
        for each in state.acls
        if each.principal == f"User:{name}"
    ]
    missing = {each.what: each.failure for each in state.missing}

    def empty(part: str, text: str) -> str:
        """That there is none, or why that is unknown."""
        failure = missing.get(part)
        if failure is None:
            return text
        if failure.code is ErrorCode.SECURITY_DISABLED:
            return NO_AUTHORIZER
        return f"Unknown: {failure.message or failure.code.name}"

    return [
        FactTable(
            "SCRAM credentials", ("Mechanism", "Iterations"), credentials, empty("users", "No SCRAM credentials.")
        ),
        FactTable("Quotas", ("Entity", "Quota", "Value"), quotas, empty("quotas", "No quota names this user.")),
        FactTable(
            "ACLs", ("Permission", "Operation", "Resource", "Host"), acls, empty("acls", "No ACL names this user.")
        ),
    ]
