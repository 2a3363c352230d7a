"""A cluster of one broker, and a snapshot with some topics."""

from __future__ import annotations

from uuid import uuid4

from kconf.configdef.catalog import kafka_43
from kconf.engine.configs.resolver import ConfigResolver
from kconf.engine.topics.create import plan_create_topics
from kconf.engine.topics.placement import ClusterDefaults
from kconf.model.alteration import NewTopic
from kconf.model.snapshot import Snapshot

CLUSTER = ClusterDefaults((1,), ConfigResolver(kafka_43(), {}, {}, {}), uuid4)


def snapshot(*names: str) -> Snapshot:
    planned = plan_create_topics(Snapshot.EMPTY, [NewTopic(name, 1, 1) for name in names], CLUSTER)
    return Snapshot.EMPTY.apply(planned.changes, 1)
