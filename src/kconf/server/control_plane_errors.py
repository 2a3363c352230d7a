"""Error responses of APIs about topics, configs, quotas, ACLs and users: one error code per element
(error_responses.py).

APIs with a single error code in the response are not listed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kconf.protocol.messages.alter_client_quotas import AlteredQuotaResult
from kconf.protocol.messages.alter_config import AlteredEntityResult
from kconf.protocol.messages.alter_configs import AlterConfigsResourceResponse
from kconf.protocol.messages.alter_quotas import AlteredQuotas, AlteredQuotaType
from kconf.protocol.messages.alter_user_scram_credentials import AlteredScramUser
from kconf.protocol.messages.create_acls import AclCreationResult
from kconf.protocol.messages.create_partitions import CreatePartitionsTopicResult
from kconf.protocol.messages.create_topics import CreatableTopicResult
from kconf.protocol.messages.delete_acls import DeleteAclsFilterResult
from kconf.protocol.messages.delete_topics import DeletableTopicResult
from kconf.protocol.messages.describe_config import DescribedEntityResult
from kconf.protocol.messages.describe_configs import DescribeConfigsResult
from kconf.protocol.messages.describe_quotas import DescribedQuotas
from kconf.protocol.messages.describe_topic_partitions import DescribedTopic
from kconf.protocol.messages.metadata import MetadataTopic

FIELDS: Final[Mapping[str, Callable[[Any, int], dict[str, Any]]]] = {
    "ApiVersions": lambda request, code: {"error_code": code, "api_keys": ()},
    "Metadata": lambda request, code: {
        "topics": [MetadataTopic(code, each.name or "", each.topic_id) for each in request.topics or ()],
        "error_code": code,
    },
    "SaslHandshake": lambda request, code: {"error_code": code, "mechanisms": ()},
    "SaslAuthenticate": lambda request, code: {"error_code": code, "error_message": None, "auth_bytes": b""},
    "CreateTopics": lambda request, code: {
        "topics": [CreatableTopicResult(each.name, error_code=code) for each in request.topics]
    },
    "DeleteTopics": lambda request, code: {
        "responses": [
            *(DeletableTopicResult(each.name, each.topic_id, code) for each in request.topics),
            *(DeletableTopicResult(name, error_code=code) for name in request.topic_names),
        ]
    },
    "CreatePartitions": lambda request, code: {
        "results": [CreatePartitionsTopicResult(each.name, code) for each in request.topics]
    },
    "DescribeTopicPartitions": lambda request, code: {
        "topics": [DescribedTopic(code, each.name) for each in request.topics]
    },
    "DescribeConfigs": lambda request, code: {
        "results": [DescribeConfigsResult(code, None, *_named(each)) for each in request.resources]
    },
    "AlterConfigs": lambda request, code: {"responses": _altered(request, code)},
    "IncrementalAlterConfigs": lambda request, code: {"responses": _altered(request, code)},
    "CreateAcls": lambda request, code: {"results": [AclCreationResult(code, None) for _ in request.creations]},
    "DeleteAcls": lambda request, code: {
        "filter_results": [DeleteAclsFilterResult(code, None) for _ in request.filters]
    },
    "AlterClientQuotas": lambda request, code: {
        "entries": [AlteredQuotaResult(code, None, each.entity) for each in request.entries]
    },
    "DescribeQuotas": lambda request, code: {
        "resources": [DescribedQuotas(each.quota_resources, code) for each in request.resources]
    },
    "AlterQuotas": lambda request, code: {
        "resources": [
            AlteredQuotas(each.quota_resources, [AlteredQuotaType(code, None, one.quota_type) for one in each.quotas])
            for each in request.resources
        ]
    },
    "AlterUserScramCredentials": lambda request, code: {
        "results": [
            AlteredScramUser(name, code)
            for name in dict.fromkeys(each.name for each in (*request.deletions, *request.upsertions))
        ]
    },
    "AlterConfig": lambda request, code: {
        "entities": [AlteredEntityResult(each.entity_type, each.entity_name, code) for each in request.entities]
    },
    "DescribeConfig": lambda request, code: {
        "entities": [DescribedEntityResult(each.entity_type, each.entity_name, code, ()) for each in request.entities]
    },
}


def _altered(request: Any, code: int) -> list[AlterConfigsResourceResponse]:
    return [AlterConfigsResourceResponse(code, None, *_named(each)) for each in request.resources]


def _named(resource: Any) -> tuple[int, str]:
    return resource.resource_type, resource.resource_name
