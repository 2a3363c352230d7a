"""SCRAM keys are passed from the log only to their callback."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconf.client.calls.base import CallResult
from kconf.client.kraft.calls import FetchedLog, SnapshotPage, SnapshotPosition
from kconf.client.kraft.follower import LogFollower
from kconf.client.kraft.scram_keys import CredentialName, ScramKeys
from kconf.client.settings import Address
from kconf.model.scram import Credential, Mechanism
from kconf.protocol.records import metadata
from tests.unit.client.kraft.log import batch, new_topic, snapshot, topic_config

SHA = Mechanism.SCRAM_SHA_256
ALICE, BOB = ("alice", SHA), ("bob", SHA)


class Sink:
    def __init__(self) -> None:
        self.found: dict[CredentialName, Credential] = {}

    def put(self, name: CredentialName, credential: Credential | None) -> None:
        if credential is None:
            del self.found[name]
        else:
            self.found[name] = credential

    def replace(self, credentials: Mapping[CredentialName, Credential]) -> None:
        self.found = dict(credentials)


def scram(user: str, key: bytes, mechanism: int = 1) -> Any:
    return metadata.UserScramCredentialRecord(user, mechanism, b"salt", key, b"server", 4096)


def credential(key: bytes) -> Credential:
    return Credential(b"salt", key, b"server", 4096)


def follower(sink: Sink, *, keys_only: bool = False) -> LogFollower:
    return LogFollower([Address("controller", 1)], keys=ScramKeys(sink), keys_only=keys_only)


def serve(one: LogFollower, *batches: bytes, high_watermark: int) -> None:
    one.next_step()
    fetched = FetchedLog(18, 0, 1, 1, high_watermark=high_watermark, records=b"".join(batches))
    one.receive(CallResult({None: fetched}))


def serve_snapshot(one: LogFollower, end: int, *records: Any) -> None:
    one.next_step()
    one.receive(CallResult({None: FetchedLog(18, 0, 1, 1, snapshot=SnapshotPosition(end, 1))}))
    data = snapshot(records)
    one.next_step()
    one.receive(CallResult({None: SnapshotPage(0, len(data), 0, data)}))


def test_only_keys_of_committed_records_are_passed_on() -> None:
    sink = Sink()
    one = follower(sink)
    serve_snapshot(one, 10, *new_topic("orders", 1), scram("alice", b"1"), scram("bob", b"2"), scram("eve", b"3", 9))
    assert sink.found == {ALICE: credential(b"1"), BOB: credential(b"2")}
    removal = metadata.RemoveUserScramCredentialRecord("bob", 1)
    serve(one, batch(10, [scram("alice", b"4"), removal]), batch(12, [scram("bob", b"5")]), high_watermark=12)
    assert sink.found == {ALICE: credential(b"4")}
    assert "iterations=4096 log:" in str(one.image.configs)


def test_an_aborted_transaction_has_no_keys() -> None:
    sink = Sink()
    begin, end, abort = (
        metadata.BeginTransactionRecord("t"),
        metadata.EndTransactionRecord(),
        metadata.AbortTransactionRecord(),
    )
    one = follower(sink)
    serve(one, batch(1, [begin, scram("alice", b"1"), abort, begin, scram("bob", b"2")]), high_watermark=6)
    assert sink.found == {}
    serve(one, batch(6, [end]), high_watermark=7)
    assert sink.found == {BOB: credential(b"2")}


def test_a_later_snapshot_replaces_all_keys() -> None:
    sink = Sink()
    one = follower(sink)
    serve(one, batch(1, [scram("alice", b"1")]), high_watermark=2)
    serve_snapshot(one, 50, scram("bob", b"2"))
    assert sink.found == {BOB: credential(b"2")}


def test_with_keys_only_no_other_records_are_decoded() -> None:
    sink = Sink()
    one = follower(sink, keys_only=True)
    serve_snapshot(one, 10, *new_topic("orders", 1), scram("alice", b"1"))
    serve(one, batch(10, [topic_config("orders", "retention.ms", "1"), scram("bob", b"2")]), high_watermark=12)
    assert sink.found.keys() == {ALICE, BOB}
    assert (one.applied, one.image.topics, one.image.configs) == (12, {}, {})
