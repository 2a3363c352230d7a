"""Quotas of a real cluster behind a gateway: each client has its own quota, and none has the gateway's."""

from __future__ import annotations

from pathlib import Path

from kconf.client.admin_sync import SyncAdminClient
from kconf.model.quota import QuotaEntity
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsResource,
)
from lab.broker import KafkaBroker
from tests.cli.commands.scenarios import a_name, until
from tests.conformance.test_gateway import KEY, gateway, topic  # noqa: F401
from tests.conformance.test_mutation_quota import Limited, asked
from tests.support.quotas import QuotaAdmin


def test_each_client_has_its_own_quotas(kafka_431: KafkaBroker, topic: str, tmp_path: Path) -> None:  # noqa: F811
    """The gateway throttles and refuses like a broker. Throttling of the gateway's own account is not passed on."""
    account, slow = a_name("gateway"), a_name("slow")
    properties = tmp_path / "gateway.properties"
    properties.write_text(f"client.id={account}\n")
    throttled = QuotaEntity.of({"client-id": account}), QuotaEntity.of({"client-id": slow})
    options = ("--upstream-properties", str(properties))
    with gateway(kafka_431, tmp_path / "gw.db", *options) as (address, _):
        names = a_name("direct"), a_name("through")
        theirs, ours = (
            asked(Limited(each, name), name) for each, name in zip((kafka_431.bootstrap, address), names, strict=True)
        )
        for number, (kafka, own) in enumerate(zip(theirs, ours, strict=True)):
            assert kafka[0] == own[0], number
            assert bool(kafka[1]) == bool(own[1]), (number, kafka, own)
        with SyncAdminClient(kafka_431.bootstrap) as direct:
            few: dict[QuotaEntity, dict[str, float | None]] = {
                each: {"request_percentage": 0.0001} for each in throttled
            }
            direct.alter_client_quotas(few).raise_for_failures()
            with SyncAdminClient(address) as admin:
                until(lambda: set(throttled) <= admin.describe_client_quotas().keys(), True)
            assert any(throttle_times(address, slow, topic))
            assert not any(throttle_times(address, "other", topic))
            nothing: dict[str, float | None] = {"request_percentage": None}
            direct.alter_client_quotas(dict.fromkeys(throttled, nothing)).raise_for_failures()


def throttle_times(address: str, client: str, name: str) -> list[int]:
    """The throttle times of requests that the gateway forwards, each on its own connection."""
    found = []
    for number in range(3):
        with QuotaAdmin(address, client_id=client) as line:
            config = IncrementalAlterableConfig(KEY, 0, str(5000 + number))
            resource = IncrementalAlterConfigsResource(2, name, [config])
            answer = line.ask("IncrementalAlterConfigs", 1, resources=[resource], validate_only=False)
            assert [each.error_code for each in answer.responses] == [0]
            found.append(answer.throttle_time_ms)
    return found
