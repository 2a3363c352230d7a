"""The current values of a cluster, in a form that can be compared with recorded values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kconf.client.cluster_reader import PARTS
from kconf.configdef.lookup import known_key
from kconf.engine.declarative.diff import same
from kconf.model.entry import ValueType
from kconf.model.resource import Resource, ResourceType
from kconf.model.scram import shown_iterations
from kconf.model.snapshot import encode_id
from kconf.operations.history.topic_incarnations import same_topic
from kconf.operations.state import ConfigName, set_values

if TYPE_CHECKING:
    from kconf.model.cluster_state import ClusterState


class LiveValues:
    """The values that are set, by resource and key, and what could not be read."""

    def __init__(self, state: ClusterState) -> None:
        self.state, self.values = state, set_values(state)
        for name, shape in state.topics.items():
            topic_id = encode_id(shape.id) if shape.id.int else None
            facts = {"id": topic_id, "partitions": shape.partitions, "replication": shape.replication}
            self.values[Resource.topic(name), ""] = json.dumps(facts)
        self._missing = {each.what for each in state.missing}

    def is_secret(self, name: ConfigName) -> bool:
        """Whether the cluster hides the value; for a credential it shows only the iterations."""
        return name in self.values and (self.values[name] is None or name[0].type is ResourceType.SCRAM)

    def may_be(self, name: ConfigName, text: str | None, *, is_secret: bool) -> bool:
        """Whether the live value may equal a recorded one; for a secret only presence and iterations count."""
        value = self.values.get(name)
        if not is_secret:
            return same_value(name, value, text)
        return (name in self.values) == (text is not None) and not other_credential(name, value, text)

    def topic_id(self, resource: Resource) -> str | None:
        shape = self.state.topics.get(resource.name)
        return None if shape is None or not shape.id.int else encode_id(shape.id)

    def is_listed(self, resource: Resource) -> bool:
        """Whether the cluster lists a topic. Other resources exist if something is set on them."""
        return resource.type is not ResourceType.TOPIC or resource.name in self.state.topics

    def is_readable(self, name: ConfigName) -> bool:
        """Whether the value (or its absence) could be read. A topic that is not listed counts as read."""
        resource, key = name
        part = next((part for part, kind in PARTS.items() if kind is resource.type), None)
        text = f"user:{resource.name}" if resource.type is ResourceType.SCRAM else str(resource)
        if part is None or part in self._missing or text in self._missing:
            return False
        is_topic = resource.type is ResourceType.TOPIC
        if resource.type is ResourceType.BROKER or (is_topic and key and resource.name in self.state.topics):
            return resource in self.state.configs  # a broker that is down is neither listed nor in `missing`
        return True


def other_credential(name: ConfigName, one: str | None, other: str | None) -> bool:
    """Whether two values are different SCRAM credentials for certain, because their iterations differ."""
    counts = shown_iterations(one), shown_iterations(other)
    return name[0].type is ResourceType.SCRAM and None not in counts and counts[0] != counts[1]


def same_value(name: ConfigName, one: str | None, other: str | None) -> bool:
    """Whether two strings are the same value of a key: a broker may format it differently."""
    resource, key = name
    if one == other or one is None or other is None:
        return one == other
    if resource.type is ResourceType.TOPIC and not key:
        return same_topic(one, other)
    known = known_key(resource.type, key)
    return same(known.type if known is not None else ValueType.STRING, one, other)
