"""The public names of kconf: the clients, the nouns, the errors. Each is loaded when it is first asked for."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kconf.client.aio import AdminClient
    from kconf.client.calls_changes import ChangePage, DescribedAt, OverridesAt
    from kconf.client.calls_configs import Described
    from kconf.client.calls_scram import scram_upsertion
    from kconf.client.oauth import ClientCredentials, MskIam
    from kconf.client.sasl import OAuthBearer, Plain, Sasl, Scram, Token
    from kconf.client.sync import SyncAdminClient
    from kconf.client.tls import Tls
    from kconf.errors import (
        AuthenticationFailed,
        BrokerNotAvailable,
        ConfigurationError,
        ConnectionFailed,
        DuplicateResource,
        ErrorCode,
        Failure,
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
        Results,
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
    from kconf.model.alteration import Alteration, Op, TopicWish
    from kconf.model.cluster import (
        ClusterDescription,
        CreatedTopic,
        GroupListing,
        Node,
        PartitionDescription,
        TopicDescription,
        TopicListing,
    )
    from kconf.model.entry import Entry, Source, Synonym, ValueType, View
    from kconf.model.journal import Attempt, Caller, Change, ChangeKind, Revision
    from kconf.model.quota import (
        EffectiveQuota,
        MatchType,
        QuotaCandidate,
        QuotaComponent,
        QuotaEntity,
        QuotaFilter,
        QuotaShift,
        QuotaSource,
    )
    from kconf.model.resource import Resource, ResourceType
    from kconf.model.scram import CredentialInfo, Deletion, Mechanism, Upsertion
    from kconf.store.client_journal import ClientJournal
    from kconf.version import __version__

__all__ = [
    "AclBinding",
    "AclFilter",
    "AclType",
    "AdminClient",
    "Alteration",
    "Attempt",
    "AuthenticationFailed",
    "BrokerNotAvailable",
    "Caller",
    "Change",
    "ChangeKind",
    "ChangePage",
    "ClientCredentials",
    "ClientJournal",
    "ClusterDescription",
    "ConfigurationError",
    "ConnectionFailed",
    "CreatedTopic",
    "CredentialInfo",
    "Deletion",
    "Described",
    "DescribedAt",
    "DuplicateResource",
    "EffectiveQuota",
    "Entry",
    "ErrorCode",
    "Failure",
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
    "Node",
    "NotAuthorized",
    "NotController",
    "OAuthBearer",
    "Op",
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
    "QuotaEntity",
    "QuotaFilter",
    "QuotaShift",
    "QuotaSource",
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
    "TopicExists",
    "TopicListing",
    "TopicNotAuthorized",
    "TopicWish",
    "UnacceptableCredential",
    "UnknownServerError",
    "UnknownTopic",
    "UnknownTopicId",
    "UnsupportedSaslMechanism",
    "UnsupportedVersion",
    "Upsertion",
    "ValueType",
    "View",
    "__version__",
    "scram_upsertion",
]

_ROOMS = {
    "client.aio": "AdminClient",
    "client.calls_changes": "ChangePage DescribedAt OverridesAt",
    "client.calls_configs": "Described",
    "client.calls_scram": "scram_upsertion",
    "client.oauth": "ClientCredentials MskIam",
    "client.sasl": "OAuthBearer Plain Sasl Scram Token",
    "client.sync": "SyncAdminClient",
    "client.tls": "Tls",
    "errors": (
        "AuthenticationFailed BrokerNotAvailable ConfigurationError ConnectionFailed DuplicateResource "
        "ErrorCode Failure GroupNotAuthorized InvalidAssignment InvalidConfig InvalidPartitions "
        "InvalidReplicationFactor InvalidRequest InvalidTopic InvalidUpdateVersion JournalTrimmed KafkaError "
        "KconfError NotAuthorized NotController PolicyViolation ProtocolError RequestTimedOut ResourceNotFound "
        "Results SecurityDisabled ThrottlingQuotaExceeded TopicDeletionDisabled TopicExists "
        "TopicNotAuthorized UnacceptableCredential UnknownServerError UnknownTopic UnknownTopicId "
        "UnsupportedSaslMechanism UnsupportedVersion"
    ),
    "model.acl": "AclBinding AclFilter AclType Operation PatternType Permission",
    "model.alteration": "Alteration Op TopicWish",
    "model.cluster": (
        "ClusterDescription CreatedTopic GroupListing Node PartitionDescription TopicDescription TopicListing"
    ),
    "model.entry": "Entry Source Synonym ValueType View",
    "model.journal": "Attempt Caller Change ChangeKind Revision",
    "model.quota": (
        "EffectiveQuota MatchType QuotaCandidate QuotaComponent QuotaEntity QuotaFilter QuotaShift QuotaSource"
    ),
    "model.resource": "Resource ResourceType",
    "model.scram": "CredentialInfo Deletion Mechanism Upsertion",
    "store.client_journal": "ClientJournal",
    "version": "__version__",
}
_WHERE = {name: room for room, listed in _ROOMS.items() for name in listed.split()}


def __getattr__(name: str) -> Any:
    room = _WHERE.get(name)
    if room is None:
        raise AttributeError(f"kconf has no {name}")
    from importlib import import_module

    value = getattr(import_module(f"kconf.{room}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
