"""The lists: topics, brokers, groups and users, with their possible columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kconf.console.listing.columns import ListColumn, key_column, number_column, text_column, time_column
from kconf.console.listing.table import ListSource, names_counted, resources_set
from kconf.model.quota import USER
from kconf.model.resource import Resource, ResourceType

if TYPE_CHECKING:
    from kconf.console.cluster.snapshot import ClusterSnapshot

MakeColumn = Callable[["ClusterSnapshot"], ListColumn]


@dataclass(frozen=True)
class ListKind:
    """A list: its source, its columns other than keys, and the columns shown by default."""

    word: str  # in the address: topics
    item: str  # singular: topic
    kind: ResourceType
    source: Callable[[ClusterSnapshot], ListSource]
    columns: Mapping[str, MakeColumn]
    defaults: Sequence[str]
    part: str  # its name in `ClusterState.missing`
    has_keys: bool = True

    def column(self, snapshot: ClusterSnapshot, name: str) -> ListColumn:
        make = self.columns.get(name)
        if make is None:
            return key_column(snapshot, self.kind, name)
        return snapshot.derived(("list column", self.word, name), make)

    def rows(self, snapshot: ClusterSnapshot) -> ListSource:
        return snapshot.derived(("list", self.word), self.source)


def _set_column(kind: ResourceType) -> MakeColumn:
    return lambda snapshot: number_column("set", "Set", resources_set(snapshot, kind))


def _has_all(snapshot: ClusterSnapshot) -> bool:
    """Whether the last recorded change is the last change. Not if other tools may change the cluster unrecorded."""
    return snapshot.history is not None and snapshot.history.since is not None


def _changed_column(kind: ResourceType) -> MakeColumn:
    def make(snapshot: ClusterSnapshot) -> ListColumn:
        found = snapshot.history.by_resource if snapshot.history is not None else {}
        values = {each.name: entries[-1].time for each, entries in found.items() if each.type is kind}
        return time_column("changed", "Changed" if _has_all(snapshot) else "Last recorded change", values)

    return make


def _changed_by_column(kind: ResourceType) -> MakeColumn:
    def make(snapshot: ClusterSnapshot) -> ListColumn:
        found = snapshot.history.by_resource if snapshot.history is not None else {}
        last = {each.name: entries[-1].caller.principal for each, entries in found.items() if each.type is kind}
        title = "Changed by" if _has_all(snapshot) else "Recorded author"
        return text_column("changed-by", title, {name: who for name, who in last.items() if who})

    return make


# -- topics ----------------------------------------------------------------------------------------------------------


def _topics(snapshot: ClusterSnapshot) -> ListSource:
    shapes, lake = snapshot.state.topics, snapshot.lake
    return ListSource(
        ResourceType.TOPIC,
        sorted(shapes),
        {
            "set": resources_set(snapshot, ResourceType.TOPIC).keys(),
            "internal": {name for name, each in shapes.items() if each.internal},
            "drifted": names_counted(lake.drifted if lake else None, ResourceType.TOPIC),
            "violating": names_counted(lake.violations if lake else None, ResourceType.TOPIC),
        },
        lake.owners if lake is not None and not lake.error else None,
        {
            "partitions": {name: str(each.partitions) for name, each in shapes.items()},
            "replication-factor": {name: str(each.replication) for name, each in shapes.items()},
        },
    )


TOPICS: Final = ListKind(
    "topics",
    "topic",
    ResourceType.TOPIC,
    _topics,
    {
        "partitions": lambda each: number_column(
            "partitions", "Partitions", {name: shape.partitions for name, shape in each.state.topics.items()}
        ),
        "replication-factor": lambda each: number_column(
            "replication-factor", "Replicas", {name: shape.replication for name, shape in each.state.topics.items()}
        ),
        "set": _set_column(ResourceType.TOPIC),
        "changed": _changed_column(ResourceType.TOPIC),
        "changed-by": _changed_by_column(ResourceType.TOPIC),
        "owner": lambda each: text_column("owner", "Owner", each.lake.owners if each.lake is not None else {}),
    },
    ("partitions", "replication-factor", "retention.ms", "cleanup.policy", "set", "changed", "changed-by"),
    "topics",
)


# -- brokers ---------------------------------------------------------------------------------------------------------


def _brokers(snapshot: ClusterSnapshot) -> ListSource:
    names = ["", *(str(each) for each in sorted(snapshot.nodes))]
    return ListSource(ResourceType.BROKER, names, {"set": resources_set(snapshot, ResourceType.BROKER).keys()})


BROKERS: Final = ListKind(
    "brokers",
    "broker",
    ResourceType.BROKER,
    _brokers,
    {
        "address": lambda each: text_column(
            "address", "Address", {str(number): f"{node.host}:{node.port}" for number, node in each.nodes.items()}
        ),
        "rack": lambda each: text_column(
            "rack", "Rack", {str(number): node.rack for number, node in each.nodes.items() if node.rack}
        ),
        "set": _set_column(ResourceType.BROKER),
        "changed": _changed_column(ResourceType.BROKER),
        "changed-by": _changed_by_column(ResourceType.BROKER),
    },
    ("address", "rack", "set", "changed", "changed-by"),
    "brokers",
)


# -- groups ----------------------------------------------------------------------------------------------------------


def _groups(snapshot: ClusterSnapshot) -> ListSource:
    configured = {each.name for each in snapshot.state.configs if each.type is ResourceType.GROUP}
    names = sorted({each.name for each in snapshot.groups} | configured)
    return ListSource(ResourceType.GROUP, names, {"set": resources_set(snapshot, ResourceType.GROUP).keys()})


GROUPS: Final = ListKind(
    "groups",
    "group",
    ResourceType.GROUP,
    _groups,
    {
        "state": lambda each: text_column("state", "State", {one.name: one.state for one in each.groups if one.state}),
        "type": lambda each: text_column("type", "Type", {one.name: one.type for one in each.groups if one.type}),
        "set": _set_column(ResourceType.GROUP),
        "changed": _changed_column(ResourceType.GROUP),
        "changed-by": _changed_by_column(ResourceType.GROUP),
    },
    ("state", "type", "set", "changed", "changed-by"),
    "groups",
)


# -- users -----------------------------------------------------------------------------------------------------------


def _quotas_of_users(snapshot: ClusterSnapshot) -> dict[str, int]:
    """How many quotas name a user, alone or with a client id."""
    found: dict[str, int] = {}
    for entity, limits in snapshot.state.quotas.items():
        name = dict(entity.parts).get(USER)
        if name is not None:
            found[name] = found.get(name, 0) + len(limits)
    return found


def _acls_of_users(snapshot: ClusterSnapshot) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in snapshot.state.acls:
        kind, _, name = each.principal.partition(":")
        if kind == "User":
            found[name] = found.get(name, 0) + 1
    return found


def _mechanisms(snapshot: ClusterSnapshot) -> dict[str, str]:
    """The SCRAM mechanisms of each user, without secrets."""
    return {
        user: ", ".join(sorted(each.mechanism.name.replace("_", "-") for each in infos))
        for user, infos in snapshot.state.users.items()
    }


def _users(snapshot: ClusterSnapshot) -> ListSource:
    names = {*snapshot.state.users, *_quotas_of_users(snapshot), *_acls_of_users(snapshot)}
    return ListSource(ResourceType.SCRAM, sorted(names), {"set": snapshot.state.users.keys()})


USERS: Final = ListKind(
    "users",
    "user",
    ResourceType.SCRAM,
    _users,
    {
        "mechanisms": lambda each: text_column("mechanisms", "SCRAM", _mechanisms(each)),
        "quotas": lambda each: number_column("quotas", "Quotas", _quotas_of_users(each)),
        "acls": lambda each: number_column("acls", "ACLs", _acls_of_users(each)),
        "changed": _changed_column(ResourceType.SCRAM),
        "changed-by": _changed_by_column(ResourceType.SCRAM),
    },
    ("mechanisms", "quotas", "acls", "changed", "changed-by"),
    "users",
    has_keys=False,
)

LISTS: Final = {each.word: each for each in (TOPICS, BROKERS, GROUPS, USERS)}


def resource_of_row(kind: ListKind, name: str) -> Resource:
    return Resource(kind.kind, name)
