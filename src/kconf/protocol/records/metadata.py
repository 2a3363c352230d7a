"""Declares and decodes the records of the metadata log (`__cluster_metadata`).

A record's value is a frame version (1), the API key and version of the record, each an unsigned varint, and then a
message that is flexible in every version. Records with an unknown key or a newer version are not decoded, since a newer
version may have additional fields anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import error as StructError
from typing import Any, Final, NamedTuple

from kconf.errors import RemoteProtocolError
from kconf.protocol.codec.fields import BOOL, BYTES, F64, I8, I16, I32, I64, STRING, U16, UUID16, Array, f, struct
from kconf.protocol.codec.serde import MessageReader, reader
from kconf.protocol.codec.varint import Malformed, read_uvarint

_FRAME: Final = 1


@struct
class RegisteredEndpoint:
    name: str = f(STRING)
    host: str = f(STRING)
    port: int = f(U16)
    security_protocol: int = f(I16)


@struct
class SupportedFeature:
    name: str = f(STRING)
    min_supported_version: int = f(I16)
    max_supported_version: int = f(I16)


@struct
class RegisterBrokerRecord:
    broker_id: int = f(I32)
    is_migrating_zk_broker: bool = f(BOOL, since=2, default=False)
    incarnation_id: bytes = f(UUID16, default=bytes(16))
    broker_epoch: int = f(I64, default=0)
    end_points: Sequence[RegisteredEndpoint] = f(Array(RegisteredEndpoint), default=())
    features: Sequence[SupportedFeature] = f(Array(SupportedFeature), default=())
    rack: str | None = f(STRING, nullable=0, default=None)
    fenced: bool = f(BOOL, default=True)
    in_controlled_shutdown: bool = f(BOOL, since=1, default=False)
    log_dirs: Sequence[bytes] = f(Array(UUID16), since=3, tag=0, default=())
    cordoned_log_dirs: Sequence[bytes] | None = f(Array(UUID16), since=4, nullable=4, tag=1, default=None)


@struct
class UnregisterBrokerRecord:
    broker_id: int = f(I32)
    broker_epoch: int = f(I64)


@struct
class TopicRecord:
    name: str = f(STRING)
    topic_id: bytes = f(UUID16)


@struct
class PartitionRecord:
    partition_id: int = f(I32)
    topic_id: bytes = f(UUID16)
    replicas: Sequence[int] = f(Array(I32))
    isr: Sequence[int] = f(Array(I32), default=())
    removing_replicas: Sequence[int] = f(Array(I32), default=())
    adding_replicas: Sequence[int] = f(Array(I32), default=())
    leader: int = f(I32, default=-1)
    leader_recovery_state: int = f(I8, tag=0, default=0)
    leader_epoch: int = f(I32, default=-1)
    partition_epoch: int = f(I32, default=-1)
    directories: Sequence[bytes] = f(Array(UUID16), since=1, default=())
    eligible_leader_replicas: Sequence[int] | None = f(Array(I32), since=2, nullable=2, tag=1, default=None)
    last_known_elr: Sequence[int] | None = f(Array(I32), since=2, nullable=2, tag=2, default=None)


@struct
class ConfigRecord:
    resource_type: int = f(I8)
    resource_name: str = f(STRING)
    name: str = f(STRING)
    value: str | None = f(STRING, nullable=0, secret=True, default=None)


@struct
class PartitionChangeRecord:
    partition_id: int = f(I32)
    topic_id: bytes = f(UUID16)
    isr: Sequence[int] | None = f(Array(I32), nullable=0, tag=0, default=None)
    leader: int = f(I32, tag=1, default=-2)
    replicas: Sequence[int] | None = f(Array(I32), nullable=0, tag=2, default=None)
    removing_replicas: Sequence[int] | None = f(Array(I32), nullable=0, tag=3, default=None)
    adding_replicas: Sequence[int] | None = f(Array(I32), nullable=0, tag=4, default=None)
    leader_recovery_state: int = f(I8, tag=5, default=-1)
    directories: Sequence[bytes] | None = f(Array(UUID16), since=1, nullable=1, tag=8, default=None)
    eligible_leader_replicas: Sequence[int] | None = f(Array(I32), since=2, nullable=2, tag=6, default=None)
    last_known_elr: Sequence[int] | None = f(Array(I32), since=2, nullable=2, tag=7, default=None)


@struct
class FenceBrokerRecord:
    id: int = f(I32)
    epoch: int = f(I64)


@struct
class UnfenceBrokerRecord:
    id: int = f(I32)
    epoch: int = f(I64)


@struct
class RemoveTopicRecord:
    topic_id: bytes = f(UUID16)


@struct
class DelegationTokenRecord:
    owner: str = f(STRING)
    requester: str = f(STRING)
    renewers: Sequence[str] = f(Array(STRING))
    issue_timestamp: int = f(I64)
    max_timestamp: int = f(I64)
    expiration_timestamp: int = f(I64)
    token_id: str = f(STRING)


@struct
class UserScramCredentialRecord:
    name: str = f(STRING)
    mechanism: int = f(I8)
    salt: bytes = f(BYTES, secret=True)
    stored_key: bytes = f(BYTES, secret=True)
    server_key: bytes = f(BYTES, secret=True)
    iterations: int = f(I32)


@struct
class FeatureLevelRecord:
    name: str = f(STRING)
    feature_level: int = f(I16)


@struct
class EntityData:
    entity_type: str = f(STRING)
    entity_name: str | None = f(STRING, nullable=0)


@struct
class ClientQuotaRecord:
    entity: Sequence[EntityData] = f(Array(EntityData))
    key: str = f(STRING)
    value: float = f(F64)
    remove: bool = f(BOOL)


@struct
class ProducerIdsRecord:
    broker_id: int = f(I32)
    broker_epoch: int = f(I64)
    next_producer_id: int = f(I64)


@struct
class BrokerRegistrationChangeRecord:
    broker_id: int = f(I32)
    broker_epoch: int = f(I64)
    fenced: int = f(I8, tag=0, default=0)
    in_controlled_shutdown: int = f(I8, since=1, tag=1, default=0)
    log_dirs: Sequence[bytes] = f(Array(UUID16), since=2, tag=2, default=())
    cordoned_log_dirs: Sequence[bytes] | None = f(Array(UUID16), since=3, nullable=3, tag=3, default=None)


@struct
class AccessControlEntryRecord:
    id: bytes = f(UUID16)
    resource_type: int = f(I8)
    resource_name: str = f(STRING)
    pattern_type: int = f(I8)
    principal: str = f(STRING)
    host: str = f(STRING)
    operation: int = f(I8)
    permission_type: int = f(I8)


@struct
class RemoveAccessControlEntryRecord:
    id: bytes = f(UUID16)


@struct
class NoOpRecord:
    pass


@struct
class ZkMigrationStateRecord:
    zk_migration_state: int = f(I8)


@struct
class RemoveUserScramCredentialRecord:
    name: str = f(STRING)
    mechanism: int = f(I8)


@struct
class BeginTransactionRecord:
    name: str | None = f(STRING, nullable=0, tag=0, default=None)


@struct
class EndTransactionRecord:
    pass


@struct
class AbortTransactionRecord:
    reason: str | None = f(STRING, nullable=0, tag=0, default=None)


@struct
class RemoveDelegationTokenRecord:
    token_id: str = f(STRING)


@struct
class RegisterControllerRecord:
    controller_id: int = f(I32)
    incarnation_id: bytes = f(UUID16)
    zk_migration_ready: bool = f(BOOL)
    end_points: Sequence[RegisteredEndpoint] = f(Array(RegisteredEndpoint))
    features: Sequence[SupportedFeature] = f(Array(SupportedFeature))


@struct
class ClearElrRecord:
    topic_name: str = f(STRING)


class RecordType(NamedTuple):
    """The declaration of a record, and the newest version that it covers."""

    table: type
    max_version: int = 0


RECORD_TYPES: Final[dict[int, RecordType]] = {
    0: RecordType(RegisterBrokerRecord, 4),
    1: RecordType(UnregisterBrokerRecord),
    2: RecordType(TopicRecord),
    3: RecordType(PartitionRecord, 2),
    4: RecordType(ConfigRecord),
    5: RecordType(PartitionChangeRecord, 2),
    7: RecordType(FenceBrokerRecord),
    8: RecordType(UnfenceBrokerRecord),
    9: RecordType(RemoveTopicRecord),
    10: RecordType(DelegationTokenRecord),
    11: RecordType(UserScramCredentialRecord),
    12: RecordType(FeatureLevelRecord),
    14: RecordType(ClientQuotaRecord),
    15: RecordType(ProducerIdsRecord),
    17: RecordType(BrokerRegistrationChangeRecord, 3),
    18: RecordType(AccessControlEntryRecord),
    19: RecordType(RemoveAccessControlEntryRecord),
    20: RecordType(NoOpRecord),
    21: RecordType(ZkMigrationStateRecord),
    22: RecordType(RemoveUserScramCredentialRecord),
    23: RecordType(BeginTransactionRecord),
    24: RecordType(EndTransactionRecord),
    25: RecordType(AbortTransactionRecord),
    26: RecordType(RemoveDelegationTokenRecord),
    27: RecordType(RegisterControllerRecord),
    28: RecordType(ClearElrRecord),
}


class UnknownRecord(NamedTuple):
    """A record with an unknown key or a newer version."""

    key: int
    version: int


_readers: dict[tuple[int, int], MessageReader | None] = {}


def decode_record(value: bytes) -> Any:
    """Decode a record to a struct of this module, or to UnknownRecord. Raises RemoteProtocolError for invalid data."""
    try:
        if value[0] != _FRAME:
            raise RemoteProtocolError(f"a metadata record has frame version {value[0]}")
        key, version, position = value[1], value[2], 3
        if key > 127 or version > 127:
            key, position = read_uvarint(value, 1)
            version, position = read_uvarint(value, position)
        read = _readers[key, version] if (key, version) in _readers else _reader(key, version)
        if read is None:
            return UnknownRecord(key, version)
        return read(value, position, len(value))[0]
    except (StructError, IndexError):
        raise RemoteProtocolError("a metadata record is truncated") from None
    except Malformed as error:
        raise RemoteProtocolError(f"a metadata record {error}") from None


def _reader(key: int, version: int) -> MessageReader | None:
    row = RECORD_TYPES.get(key)
    if row is None or version > row.max_version:
        return None  # not cached: a malicious log could contain any number of them
    found = _readers[key, version] = reader(row.table, version, True)
    return found
