"""Errors, as values and as exceptions.

An error of one resource is an `ApiError`, a value in the place of that resource's result; an error of the whole request
is an exception. `KafkaError` and its subclasses have Kafka's error code and can be converted to an `ApiError`
(`.failure()`); the other three hierarchies are never sent as they are.
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar, NamedTuple


class ErrorCode(IntEnum):
    """Kafka's error codes, as of 4.3."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    INVALID_FETCH_SIZE = 4
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    REPLICA_NOT_AVAILABLE = 9
    MESSAGE_TOO_LARGE = 10
    STALE_CONTROLLER_EPOCH = 11
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    SECURITY_DISABLED = 54
    OPERATION_NOT_ATTEMPTED = 55
    KAFKA_STORAGE_ERROR = 56
    LOG_DIR_NOT_FOUND = 57
    SASL_AUTHENTICATION_FAILED = 58
    UNKNOWN_PRODUCER_ID = 59
    REASSIGNMENT_IN_PROGRESS = 60
    DELEGATION_TOKEN_AUTH_DISABLED = 61
    DELEGATION_TOKEN_NOT_FOUND = 62
    DELEGATION_TOKEN_OWNER_MISMATCH = 63
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65
    DELEGATION_TOKEN_EXPIRED = 66
    INVALID_PRINCIPAL_TYPE = 67
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FETCH_SESSION_ID_NOT_FOUND = 70
    INVALID_FETCH_SESSION_EPOCH = 71
    LISTENER_NOT_FOUND = 72
    TOPIC_DELETION_DISABLED = 73
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    STALE_BROKER_EPOCH = 77
    OFFSET_NOT_AVAILABLE = 78
    MEMBER_ID_REQUIRED = 79
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    THROTTLING_QUOTA_EXCEEDED = 89
    PRODUCER_FENCED = 90
    RESOURCE_NOT_FOUND = 91
    DUPLICATE_RESOURCE = 92
    UNACCEPTABLE_CREDENTIAL = 93
    INCONSISTENT_VOTER_SET = 94
    INVALID_UPDATE_VERSION = 95
    FEATURE_UPDATE_FAILED = 96
    PRINCIPAL_DESERIALIZATION_FAILURE = 97
    SNAPSHOT_NOT_FOUND = 98
    POSITION_OUT_OF_RANGE = 99
    UNKNOWN_TOPIC_ID = 100
    DUPLICATE_BROKER_REGISTRATION = 101
    BROKER_ID_NOT_REGISTERED = 102
    INCONSISTENT_TOPIC_ID = 103
    INCONSISTENT_CLUSTER_ID = 104
    TRANSACTIONAL_ID_NOT_FOUND = 105
    FETCH_SESSION_TOPIC_ID_ERROR = 106
    INELIGIBLE_REPLICA = 107
    NEW_LEADER_ELECTED = 108
    OFFSET_MOVED_TO_TIERED_STORAGE = 109
    FENCED_MEMBER_EPOCH = 110
    UNRELEASED_INSTANCE_ID = 111
    UNSUPPORTED_ASSIGNOR = 112
    STALE_MEMBER_EPOCH = 113
    MISMATCHED_ENDPOINT_TYPE = 114
    UNSUPPORTED_ENDPOINT_TYPE = 115
    UNKNOWN_CONTROLLER_ID = 116
    UNKNOWN_SUBSCRIPTION_ID = 117
    TELEMETRY_TOO_LARGE = 118
    INVALID_REGISTRATION = 119
    TRANSACTION_ABORTABLE = 120
    INVALID_RECORD_STATE = 121
    SHARE_SESSION_NOT_FOUND = 122
    INVALID_SHARE_SESSION_EPOCH = 123
    FENCED_STATE_EPOCH = 124
    INVALID_VOTER_KEY = 125
    DUPLICATE_VOTER = 126
    VOTER_NOT_FOUND = 127
    INVALID_REGULAR_EXPRESSION = 128
    REBOOTSTRAP_REQUIRED = 129
    STREAMS_INVALID_TOPOLOGY = 130
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131
    STREAMS_TOPOLOGY_FENCED = 132
    SHARE_SESSION_LIMIT_REACHED = 133
    GROUP_DELETION_FAILED = 134
    STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED = 135
    CONTROLLER_ID_NOT_REGISTERED = 136


class ApiError(NamedTuple):
    """An error that belongs to one resource: its error code, and a message or None."""

    code: ErrorCode
    message: str | None = None

    def __str__(self) -> str:
        return f"{self.code.name}: {self.message}" if self.message else self.code.name

    def error(self, resource: object = None) -> KafkaError:
        """The same error as an exception that names the resource."""
        error = KafkaError.of(self.code, self.message)
        error.resource = resource
        return error


class KconfError(Exception):
    """The base class of all exceptions that kconf raises intentionally."""


class KafkaError(KconfError):
    """An error with one of Kafka's error codes. A subclass registers itself under its code.

    `resource` is what the error belongs to (a Resource, a topic name, a QuotaEntity …), if it came with a result.
    """

    code: ClassVar[ErrorCode] = ErrorCode.UNKNOWN_SERVER_ERROR
    resource: object = None
    _by_code: ClassVar[dict[int, type[KafkaError]]] = {}

    def __init_subclass__(cls) -> None:
        cls._by_code.setdefault(cls.code, cls)

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or self.code.name)
        self.message = message

    def __str__(self) -> str:
        text = super().__str__()
        return text if self.resource is None else f"{name_of(self.resource)}: {text}"

    @classmethod
    def of(cls, code: int, message: str | None = None) -> KafkaError:
        """The exception for a code; UnknownServerError for unknown codes."""
        return cls._by_code.get(code, OtherError if code in _KNOWN else UnknownServerError)._make(code, message)

    @classmethod
    def _make(cls, code: int, message: str | None) -> KafkaError:
        return cls(message)

    def failure(self) -> ApiError:
        return ApiError(self.code, self.message)


class UnknownServerError(KafkaError):
    """-1: the server does not return the cause."""


class OtherError(KafkaError):
    """A known code without its own class."""

    code = ErrorCode.NONE  # replaced per instance

    @classmethod
    def _make(cls, code: int, message: str | None) -> KafkaError:
        error = cls(message)
        error.__dict__["code"] = ErrorCode(code)
        error.args = (message or ErrorCode(code).name,)
        return error


class UnknownTopic(KafkaError):
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class RequestTimedOut(KafkaError):
    """7. In a client, `sent` is false if the request never left: then nothing can have been done."""

    code = ErrorCode.REQUEST_TIMED_OUT
    sent: bool = True


class InvalidTopic(KafkaError):
    code = ErrorCode.INVALID_TOPIC_EXCEPTION


class NotAuthorized(KafkaError):
    """29, 30, 31: the principal is not authorized. `stock` is the only message an unauthorized caller gets."""

    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    stock: ClassVar[str] = "The principal is not authorized for this operation on the cluster."


class TopicNotAuthorized(NotAuthorized):
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    stock = "The principal is not authorized for this operation on the topic."


class GroupNotAuthorized(NotAuthorized):
    code = ErrorCode.GROUP_AUTHORIZATION_FAILED
    stock = "The principal is not authorized for this operation on the group."


class UnsupportedVersion(KafkaError):
    code = ErrorCode.UNSUPPORTED_VERSION


class TopicExists(KafkaError):
    code = ErrorCode.TOPIC_ALREADY_EXISTS


class InvalidPartitions(KafkaError):
    code = ErrorCode.INVALID_PARTITIONS


class InvalidReplicationFactor(KafkaError):
    code = ErrorCode.INVALID_REPLICATION_FACTOR


class InvalidAssignment(KafkaError):
    code = ErrorCode.INVALID_REPLICA_ASSIGNMENT


class InvalidConfig(KafkaError):
    code = ErrorCode.INVALID_CONFIG


class NotController(KafkaError):
    code = ErrorCode.NOT_CONTROLLER


class InvalidRequest(KafkaError):
    code = ErrorCode.INVALID_REQUEST


class PolicyViolation(KafkaError):
    code = ErrorCode.POLICY_VIOLATION


class SecurityDisabled(KafkaError):
    code = ErrorCode.SECURITY_DISABLED


class TopicDeletionDisabled(KafkaError):
    code = ErrorCode.TOPIC_DELETION_DISABLED


class InvalidUpdateVersion(KafkaError):
    """95: the resource has changed since the revision that a compare-and-set request expects."""

    code = ErrorCode.INVALID_UPDATE_VERSION


class UnknownTopicId(KafkaError):
    code = ErrorCode.UNKNOWN_TOPIC_ID


class ConnectionFailed(KafkaError):
    """13. In a client: no connection to a broker, or it was lost. `sent`: the request may have been carried out.

    `final`: another attempt would fail in the same way, since the peer is not Kafka or speaks another protocol.
    """

    code = ErrorCode.NETWORK_EXCEPTION
    sent: bool = False
    final: bool = False


class BrokerNotAvailable(KafkaError):
    code = ErrorCode.BROKER_NOT_AVAILABLE


class MismatchedEndpointType(KafkaError):
    """114: a controller where a broker is needed, or the other way round (KIP-919)."""

    code = ErrorCode.MISMATCHED_ENDPOINT_TYPE


class AuthenticationFailed(KafkaError):
    """58, and in a client also a certificate that one of the two sides does not accept."""

    code = ErrorCode.SASL_AUTHENTICATION_FAILED


class UnsupportedSaslMechanism(AuthenticationFailed):
    code = ErrorCode.UNSUPPORTED_SASL_MECHANISM


class ThrottlingQuotaExceeded(KafkaError):
    code = ErrorCode.THROTTLING_QUOTA_EXCEEDED


class ResourceNotFound(KafkaError):
    code = ErrorCode.RESOURCE_NOT_FOUND


class DuplicateResource(KafkaError):
    code = ErrorCode.DUPLICATE_RESOURCE


class UnacceptableCredential(KafkaError):
    code = ErrorCode.UNACCEPTABLE_CREDENTIAL


_KNOWN = frozenset(int(code) for code in ErrorCode)


class StoreError(KconfError):
    """The store failed."""


class StoreUnavailable(StoreError):
    """The store cannot be reached or written now; trying again later may work."""


class StaleState(StoreUnavailable):
    """The cluster behind a gateway does not respond, or its journal cannot be written. A change was not sent."""

    def __init__(self, why: str | None = None) -> None:
        super().__init__(f"{why or 'the state of the cluster is unknown'}; the request was not sent; try again later")


class OutcomeUnknown(StoreUnavailable):
    """The cluster behind a gateway has not responded to a change in time. It may have been made."""


class StoreReadOnly(StoreError):
    """This server refuses all changes; retrying does not help."""


class StoreLocked(StoreError):
    """Another server has this store open."""


class StoreMismatch(StoreError):
    """The store was written by a newer kconf, or is not a kconf store."""


class StoreFailed(StoreError):
    """The store has a permanent problem: retrying does not help, it must be repaired."""


class StoreLost(StoreFailed):
    """The store's file was deleted, moved or replaced while it was open."""


class StoreDamaged(StoreFailed):
    """The contents of the store are not what was written."""


class RevisionConflict(StoreError):
    """A guard failed: the resource has changed since the plan was made."""


class ChangeTooLarge(RevisionConflict):
    """One resource is too large for the store; planning again does not help."""


class TooManyChanges(StoreError):
    """One request would change more than is committed at once."""


class JournalTrimmed(StoreError):
    """The journal no longer reaches back that far."""

    def __init__(self, oldest: int) -> None:
        super().__init__(f"the journal begins at revision {oldest}; earlier changes are not available")
        self.oldest = oldest


class ProtocolError(KconfError):
    """Bytes that do not follow the protocol."""


class LocalProtocolError(ProtocolError):
    """A message cannot be encoded."""


class RemoteProtocolError(ProtocolError):
    """The peer violated the protocol: close the connection."""


class UpstreamUnavailable(RemoteProtocolError):
    """A gateway cannot forward a request now. It closes the client's connection, as if the broker were unreachable."""


class ConfigurationError(KconfError):
    """A file, an option or a setting from the operator is invalid."""


def name_of(resource: object) -> str:
    """The name of a resource in messages."""
    try:
        return str(resource)
    except ValueError:  # of a type that this version does not know
        return repr(resource)
