"""Reads the SCRAM credentials in a metadata log, for a gateway that authenticates the cluster's users.

They are passed directly from the records to a sink and are not in any image, change or checkpoint. Other records are
not decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

from kconf.model.scram import Credential, Mechanism
from kconf.protocol.records import metadata as records
from kconf.protocol.records.batches import RecordBatch
from kconf.protocol.records.metadata import decode_record

CredentialName = tuple[str, Mechanism]
"""A user and a mechanism."""

_KINDS: Final = frozenset(
    bytes((1, key))  # frame version and record key
    for key, kind in records.RECORD_TYPES.items()
    if kind.table
    in (
        records.UserScramCredentialRecord,
        records.RemoveUserScramCredentialRecord,
        records.BeginTransactionRecord,
        records.EndTransactionRecord,
        records.AbortTransactionRecord,
    )
)
_MECHANISMS: Final = {int(each): each for each in Mechanism if each is not Mechanism.UNKNOWN}


class CredentialSink(Protocol):
    """Receives the credentials, in the thread that reads the log."""

    def put(self, name: CredentialName, credential: Credential | None) -> None:
        """Set a credential, or remove it if None."""

    def replace(self, credentials: Mapping[CredentialName, Credential]) -> None:
        """Forget all previous credentials, and use these."""


class ScramKeys:
    """Passes the credentials in committed batches to the sink, in the order of the log."""

    def __init__(self, sink: CredentialSink) -> None:
        self._sink = sink
        self._transaction: list[tuple[CredentialName, Credential | None]] | None = None

    def apply(self, batch: RecordBatch) -> None:
        for record in _decoded(batch):
            if isinstance(record, records.BeginTransactionRecord):
                self._transaction = []
            elif isinstance(record, records.EndTransactionRecord | records.AbortTransactionRecord):
                waiting, self._transaction = self._transaction or [], None
                for name, credential in waiting if isinstance(record, records.EndTransactionRecord) else ():
                    self._sink.put(name, credential)
            elif record.mechanism in _MECHANISMS:
                found = _name(record), _credential(record)
                if self._transaction is None:
                    self._sink.put(*found)
                else:
                    self._transaction.append(found)

    def load(self, batches: Iterable[RecordBatch]) -> None:
        """Replace all credentials in the sink with those of a snapshot."""
        found: dict[CredentialName, Credential] = {}
        for batch in batches:
            for record in _decoded(batch):
                if isinstance(record, records.UserScramCredentialRecord) and record.mechanism in _MECHANISMS:
                    found[_name(record)] = _set_credential(record)
        self._transaction = None
        self._sink.replace(found)


def _decoded(batch: RecordBatch) -> Iterator[Any]:
    for each in () if batch.is_control else batch.records():
        if each.value is not None and each.value[:2] in _KINDS:
            record = decode_record(each.value)
            if not isinstance(record, records.UnknownRecord):
                yield record


def _name(record: Any) -> CredentialName:
    return record.name, _MECHANISMS[record.mechanism]


def _credential(record: Any) -> Credential | None:
    return _set_credential(record) if isinstance(record, records.UserScramCredentialRecord) else None


def _set_credential(record: records.UserScramCredentialRecord) -> Credential:
    return Credential(record.salt, record.stored_key, record.server_key, record.iterations)
