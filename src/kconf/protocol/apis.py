"""The table of all APIs: key, name, versions, first flexible version, and the module that declares the messages.

A module is imported when its messages are first used, so that a command that sends three kinds of requests loads three
modules. The server advertises the APIs that it has handlers for.
"""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import Any, Final

NEVER: Final = 1 << 15
API_VERSIONS: Final = 18
LIST_CONFIG_CHANGES: Final = 30000
"""A server that advertises this key supports kconf's tags. They are not sent to other servers."""


class Api:
    """One API: versions `min` to `max` are supported, those from `flexible` on are flexible."""

    def __init__(self, key: int, name: str, min: int, max: int, flexible: int, file: str) -> None:  # noqa: A002
        self.key: Final = key
        self.name: Final = name
        self.min: Final = min
        self.max: Final = max
        self.flexible: Final = flexible
        self.file: Final = file

    @cached_property
    def request(self) -> type[Any]:
        return self._message("Request")

    @cached_property
    def response(self) -> type[Any]:
        return self._message("Response")

    def _message(self, side: str) -> type[Any]:
        return getattr(import_module(f"kconf.protocol.messages.{self.file}"), self.name + side)  # type: ignore[no-any-return]

    def is_flexible(self, version: int) -> bool:
        return version >= self.flexible

    def serves(self, version: int) -> bool:
        return self.min <= version <= self.max

    def __repr__(self) -> str:
        return f"Api({self.key}, {self.name!r}, {self.min}-{self.max})"


_ROWS: Final = (
    Api(0, "Produce", 0, 13, 9, "produce"),
    Api(1, "Fetch", 0, 18, 12, "fetch"),
    Api(2, "ListOffsets", 0, 11, 6, "list_offsets"),
    Api(3, "Metadata", 0, 13, 9, "metadata"),
    Api(9, "OffsetFetch", 0, 10, 6, "offset_fetch"),
    Api(10, "FindCoordinator", 0, 6, 3, "find_coordinator"),
    Api(15, "DescribeGroups", 0, 6, 5, "describe_groups"),
    Api(16, "ListGroups", 0, 5, 3, "list_groups"),
    Api(17, "SaslHandshake", 0, 1, NEVER, "sasl_handshake"),
    Api(API_VERSIONS, "ApiVersions", 0, 5, 3, "api_versions"),
    Api(19, "CreateTopics", 0, 7, 5, "create_topics"),
    Api(20, "DeleteTopics", 0, 6, 4, "delete_topics"),
    Api(21, "DeleteRecords", 0, 2, 2, "delete_records"),
    Api(29, "DescribeAcls", 0, 3, 2, "describe_acls"),
    Api(30, "CreateAcls", 0, 3, 2, "create_acls"),
    Api(31, "DeleteAcls", 0, 3, 2, "delete_acls"),
    Api(32, "DescribeConfigs", 0, 4, 4, "describe_configs"),
    Api(33, "AlterConfigs", 0, 2, 2, "alter_configs"),
    Api(35, "DescribeLogDirs", 0, 5, 2, "describe_log_dirs"),
    Api(36, "SaslAuthenticate", 0, 2, 2, "sasl_authenticate"),
    Api(37, "CreatePartitions", 0, 3, 2, "create_partitions"),
    Api(38, "CreateDelegationToken", 0, 3, 2, "create_delegation_token"),
    Api(39, "RenewDelegationToken", 0, 2, 2, "renew_delegation_token"),
    Api(40, "ExpireDelegationToken", 0, 2, 2, "expire_delegation_token"),
    Api(41, "DescribeDelegationToken", 0, 3, 2, "describe_delegation_token"),
    Api(42, "DeleteGroups", 0, 2, 2, "delete_groups"),
    Api(43, "ElectLeaders", 0, 2, 2, "elect_leaders"),
    Api(44, "IncrementalAlterConfigs", 0, 1, 1, "incremental_alter_configs"),
    Api(45, "AlterPartitionReassignments", 0, 1, 0, "alter_partition_reassignments"),
    Api(46, "ListPartitionReassignments", 0, 0, 0, "list_partition_reassignments"),
    Api(47, "OffsetDelete", 0, 0, NEVER, "offset_delete"),
    Api(48, "DescribeClientQuotas", 0, 1, 1, "describe_client_quotas"),
    Api(49, "AlterClientQuotas", 0, 1, 1, "alter_client_quotas"),
    Api(50, "DescribeUserScramCredentials", 0, 0, 0, "describe_user_scram_credentials"),
    Api(51, "AlterUserScramCredentials", 0, 0, 0, "alter_user_scram_credentials"),
    Api(55, "DescribeQuorum", 0, 2, 0, "describe_quorum"),
    Api(57, "UpdateFeatures", 0, 2, 0, "update_features"),
    Api(59, "FetchSnapshot", 0, 1, 0, "fetch_snapshot"),
    Api(60, "DescribeCluster", 0, 2, 0, "describe_cluster"),
    Api(61, "DescribeProducers", 0, 0, 0, "describe_producers"),
    Api(65, "DescribeTransactions", 0, 0, 0, "describe_transactions"),
    Api(66, "ListTransactions", 0, 2, 0, "list_transactions"),
    Api(69, "ConsumerGroupDescribe", 0, 1, 0, "consumer_group_describe"),
    Api(74, "ListConfigResources", 0, 1, 0, "list_config_resources"),
    Api(75, "DescribeTopicPartitions", 0, 0, 0, "describe_topic_partitions"),
    # Not in Kafka: requests that KIPs proposed, and kconf's own (docs/protocol.md, "Extensions").
    Api(2100, "AlterConfig", 0, 0, NEVER, "alter_config"),
    Api(2101, "DescribeConfig", 0, 0, NEVER, "describe_config"),
    Api(24800, "DescribeQuotas", 0, 0, 0, "describe_quotas"),
    Api(24801, "AlterQuotas", 0, 0, 0, "alter_quotas"),
    Api(24802, "ListConfigEntities", 0, 0, 0, "list_config_entities"),
    Api(LIST_CONFIG_CHANGES, "ListConfigChanges", 0, 0, 0, "list_config_changes"),
    Api(30001, "DescribeConfigsAt", 0, 0, 0, "describe_configs_at"),
    Api(30002, "ListAttempts", 0, 0, 0, "list_attempts"),
)

APIS: Final[dict[int, Api]] = {api.key: api for api in _ROWS}
BY_NAME: Final[dict[str, Api]] = {api.name: api for api in _ROWS}

OPAQUE: Final[dict[int, str]] = {
    8: "OffsetCommit",
    13: "LeaveGroup",
    77: "ShareGroupDescribe",
    89: "StreamsGroupDescribe",
    90: "DescribeShareGroupOffsets",
    91: "AlterShareGroupOffsets",
    92: "DeleteShareGroupOffsets",
}
"""APIs that a gateway forwards without decoding."""
