"""The table of everything that is spoken: key, name, versions, first flexible version, request and response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from kconf.wire import (
    acls,
    alter_configs,
    api_versions,
    create_partitions,
    create_topics,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_topic_partitions,
    incremental_alter_configs,
    list_config_resources,
    list_groups,
    metadata,
)
from kconf.wire.fields import ALWAYS


@dataclass(frozen=True, slots=True)
class Api:
    """One row: versions `min` to `max` are served, those from `flexible` on are flexible."""

    key: int
    name: str
    min: int
    max: int
    flexible: int
    request: type[Any]
    response: type[Any]

    def is_flexible(self, version: int) -> bool:
        return version >= self.flexible

    def serves(self, version: int) -> bool:
        return self.min <= version <= self.max


API_VERSIONS: Final = 18

_ROWS: Final = (
    Api(3, "Metadata", 0, 13, 9, metadata.MetadataRequest, metadata.MetadataResponse),
    Api(16, "ListGroups", 0, 5, 3, list_groups.ListGroupsRequest, list_groups.ListGroupsResponse),
    Api(API_VERSIONS, "ApiVersions", 0, 4, 3, api_versions.ApiVersionsRequest, api_versions.ApiVersionsResponse),
    Api(19, "CreateTopics", 0, 7, 5, create_topics.CreateTopicsRequest, create_topics.CreateTopicsResponse),
    Api(20, "DeleteTopics", 0, 6, 4, delete_topics.DeleteTopicsRequest, delete_topics.DeleteTopicsResponse),
    Api(29, "DescribeAcls", 0, 3, 2, acls.DescribeAclsRequest, acls.DescribeAclsResponse),
    Api(30, "CreateAcls", 0, 3, 2, acls.CreateAclsRequest, acls.CreateAclsResponse),
    Api(31, "DeleteAcls", 0, 3, 2, acls.DeleteAclsRequest, acls.DeleteAclsResponse),
    Api(32, "DescribeConfigs", 0, 4, 4, describe_configs.DescribeConfigsRequest, describe_configs.DescribeConfigsResponse),
    Api(33, "AlterConfigs", 0, 2, 2, alter_configs.AlterConfigsRequest, alter_configs.AlterConfigsResponse),
    Api(37, "CreatePartitions", 0, 3, 2, create_partitions.CreatePartitionsRequest, create_partitions.CreatePartitionsResponse),
    Api(
        44,
        "IncrementalAlterConfigs",
        0,
        1,
        1,
        incremental_alter_configs.IncrementalAlterConfigsRequest,
        incremental_alter_configs.IncrementalAlterConfigsResponse,
    ),
    Api(60, "DescribeCluster", 0, 2, 0, describe_cluster.DescribeClusterRequest, describe_cluster.DescribeClusterResponse),
    Api(
        74,
        "ListConfigResources",
        0,
        1,
        0,
        list_config_resources.ListConfigResourcesRequest,
        list_config_resources.ListConfigResourcesResponse,
    ),
    Api(
        75,
        "DescribeTopicPartitions",
        0,
        0,
        0,
        describe_topic_partitions.DescribeTopicPartitionsRequest,
        describe_topic_partitions.DescribeTopicPartitionsResponse,
    ),
)

APIS: Final[dict[int, Api]] = {api.key: api for api in _ROWS}
BY_NAME: Final[dict[str, Api]] = {api.name: api for api in _ROWS}

assert all(api.flexible <= ALWAYS for api in _ROWS)
