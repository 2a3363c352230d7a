"""min.insync.replicas with eligible leader replicas: kconf answers as a real 4.3.1 that was formatted with the feature.

Codes, values, sources and synonyms are compared, and the sentences that Kafka has for this feature alone. Without the
feature the whole differential lab compares the two.
"""

from __future__ import annotations

import time

import pytest

from kconf import AlterConfigOp, NewTopic, OpType, Resource, SyncAdminClient
from kconf.errors import ApiError
from lab.broker import KafkaBroker
from tests.support.process import KconfProcess

KEY = "min.insync.replicas"
ELR = "eligible.leader.replicas.version"
ALL, ONE, TOPIC = Resource.brokers(), Resource.broker(1), Resource.topic("elr")
SET, DELETE = OpType.SET, OpType.DELETE
SOON = 30.0
OPS: tuple[tuple[Resource, tuple[tuple[OpType, str, str | None], ...]], ...] = (
    (ALL, ((DELETE, KEY, None),)),
    (ONE, ((SET, KEY, "2"),)),
    (ONE, ((DELETE, KEY, None),)),
    (ALL, ((SET, KEY, "0"),)),
    (ONE, ((SET, KEY, "0"),)),
    (ALL, ((SET, KEY, "x"),)),
    (ALL, ((SET, KEY, "2"),)),
    (ALL, ((OpType.APPEND, KEY, "2"),)),
    (ALL, ((SET, "log.retention.ms", "1000"), (DELETE, KEY, None))),
    (ONE, ((SET, "num.io.threads", "9"), (SET, KEY, "2"))),
    (TOPIC, ((SET, KEY, "2"),)),
    (TOPIC, ((DELETE, KEY, None),)),
)
REPLACED: tuple[tuple[Resource, dict[str, str]], ...] = (
    (ALL, {}),
    (ALL, {"log.retention.ms": "5"}),
    (ALL, {"log.retention.ms": "5", KEY: "3"}),
    (ONE, {KEY: "3"}),
    (ONE, {"num.io.threads": "9"}),
    (ALL, {KEY: "1"}),
)


def shown(found: ApiError | None) -> tuple[int, str | None] | None:
    """The code, and of a sentence about the feature also its text: other sentences are kconf's own."""
    if found is None:
        return None
    return found.code, found.message if "ELR" in (found.message or "") else None


def described(admin: SyncAdminClient) -> list[object]:
    resources = (ALL, ONE, TOPIC)
    views = admin.describe_configs(resources, keys={each: [KEY] for each in resources}, synonyms=True)
    return [
        (str(resource), each.value, each.source, tuple(each.synonyms))
        for resource in resources
        for each in views[resource].entries
    ]


class Story:
    """The same requests to one side; the other side's descriptions are waited for, as brokers lag behind."""

    def __init__(self, admin: SyncAdminClient, other: list[object]) -> None:
        self.admin, self.other = admin, other
        self.found: list[object] = []

    def told(self) -> list[object]:
        admin = self.admin
        admin.create_topics([NewTopic("elr", 1, 1)]).raise_for_failures()
        features = admin.describe_features()
        self.add((features.supported[ELR], features.finalized[ELR], features.finalized["metadata.version"]))
        self.describe()
        for validate_only in (True, False):
            for resource, ops in OPS:
                wish = {resource: [AlterConfigOp(*each) for each in ops]}
                failures = admin.incremental_alter_configs(wish, validate_only=validate_only).failures
                self.add((str(resource), ops, shown(failures.get(resource))))
                self.describe()
        for resource, configs in REPLACED:
            with pytest.deprecated_call():
                failures = admin.alter_configs({resource: configs}).failures
            self.add((str(resource), configs, shown(failures.get(resource))))
            self.describe()
        return self.found

    def add(self, fact: object) -> None:
        self.found.append(fact)

    def describe(self) -> None:
        wanted = self.other[len(self.found)] if self.other else None
        deadline = time.monotonic() + SOON
        while (found := described(self.admin)) != wanted and wanted is not None and time.monotonic() < deadline:
            pass
        self.add(found)


def test_kconf_answers_as_a_kafka_with_eligible_leader_replicas() -> None:
    with KconfProcess(args=["--feature", f"{ELR}=1"]) as kconf, SyncAdminClient(kconf.bootstrap) as admin:
        ours = Story(admin, []).told()
    with KafkaBroker("4.3.1", elr_version=1) as broker, SyncAdminClient(broker.bootstrap) as admin:
        theirs = Story(admin, ours).told()

    assert ours == theirs
    assert sum("ELR" in str(each) for each in ours) >= 10
