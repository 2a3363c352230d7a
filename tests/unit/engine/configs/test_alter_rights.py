"""A caller without the right is refused before its values are processed in any expensive way."""

from __future__ import annotations

from typing import NoReturn

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.engine.configs import alter
from kconf.engine.configs.alter import AlterTarget, plan_alter
from kconf.engine.configs.resolver import ConfigResolver
from kconf.errors import ErrorCode
from kconf.model.alteration import AlterConfigOp, OpType, ResourceAlterations
from kconf.model.resource import Resource, ResourceType
from kconf.model.snapshot import Snapshot

NODE = AlterTarget(1, ConfigResolver(kafka_43(), {}, {}, {}))
TOPIC, GROUP, CLUSTER = (
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
)


def _not_to_be_called(*_: object, **__: object) -> NoReturn:
    raise AssertionError("values were validated for a caller without the right")


@pytest.fixture(autouse=True)
def unvalidated(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("check_broker", "check_topic", "check_group", "check_client_metrics", "combined"):
        monkeypatch.setattr(alter, name, _not_to_be_called)


@pytest.mark.parametrize("replace", [True, False], ids=["AlterConfigs", "IncrementalAlterConfigs"])
@pytest.mark.parametrize(
    ("resource", "key", "code"),
    [
        (Resource.topic("orders"), "retention.ms", TOPIC),
        (Resource.group("payments"), "consumer.session.timeout.ms", GROUP),
        (Resource.broker(1), "metrics.jmx.include", CLUSTER),
        (Resource(ResourceType.BROKER, "01"), "log.retention.ms", CLUSTER),
        (Resource.brokers(), "log.retention.ms", CLUSTER),
        (Resource(ResourceType.CLIENT_METRICS, "all"), "match", CLUSTER),
    ],
    ids=str,
)
@pytest.mark.parametrize("operation", [OpType.SET, OpType.APPEND])
def test_rights_are_checked_before_values(
    resource: Resource, key: str, code: ErrorCode, replace: bool, operation: OpType
) -> None:
    requested = ResourceAlterations(resource, [AlterConfigOp(operation, key, "(" * 30_000)])

    plan = plan_alter(Snapshot.EMPTY, [requested], NODE, replace=replace, authorize=lambda *_: False)

    (failure,) = plan.outcome
    assert failure is not None
    assert failure.code == code
