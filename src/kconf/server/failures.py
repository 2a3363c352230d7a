"""What is answered when a handler fails inside: UNKNOWN_SERVER_ERROR for every element of the request, and no more.

As in Kafka: one error per resource, topic or entry, without a message, so that nothing of what went wrong gets out. An
API whose answer has room for one error only says it once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kconf.errors import ErrorCode
from kconf.wire.acls import AclCreationResult, DeleteAclsFilterResult
from kconf.wire.alter_client_quotas import AlteredQuotaResult
from kconf.wire.alter_config import AlteredEntityResult
from kconf.wire.alter_configs import AlterConfigsResourceResponse
from kconf.wire.alter_quotas import AlteredQuotas, AlteredQuotaType
from kconf.wire.alter_user_scram_credentials import AlteredScramUser
from kconf.wire.apis import Api
from kconf.wire.create_partitions import CreatePartitionsTopicResult
from kconf.wire.create_topics import CreatableTopicResult
from kconf.wire.delete_topics import DeletableTopicResult
from kconf.wire.describe_config import DescribedEntityResult
from kconf.wire.describe_configs import DescribeConfigsResult
from kconf.wire.describe_quotas import DescribedQuotas
from kconf.wire.describe_topic_partitions import DescribedTopic
from kconf.wire.metadata import MetadataTopic

_CODE: Final = ErrorCode.UNKNOWN_SERVER_ERROR

_FIELDS: Final[Mapping[str, Callable[[Any], dict[str, Any]]]] = {
    "ApiVersions": lambda request: {"error_code": _CODE, "api_keys": ()},
    "Metadata": lambda request: {
        "topics": [MetadataTopic(_CODE, each.name or "", each.topic_id) for each in request.topics or ()],
        "error_code": _CODE,
    },
    "CreateTopics": lambda request: {
        "topics": [CreatableTopicResult(each.name, error_code=_CODE) for each in request.topics]
    },
    "DeleteTopics": lambda request: {
        "responses": [
            *(DeletableTopicResult(each.name, each.topic_id, _CODE) for each in request.topics),
            *(DeletableTopicResult(name, error_code=_CODE) for name in request.topic_names),
        ]
    },
    "CreatePartitions": lambda request: {
        "results": [CreatePartitionsTopicResult(each.name, _CODE) for each in request.topics]
    },
    "DescribeTopicPartitions": lambda request: {
        "topics": [DescribedTopic(_CODE, each.name) for each in request.topics]
    },
    "DescribeConfigs": lambda request: {
        "results": [DescribeConfigsResult(_CODE, None, *_named(each)) for each in request.resources]
    },
    "AlterConfigs": lambda request: {"responses": _altered(request)},
    "IncrementalAlterConfigs": lambda request: {"responses": _altered(request)},
    "CreateAcls": lambda request: {"results": [AclCreationResult(_CODE, None) for _ in request.creations]},
    "DeleteAcls": lambda request: {"filter_results": [DeleteAclsFilterResult(_CODE, None) for _ in request.filters]},
    "AlterClientQuotas": lambda request: {
        "entries": [AlteredQuotaResult(_CODE, None, each.entity) for each in request.entries]
    },
    "DescribeQuotas": lambda request: {
        "resources": [DescribedQuotas(each.quota_resources, _CODE) for each in request.resources]
    },
    "AlterQuotas": lambda request: {
        "resources": [
            AlteredQuotas(each.quota_resources, [AlteredQuotaType(_CODE, None, one.quota_type) for one in each.quotas])
            for each in request.resources
        ]
    },
    "AlterUserScramCredentials": lambda request: {
        "results": [
            AlteredScramUser(name, _CODE)
            for name in dict.fromkeys(each.name for each in (*request.deletions, *request.upsertions))
        ]
    },
    "AlterConfig": lambda request: {
        "entities": [AlteredEntityResult(each.entity_type, each.entity_name, _CODE) for each in request.entities]
    },
    "DescribeConfig": lambda request: {
        "entities": [DescribedEntityResult(each.entity_type, each.entity_name, _CODE, ()) for each in request.entities]
    },
}


def failed(api: Api, request: Any) -> Any:
    """The answer to a request that could not be carried out."""
    fields = _FIELDS.get(api.name)
    return api.response(error_code=_CODE) if fields is None else api.response(**fields(request))


def _altered(request: Any) -> list[AlterConfigsResourceResponse]:
    return [AlterConfigsResourceResponse(_CODE, None, *_named(each)) for each in request.resources]


def _named(resource: Any) -> tuple[int, str]:
    return resource.resource_type, resource.resource_name
