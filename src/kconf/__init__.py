"""The public API of kconf: the clients, the model, the errors. Each name is imported when it is first used."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kconf.client.admin import AdminClient
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.client.auth.oauth import ClientCredentials, MskIam
    from kconf.client.auth.sasl import OAuthBearer, Plain, Sasl, Scram, Token
    from kconf.client.calls.changes import ChangePage, DescribedAt, OverridesAt
    from kconf.client.calls.configs import DescribedConfigs
    from kconf.client.calls.scram import scram_upsertion
    from kconf.client.journal.files import ClientJournal
    from kconf.errors import (
        ApiError,
        AuthenticationFailed,
        BrokerNotAvailable,
        ConfigurationError,
        ConnectionFailed,
        DuplicateResource,
        ErrorCode,
        GroupNotAuthorized,
        InvalidAssignment,
        InvalidConfig,
        InvalidPartitions,
        InvalidReplicationFactor,
        InvalidRequest,
        InvalidTopic,
        InvalidUpdateVersion,
        JournalTrimmed,
        KafkaError,
        KconfError,
        NotAuthorized,
        NotController,
        PolicyViolation,
        ProtocolError,
        RequestTimedOut,
        ResourceNotFound,
        SecurityDisabled,
        ThrottlingQuotaExceeded,
        TopicDeletionDisabled,
        TopicExists,
        TopicNotAuthorized,
        UnacceptableCredential,
        UnknownServerError,
        UnknownTopic,
        UnknownTopicId,
        UnsupportedSaslMechanism,
        UnsupportedVersion,
    )
    from kconf.model.acl import (
        AclBinding,
        AclFilter,
        AclType,
        Operation,
        PatternType,
        Permission,
    )
    from kconf.model.alteration import AlterConfigOp, NewTopic, OpType
    from kconf.model.cluster import (
        ClusterDescription,
        CreatedTopic,
        GroupListing,
        Node,
        PartitionDescription,
        TopicDescription,
        TopicDetails,
        TopicListing,
    )
    from kconf.model.entity import ConfigEntity, EntityAlteration
    from kconf.model.entry import Entry, Source, Synonym, ValueType, View
    from kconf.model.journal import AuditEntry, Change, ChangeKind, RequestContext, Revision
    from kconf.model.quota import (
        EffectiveQuota,
        MatchType,
        QuotaCandidate,
        QuotaComponent,
        QuotaDifference,
        QuotaEntity,
        QuotaFilter,
        QuotaSource,
    )
    from kconf.model.resource import Resource, ResourceType
    from kconf.model.results import Results
    from kconf.model.scram import CredentialInfo, Mechanism, UserScramCredentialDeletion, UserScramCredentialUpsertion
    from kconf.security.tls import Tls
    from kconf.version import __version__

__all__ = [
    "AclBinding",
    "AclFilter",
    "AclType",
    "AdminClient",
    "AlterConfigOp",
    "ApiError",
    "AuditEntry",
    "AuthenticationFailed",
    "BrokerNotAvailable",
    "Change",
    "ChangeKind",
    "ChangePage",
    "ClientCredentials",
    "ClientJournal",
    "ClusterDescription",
    "ConfigEntity",
    "ConfigurationError",
    "ConnectionFailed",
    "CreatedTopic",
    "CredentialInfo",
    "DescribedAt",
    "DescribedConfigs",
    "DuplicateResource",
    "EffectiveQuota",
    "EntityAlteration",
    "Entry",
    "ErrorCode",
    "GroupListing",
    "GroupNotAuthorized",
    "InvalidAssignment",
    "InvalidConfig",
    "InvalidPartitions",
    "InvalidReplicationFactor",
    "InvalidRequest",
    "InvalidTopic",
    "InvalidUpdateVersion",
    "JournalTrimmed",
    "KafkaError",
    "KconfError",
    "MatchType",
    "Mechanism",
    "MskIam",
    "NewTopic",
    "Node",
    "NotAuthorized",
    "NotController",
    "OAuthBearer",
    "OpType",
    "Operation",
    "OverridesAt",
    "PartitionDescription",
    "PatternType",
    "Permission",
    "Plain",
    "PolicyViolation",
    "ProtocolError",
    "QuotaCandidate",
    "QuotaComponent",
    "QuotaDifference",
    "QuotaEntity",
    "QuotaFilter",
    "QuotaSource",
    "RequestContext",
    "RequestTimedOut",
    "Resource",
    "ResourceNotFound",
    "ResourceType",
    "Results",
    "Revision",
    "Sasl",
    "Scram",
    "SecurityDisabled",
    "Source",
    "SyncAdminClient",
    "Synonym",
    "ThrottlingQuotaExceeded",
    "Tls",
    "Token",
    "TopicDeletionDisabled",
    "TopicDescription",
    "TopicDetails",
    "TopicExists",
    "TopicListing",
    "TopicNotAuthorized",
    "UnacceptableCredential",
    "UnknownServerError",
    "UnknownTopic",
    "UnknownTopicId",
    "UnsupportedSaslMechanism",
    "UnsupportedVersion",
    "UserScramCredentialDeletion",
    "UserScramCredentialUpsertion",
    "ValueType",
    "View",
    "__version__",
    "scram_upsertion",
]

_MODULES = {
    "client.admin": "AdminClient",
    "client.calls.changes": "ChangePage DescribedAt OverridesAt",
    "client.calls.configs": "DescribedConfigs",
    "client.calls.scram": "scram_upsertion",
    "client.auth.oauth": "ClientCredentials MskIam",
    "client.auth.sasl": "OAuthBearer Plain Sasl Scram Token",
    "client.admin_sync": "SyncAdminClient",
    "security.tls": "Tls",
    "errors": (
        "AuthenticationFailed BrokerNotAvailable ConfigurationError ConnectionFailed DuplicateResource "
        "ErrorCode ApiError GroupNotAuthorized InvalidAssignment InvalidConfig InvalidPartitions "
        "InvalidReplicationFactor InvalidRequest InvalidTopic InvalidUpdateVersion JournalTrimmed KafkaError "
        "KconfError NotAuthorized NotController PolicyViolation ProtocolError RequestTimedOut ResourceNotFound "
        "SecurityDisabled ThrottlingQuotaExceeded TopicDeletionDisabled TopicExists "
        "TopicNotAuthorized UnacceptableCredential UnknownServerError UnknownTopic UnknownTopicId "
        "UnsupportedSaslMechanism UnsupportedVersion"
    ),
    "model.acl": "AclBinding AclFilter AclType Operation PatternType Permission",
    "model.alteration": "AlterConfigOp OpType NewTopic",
    "model.cluster": (
        "ClusterDescription CreatedTopic GroupListing Node PartitionDescription TopicDescription TopicDetails "
        "TopicListing"
    ),
    "model.entity": "ConfigEntity EntityAlteration",
    "model.entry": "Entry Source Synonym ValueType View",
    "model.journal": "AuditEntry RequestContext Change ChangeKind Revision",
    "model.quota": (
        "EffectiveQuota MatchType QuotaCandidate QuotaComponent QuotaEntity QuotaFilter QuotaDifference QuotaSource"
    ),
    "model.resource": "Resource ResourceType",
    "model.results": "Results",
    "model.scram": "CredentialInfo UserScramCredentialDeletion Mechanism UserScramCredentialUpsertion",
    "client.journal.files": "ClientJournal",
    "version": "__version__",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'kconf' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"kconf.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
