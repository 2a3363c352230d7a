"""Decides which changes of different callers share a request to the cluster.

Kafka's controller writes a request as a whole and limits its records and bytes, and a broker limits the bytes of a
request. The changes of one caller are never split, since the caller's own request would have been written as a whole.
Only changes of the configs of brokers are several requests: one to each of these brokers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from kconf.errors import ErrorCode
from kconf.model.alteration import (
    DeletedAcl,
    DeletedTopic,
    NewAcl,
    NewPartitions,
    NewTopic,
    OpType,
    ResourceAlterations,
)
from kconf.model.quota import ClientQuotaAlteration
from kconf.model.scram import UserScramCredentialUpsertion

if TYPE_CHECKING:
    from kconf.model.alteration import RequestedChange

MAX_RESOURCES: Final = 1000
MAX_OPERATIONS: Final = 5000
"""The maximum of keys and partitions. The controller writes at most 10,000 records for a request."""
MAX_BYTES: Final = 256 << 10
"""The controller writes at most 8 MiB for a request; `socket.request.max.bytes` of a broker is usually 100 MiB."""

_FIXED_BYTES: Final = 64  # about what a change takes apart from its texts
_REPLICA_BYTES: Final = 4
_BY_CONTENT: Final = frozenset(
    {
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.INVALID_PARTITIONS,
        ErrorCode.INVALID_REPLICATION_FACTOR,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ErrorCode.INVALID_CONFIG,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.POLICY_VIOLATION,
        ErrorCode.SECURITY_DISABLED,
        ErrorCode.INVALID_PRINCIPAL_TYPE,
        ErrorCode.TOPIC_DELETION_DISABLED,
        ErrorCode.DUPLICATE_RESOURCE,
        ErrorCode.UNACCEPTABLE_CREDENTIAL,
    }
)
_IDEMPOTENT: Final = (OpType.SET, OpType.DELETE, OpType.APPEND)  # APPEND skips items that the list has


def groups_of(callers: Iterable[Sequence[RequestedChange]]) -> Iterator[list[Sequence[RequestedChange]]]:
    """The callers whose changes share a request. A caller with more than the maximum has a request of its own."""
    group: list[Sequence[RequestedChange]] = []
    resources = operations = size = 0
    for changes in callers:
        more = len(changes), sum(map(_operations, changes)), sum(map(_bytes, changes))
        resources, operations, size = resources + more[0], operations + more[1], size + more[2]
        if group and (resources > MAX_RESOURCES or operations > MAX_OPERATIONS or size > MAX_BYTES):
            yield group
            group, (resources, operations, size) = [], more
        group.append(changes)
    if group:
        yield group


def may_repeat(change: RequestedChange) -> bool:
    """Whether a change that may have been made can be sent again: the result is the same, or an error.

    SUBTRACT removes only the first of two equal items; if it is repeated, it removes the other one too.
    """
    match change:
        case ResourceAlterations():
            return all(each.op in _IDEMPOTENT for each in change.alterations)
        case ClientQuotaAlteration() | UserScramCredentialUpsertion() | NewAcl() | DeletedAcl():
            return True
        case NewTopic() | NewPartitions() | DeletedTopic():
            return True
        case _:
            return False


def is_refused_by_content(change: RequestedChange, code: ErrorCode) -> bool:
    """Whether an error shows that an earlier request with the same change cannot have been successful.

    Other errors depend on the state of the cluster, which may be the result of the earlier request, or on its load.
    """
    return code in _BY_CONTENT and not (isinstance(change, NewPartitions) and code is ErrorCode.INVALID_PARTITIONS)


def _operations(change: RequestedChange) -> int:
    """The approximate number of records that the controller writes for a change."""
    match change:
        case ResourceAlterations() | ClientQuotaAlteration():
            return len(change.alterations)
        case NewTopic():
            return 1 + max(1, change.partitions, len(change.assignment)) + len(change.configs)
        case NewPartitions():
            return change.partitions
        case _:
            return 1


def _bytes(change: RequestedChange) -> int:
    """The approximate size of a change in a request, in bytes."""
    size = _FIXED_BYTES
    match change:
        case ResourceAlterations():
            size += len(change.resource.name)
            size += sum(len(each.key) + len(each.value or "") for each in change.alterations)
        case NewTopic():
            size += len(change.name) + sum(len(key) + len(value or "") for key, value in change.configs)
            size += sum(_REPLICA_BYTES * (1 + len(replicas)) for _, replicas in change.assignment)
        case NewPartitions():
            size += sum(_REPLICA_BYTES * len(replicas) for replicas in change.assignment or ())
        case _:
            pass
    return size
