"""A gateway in front of a real cluster with keys that kconf does not know: those of a newer release, or of a vendor."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.errors import InvalidConfig
from kconf.model.alteration import AlterConfigOp, NewTopic, OpType
from kconf.model.resource import Resource, ResourceType
from lab.broker import KafkaBroker
from tests.cli.commands.scenarios import a_name, until
from tests.conformance.test_gateway import begin, gateway, setting
from tests.support.older_gateway import LACKING

OLDER = ("tests.support.older_gateway",)


@pytest.mark.parametrize("polls", [False, True], ids=["log", "polls"])
def test_keys_that_kconf_does_not_know_are_described_as_by_the_brokers(
    kafka_431: KafkaBroker, tmp_path: Path, polls: bool
) -> None:
    topic, broker = Resource.topic(a_name("keys")), Resource.broker(kafka_431.node_id)
    resources = [topic, broker, Resource.brokers(), Resource(ResourceType.GROUP, a_name("group"))]
    key, of_broker = "segment.index.bytes", "log.cleaner.backoff.ms"
    with SyncAdminClient(kafka_431.bootstrap) as direct:
        direct.create_topics([NewTopic(topic.name, 1, 1)]).raise_for_failures()
    with (
        SyncAdminClient(kafka_431.bootstrap) as direct,
        gateway(kafka_431, tmp_path / "gw.db", polls=polls, program=OLDER) as (address, _),
        SyncAdminClient(address) as admin,
    ):
        direct.incremental_alter_configs({topic: setting(77, "flush.messages")}).raise_for_failures()
        until(lambda: admin.describe_configs([topic])[topic]["flush.messages"].value, "77")
        admin.incremental_alter_configs({topic: setting(4096, key)}, reason="ours").raise_for_failures()
        admin.incremental_alter_configs({broker: setting(15_002, of_broker)}, reason="ours").raise_for_failures()
        with pytest.raises(InvalidConfig):
            admin.incremental_alter_configs({topic: setting("many", key)})[topic]
        with pytest.raises(InvalidConfig):
            admin.incremental_alter_configs({topic: setting(1, "no.such.key")})[topic]
        until(lambda: direct.describe_configs([broker])[broker][of_broker].value, "15002")
        ours, theirs = (each.describe_configs(resources, synonyms=True, documentation=True) for each in (admin, direct))
        for resource in resources:
            assert ours[resource].keys() == theirs[resource].keys()
            for name, entry in theirs[resource].items():
                found = ours[resource][name]
                if name in LACKING.get(resource.type.word, ()):
                    assert found == entry
                elif name not in ("listeners", "advertised.listeners"):
                    assert (found.value, found.source, found.synonyms) == (entry.value, entry.source, entry.synonyms)
        changes = [
            (change.key, change.before, change.after, each.caller.reason)
            for each in admin.list_changes(begin(admin), about=[topic, broker]).revisions
            for change in each.changes
            if change.key
        ]
        assert changes == [
            ("flush.messages", None, "77", None),
            (key, None, "4096", "ours"),
            (of_broker, None, "15002", "ours"),
        ]
        delete = [AlterConfigOp(OpType.DELETE, of_broker)]
        admin.incremental_alter_configs({broker: delete}).raise_for_failures()
        direct.delete_topics([topic.name]).raise_for_failures()
