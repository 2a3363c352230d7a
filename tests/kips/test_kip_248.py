"""KIP-248, which Kafka rejected: its incremental_update of AlterConfigs, as tag 10248 of version 2.

Its quota requests come with the quotas, its command line and scram-credentials.sh with the tools.
"""

from __future__ import annotations

from typing import Any

import pytest

from kconf.wire.alter_configs import AlterableConfig, AlterConfigsResource
from tests.support.admin import BROKER, TOPIC, Admin, codes

USER, CLIENT = 5, 6


def update(admin: Admin, place: tuple[int, str], configs: dict[str, str], **options: Any) -> int:
    resource = AlterConfigsResource(*place, [AlterableConfig(*each) for each in configs.items()])
    answer = admin.ask("AlterConfigs", 2, resources=[resource], **options)
    code: int = answer.responses[0].error_code
    return code


def test_without_the_flag_everything_is_wiped(admin: Admin, topic: str) -> None:
    """AlterConfigs 1: the default is false; what was stored is wiped, and what is sent is set."""
    admin.create(topic, configs={"segment.ms": "5", "flush.ms": "6"})

    assert update(admin, (TOPIC, topic), {"retention.ms": "7"}) == 0
    assert admin.overrides(topic) == {"retention.ms": "7"}


def test_with_the_flag_nothing_is_deleted_by_omission(admin: Admin, topic: str) -> None:
    """AlterConfigs 2: an incremental update keeps what is there."""
    admin.create(topic, configs={"segment.ms": "5", "flush.ms": "6"})

    assert update(admin, (TOPIC, topic), {"retention.ms": "7", "flush.ms": "8"}, incremental_update=True) == 0
    assert admin.overrides(topic) == {"flush.ms": "8", "retention.ms": "7", "segment.ms": "5"}


def test_with_the_flag_an_empty_text_deletes(admin: Admin, topic: str) -> None:
    """AlterConfigs 3: in incremental mode an empty string deletes the key."""
    admin.create(topic, configs={"segment.ms": "5", "flush.ms": "6"})

    assert update(admin, (TOPIC, topic), {"segment.ms": ""}, incremental_update=True) == 0
    assert admin.overrides(topic) == {"flush.ms": "6"}


def test_the_other_rules_hold_with_the_flag(admin: Admin, topic: str) -> None:
    """AlterConfigs 4: the other semantics are as they were: dry runs, errors, all or nothing per resource."""
    admin.create(topic, configs={"flush.ms": "6"})

    assert update(admin, (TOPIC, topic), {"segment.ms": "5"}, incremental_update=True, validate_only=True) == 0
    assert update(admin, (TOPIC, topic), {"segment.ms": "5", "retention.ms": "soon"}, incremental_update=True) == 40
    assert update(admin, (TOPIC, "missing"), {"segment.ms": "5"}, incremental_update=True) == 3
    assert update(admin, (BROKER, "1"), {"broker.id": "5"}, incremental_update=True) == 42
    assert admin.overrides(topic) == {"flush.ms": "6"}


@pytest.mark.parametrize("kind", [USER, CLIENT])
def test_users_and_clients_are_no_config_resources(admin: Admin, kind: int) -> None:
    """Wire Format Types: User 5 and Client 6 never shipped; on the wire they stay unknown types."""
    assert codes(admin.describe((kind, "alice"))) == [42]
