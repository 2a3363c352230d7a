"""A fake cluster with brokers that may lag: a broker shows the state of its last `catch_up`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from uuid import UUID

from kconf.errors import ApiError, ConnectionFailed
from kconf.model.cluster import ClusterDescription, Node
from kconf.model.resource import Overrides, Resource, ResourceType, Topic
from kconf.store.upstream.polling.reading import Listing, Reading


class FakeCluster:
    """`topics` and `configs` are the state of the controller."""

    def __init__(self, nodes: Iterable[int] = (1,)) -> None:
        self.topics: dict[str, Topic] = {}
        self.configs: dict[Resource, dict[str, str]] = {}
        self.refused: dict[ResourceType | Resource, ApiError] = {}
        self.nodes = list(nodes)
        self.id = "cluster"
        self.unreachable: set[int] = set()
        self.lagging: set[int] = set()
        self.reads: list[tuple[int, object]] = []
        self._shown: dict[int, tuple[dict[str, Topic], dict[Resource, dict[str, str]]]] = {}
        for node in self.nodes:
            self.catch_up(node)

    def create(self, name: str, number: int, **values: str) -> None:
        self.topics[name] = Topic(name, UUID(int=number), ((1,),))
        self.configs.pop(Resource.topic(name), None)
        for key, value in values.items():
            self.set(Resource.topic(name), key.replace("_", "."), value)

    def delete(self, name: str) -> None:
        del self.topics[name]
        self.configs.pop(Resource.topic(name), None)

    def set(self, resource: Resource, key: str, value: str | None) -> None:
        values = self.configs.setdefault(resource, {})
        if value is None:
            values.pop(key, None)
        else:
            values[key] = value

    def catch_up(self, node: int) -> None:
        self._shown[node] = dict(self.topics), {each: dict(values) for each, values in self.configs.items()}

    def shown_by(self, node: int) -> tuple[dict[str, Topic], dict[Resource, dict[str, str]]]:
        if node in self.unreachable:
            raise ConnectionFailed(f"broker {node} is unreachable")
        if node not in self.lagging:
            self.catch_up(node)
        return self._shown[node]


class FakeReader:
    """Replaces StateReader."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster

    def close(self) -> None:
        """Nothing is open."""

    def cluster(self, node: int | None) -> ClusterDescription:
        if node in self._cluster.unreachable:
            raise ConnectionFailed(f"broker {node} is unreachable")
        nodes = {each: Node(each, "broker", each) for each in self._cluster.nodes}
        return ClusterDescription(self._cluster.id, None, nodes, None)

    def list_topics(self, node: int) -> Listing:
        return self._cluster.shown_by(node)[0]

    def topics(self, node: int, names: Collection[str], known: Mapping[str, Topic]) -> Reading:
        self._cluster.reads.append((node, tuple(names)))
        topics, configs = self._cluster.shown_by(node)
        resources = [Resource.topic(name) for name in names if name in topics]
        refused = {each: self._cluster.refused[each] for each in resources if each in self._cluster.refused}
        shown: dict[Resource, Overrides] = {each: configs.get(each, {}) for each in resources if each not in refused}
        return Reading({name: topics.get(name) for name in names}, shown, refused)

    def kind(self, node: int, kind: ResourceType, known: Iterable[Resource], cluster: ClusterDescription) -> Reading:
        self._cluster.reads.append((node, kind))
        _, configs = self._cluster.shown_by(node)
        if kind in self._cluster.refused:
            raise self._cluster.refused[kind].error()
        found: dict[Resource, Overrides] = {each: {} for each in known}
        return Reading({}, found | {each: values for each, values in configs.items() if each.type is kind}, {})

    def some(self, node: int, resources: Collection[Resource]) -> Reading:
        names = [each.name for each in resources if each.type is ResourceType.TOPIC]
        _, configs = self._cluster.shown_by(node)
        reading = self.topics(node, names, {})
        others = {each: configs.get(each, {}) for each in resources if each.type is not ResourceType.TOPIC}
        return Reading(reading.topics, {**reading.configs, **others}, reading.refused)
