"""Notifications are read and written like Kafka's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kconf.store.zookeeper import paths
from kconf.store.zookeeper.notifications import (
    MalformedNotification,
    notification_for,
    read_acl_notification,
    read_config_notification,
)
from tests.unit.store.zookeeper.golden import GOLDEN, golden, unstamped


@pytest.mark.parametrize(
    ("path", "data"),
    golden(paths.CONFIG_CHANGES, paths.LITERAL_ACL_CHANGES, paths.PREFIXED_ACL_CHANGES),
)
def test_a_notification_of_kafka_is_resolved_to_its_znode_and_written_unchanged(path: str, data: str) -> None:
    directory, _, name = path.rpartition("/")
    if directory == paths.CONFIG_CHANGES:
        found = read_config_notification(data.encode())
        assert found is not None
        meant, ours = found
        assert not ours
    else:
        meant = read_acl_notification(directory, data.encode())

    notification = notification_for(meant)
    assert notification is not None
    assert (notification.directory, name.startswith(notification.prefix)) == (directory, True)
    if directory == paths.CONFIG_CHANGES:
        assert unstamped(notification.data) == json.loads(data)
        assert read_config_notification(notification.data) == (meant, True)
    else:
        assert notification.data == data.encode()


@pytest.mark.parametrize("case", GOLDEN["notification_acceptance"], ids=lambda case: case["data"][:60] or "empty")
def test_a_notification_is_applied_if_a_broker_applies_it(case: dict[str, Any]) -> None:
    try:
        found = read_config_notification(case["data"].encode())
    except MalformedNotification:
        outcome = "error logged"
    else:
        outcome = "silent" if found is None else "applied"

    singular = '"entity_type":"topic"' in case["data"]  # as KIP-21 writes it: kconf reads it, brokers do not
    expected = "applied" if case["applied"] or singular else case["note"]
    assert outcome == expected


@pytest.mark.parametrize(("kind", "root"), [("topic", "topics"), ("client", "clients")])
def test_the_singular_types_of_the_proposal_are_read(kind: str, root: str) -> None:
    data = json.dumps({"version": 1, "entity_type": kind, "entity_name": "orders"})

    assert read_config_notification(data.encode()) == (f"/config/{root}/orders", False)


@pytest.mark.parametrize("kind", ["users", "user", "", None, ["topic"]])
def test_version_1_notifications_of_other_types_are_malformed(kind: object) -> None:
    data = json.dumps({"version": 1, "entity_type": kind, "entity_name": "orders"})

    with pytest.raises(MalformedNotification):
        read_config_notification(data.encode())
