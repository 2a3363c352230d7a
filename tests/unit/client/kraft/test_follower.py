"""The follower without I/O: leaders, epochs, commits, divergence, snapshots, resuming. Tests simulate the cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kconf.client.calls.base import CallResult
from kconf.client.kraft.calls import FetchedLog, FetchLog, FetchSnapshot, SnapshotPage, SnapshotPosition
from kconf.client.kraft.checkpoint import Checkpoint
from kconf.client.kraft.follower import LogChanges, LogEvent, LogFollower, LogGap, LogReady, LogReset
from kconf.client.settings import Address
from kconf.client.transport.requests import Backoff, NodeRequest
from kconf.errors import AuthenticationFailed, ConfigurationError, ConnectionFailed, JournalTrimmed, NotAuthorized
from kconf.protocol.records.metadata import NoOpRecord
from tests.unit.client.kraft.log import batch, new_topic, snapshot, topic_config

ONE, TWO, THREE = (Address("controller", port) for port in (1, 2, 3))
ENDPOINTS = {1: ONE, 2: TWO, 3: THREE}


def follower(after: int | Checkpoint | None = None, *controllers: Address) -> LogFollower:
    return LogFollower(controllers or (ONE, TWO, THREE), after=after)


def request(one: LogFollower) -> NodeRequest:
    """The next request, without waiting for pauses."""
    while isinstance(step := one.next_step(), Backoff):
        pass
    return step


def fetch(one: LogFollower) -> FetchLog:
    call = request(one).call
    assert isinstance(call, FetchLog)
    return call


def answer(one: LogFollower, **fields: Any) -> list[LogEvent]:
    """Respond to the last request."""
    return one.receive(CallResult({None: FetchedLog(**{"version": 18, "error": 0, "leader": 1, **fields})}))


def serve(one: LogFollower, *batches: bytes, high_watermark: int, **fields: Any) -> list[LogEvent]:
    request(one)
    return answer(one, records=b"".join(batches), high_watermark=high_watermark, **fields)


def changes(events: list[LogEvent]) -> list[tuple[int, str, str | None]]:
    return [
        (revision.number, change.key, change.after if change.kind == "config" else change.op)
        for event in events
        if isinstance(event, LogChanges)
        for revision in event.revisions
        for change in revision.changes
    ]


def config(value: str) -> Any:
    return topic_config("orders", "retention.ms", value)


def test_any_controller_can_name_the_leader_and_its_epoch() -> None:
    one = follower()
    first = request(one)

    assert (first.address, one.receive(not_leader(74, 3, 5))) == (ONE, [])
    second = request(one)

    assert (second.address, second.call.leader_epoch) == (THREE, 5)  # type: ignore[attr-defined]


def not_leader(error: int, leader: int, epoch: int, **fields: Any) -> CallResult:
    found = FetchedLog(
        **{"version": 18, "endpoints": ENDPOINTS, **fields}, error=error, leader=leader, leader_epoch=epoch
    )
    return CallResult({None: found})


def test_without_endpoints_the_same_node_is_tried_with_its_epoch_and_then_the_next() -> None:
    """Before v17 a response has the leader's ID, but not its address."""
    one = follower()
    request(one)
    one.receive(not_leader(74, 2, 5, endpoints={}, version=16))
    again = request(one)
    one.receive(not_leader(6, 2, 5, endpoints={}, version=16))

    assert (again.address, again.call.leader_epoch) == (ONE, 5)  # type: ignore[attr-defined]
    assert request(one).address == TWO


def test_only_committed_records_are_reported() -> None:
    one = follower(after=0)

    uncommitted = serve(one, batch(1, new_topic("orders", 1)), batch(3, [config("1")]), high_watermark=3)
    committed = serve(one, high_watermark=4)

    assert changes(uncommitted) == [(1, "", "create")]
    assert changes(committed) == [(3, "retention.ms", "1")]


def test_a_record_that_was_never_committed_is_never_reported() -> None:
    one = follower(after=0)
    serve(one, batch(1, new_topic("orders", 1)), batch(3, [config("never")], epoch=1), high_watermark=3)

    request(one)
    one.receive(not_leader(74, 2, 2))
    assert (fetch(one).offset, fetch(one).last_epoch) == (4, 1)
    answer(one, diverging=3, leader=2, leader_epoch=2)
    assert (fetch(one).offset, fetch(one).last_epoch) == (3, 1)
    found = answer(one, records=batch(3, [config("other")], epoch=2), high_watermark=4, leader=2, leader_epoch=2)

    assert changes(found) == [(3, "retention.ms", "other")]


def test_a_new_leader_without_a_high_watermark_does_not_lower_it() -> None:
    one = follower(after=0)
    serve(one, batch(1, new_topic("orders", 1)), high_watermark=3)

    assert serve(one, batch(3, [config("1")]), high_watermark=-1) == []
    assert one.high_watermark == 3
    assert changes(serve(one, high_watermark=4)) == [(3, "retention.ms", "1")]


def test_before_v18_an_uncommitted_record_is_polled_soon() -> None:
    one = follower(after=0)
    serve(one, batch(1, new_topic("orders", 1)), high_watermark=0, version=17)
    waiting = fetch(one).wait_ms
    answer(one, high_watermark=3, version=17)

    assert (waiting, fetch(one).wait_ms) == (5, 1000)


def test_an_offset_inside_a_batch_repeats_nothing() -> None:
    one = follower(after=0)
    serve(one, batch(1, new_topic("orders", 1)), high_watermark=3)

    again = serve(one, batch(1, new_topic("orders", 1)), batch(3, [config("1")]), high_watermark=4)

    assert changes(again) == [(3, "retention.ms", "1")]


def test_from_now_on_begins_at_the_first_watermark() -> None:
    one = follower()
    first = serve(one, batch(0, [NoOpRecord()]), batch(1, new_topic("orders", 1)), high_watermark=3)

    then = serve(one, batch(3, [config("1")]), high_watermark=4)

    assert first == [LogReady(3)]
    assert changes(then) == [(3, "retention.ms", "1")]


def test_the_state_before_an_offset_is_known_but_not_reported() -> None:
    one = follower(after=3)
    parts = batch(0, [NoOpRecord()]), batch(1, new_topic("orders", 1)), batch(3, [config("1")]), batch(4, [config("2")])

    found = serve(one, *parts, high_watermark=5)

    ((revision, *_),) = [each.revisions for each in found if isinstance(each, LogChanges)]
    assert (revision.number, revision.changes[0].before, revision.changes[0].after) == (4, "1", "2")


def load(one: LogFollower, data: bytes, end: int, *, epoch: int = 1, page: int = 50) -> list[LogEvent]:
    """Send a snapshot, page by page."""
    request(one)
    events = answer(one, snapshot=SnapshotPosition(end, epoch), high_watermark=end)
    while isinstance(call := request(one).call, FetchSnapshot):
        assert call.snapshot == SnapshotPosition(end, epoch)
        part = data[call.position : call.position + page]
        events += one.receive(CallResult({None: SnapshotPage(0, len(data), call.position, part)}))
    return events


def test_the_state_is_loaded_from_a_snapshot_and_the_log_is_read_from_its_end() -> None:
    one = follower()

    load(one, snapshot([*new_topic("orders", 1), config("1")]), 100, epoch=3)
    call = fetch(one)
    found = answer(one, records=batch(100, [NoOpRecord()], epoch=3), high_watermark=101)
    then = serve(one, batch(101, [config("2")], epoch=3), high_watermark=102)

    assert (call.offset, call.last_epoch) == (100, 3)
    assert found == [LogReady(101)]
    ((revision, *_),) = [each.revisions for each in then if isinstance(each, LogChanges)]
    assert revision.changes[0].before == "1"


def test_records_that_change_nothing_are_reported_on_request_also_after_a_snapshot() -> None:
    one, quiet = LogFollower([ONE], rewrites=True), LogFollower([ONE])
    for each in (one, quiet):
        load(each, snapshot([*new_topic("orders", 1), config("1")]), 100)
        answer(each, records=batch(100, [NoOpRecord()]), high_watermark=101)
    again = batch(101, [config("1")])

    assert changes(serve(one, again, high_watermark=102)) == [(101, "retention.ms", "1")]
    assert changes(serve(quiet, again, high_watermark=102)) == []


def test_a_snapshot_past_the_position_is_a_gap_with_the_difference() -> None:
    one = follower(after=0)
    serve(one, batch(1, new_topic("orders", 1)), batch(3, [config("1")]), high_watermark=4)

    (gap,) = load(one, snapshot([*new_topic("orders", 1), config("2")], time=777), 100)

    assert isinstance(gap, LogGap)
    assert (gap.begin, gap.end, gap.time) == (4, 100, 777)
    assert [(each.key, each.before, each.after) for each in gap.changes] == [("retention.ms", "1", "2")]


def test_a_truncated_snapshot_is_refused() -> None:
    from kconf.errors import RemoteProtocolError

    with pytest.raises(RemoteProtocolError, match="truncated"):
        load(follower(), snapshot(new_topic("orders", 1), cut=True), 100)


def test_another_snapshot_is_requested_if_the_first_was_deleted() -> None:
    one = follower()
    request(one)
    answer(one, snapshot=SnapshotPosition(100, 1))
    request(one)
    one.receive(CallResult({None: SnapshotPage(-1)}))

    assert fetch(one).offset == 0


def test_history_is_read_from_the_log_if_it_is_still_complete() -> None:
    """For offset 0, a leader responds with a snapshot, even if the log begins at 0."""
    one = follower(after=0)
    request(one)
    one.receive(not_leader(74, 1, 7))
    request(one)
    answer(one, snapshot=SnapshotPosition(100, 6), leader_epoch=7)

    assert (fetch(one).offset, fetch(one).last_epoch) == (1, 7)


def test_a_position_before_the_start_of_the_log_is_an_error_without_a_checkpoint() -> None:
    one = follower(after=5)
    request(one)
    answer(one, snapshot=SnapshotPosition(100, 6))
    request(one)

    with pytest.raises(JournalTrimmed) as caught:
        answer(one, snapshot=SnapshotPosition(100, 6))
    assert caught.value.oldest == 100


def test_a_checkpoint_continues_where_it_was_made() -> None:
    one = follower(after=0)
    serve(one, batch(1, new_topic("orders", 1)), batch(3, [config("1")], epoch=2), high_watermark=4)
    saved = json.loads(json.dumps(one.checkpoint("cluster").to_json()))

    two = follower(Checkpoint.from_json(saved))
    call = fetch(two)
    found = answer(two, records=batch(4, [config("2")], epoch=2), high_watermark=5)

    assert (call.offset, call.last_epoch, call.cluster) == (4, 2, "cluster")
    assert call.leader_epoch >= call.last_epoch  # otherwise a real controller returns INVALID_REQUEST
    ((revision, *_),) = [each.revisions for each in found if isinstance(each, LogChanges)]
    assert (revision.changes[0].before, revision.changes[0].after) == ("1", "2")


def test_a_checkpoint_before_the_start_of_the_log_continues_with_the_difference() -> None:
    one = follower(after=0)
    serve(one, batch(1, new_topic("orders", 1)), batch(3, [config("1")]), high_watermark=4)

    (gap,) = load(follower(one.checkpoint("cluster")), snapshot(new_topic("orders", 1)), 100)

    assert isinstance(gap, LogGap)
    assert [(each.key, each.op) for each in gap.changes] == [("retention.ms", "delete")]


def test_a_reformatted_cluster_starts_a_new_history() -> None:
    one = follower(after=0)
    serve(one, batch(1, new_topic("orders", 1)), high_watermark=3)
    request(one)

    assert answer(one, diverging=1) == [LogReset(3, 1)]
    assert (fetch(one).offset, one.image.topics) == (0, {})
    assert changes(serve(one, batch(0, new_topic("new", 9)), high_watermark=2)) == [(0, "", "create")]


def test_after_a_leader_is_lost_all_controllers_are_asked_and_the_position_is_kept() -> None:
    one = follower(after=0)
    serve(one, batch(1, new_topic("orders", 1)), high_watermark=3)
    asked = []
    for _ in range(20):
        asked.append(request(one).address)
        one.receive(ConnectionFailed("refused"))

    assert set(asked) == {ONE, TWO, THREE}
    assert fetch(one).offset == 3


def test_a_stale_controller_that_names_a_dead_leader_is_ignored() -> None:
    one = follower(after=0)
    request(one)
    one.receive(not_leader(74, 1, 9))
    request(one)
    one.receive(ConnectionFailed("killed"))
    request(one)
    one.receive(not_leader(75, 1, 8))

    assert request(one).call.leader_epoch == 9  # type: ignore[attr-defined]


def test_an_unreachable_cluster_is_an_error_after_some_attempts() -> None:
    one = LogFollower((ONE, TWO), attempts=2)
    for _ in range(3):
        request(one)
        one.receive(ConnectionFailed("refused"))
    request(one)
    with pytest.raises(ConnectionFailed):
        one.receive(ConnectionFailed("refused"))


@pytest.mark.parametrize(
    ("code", "error"),
    [(31, NotAuthorized), (104, ConfigurationError), (3, ConfigurationError), (100, ConfigurationError)],
)
def test_permanent_errors_are_raised(code: int, error: type[Exception]) -> None:
    one = follower()
    request(one)
    with pytest.raises(error):
        answer(one, error=code)


def test_a_transient_error_is_retried() -> None:
    one = follower(after=0)
    serve(one, batch(1, new_topic("orders", 1)), high_watermark=3)
    for code in (-1, 7, 41, 56):
        request(one)
        assert answer(one, error=code) == []

    assert changes(serve(one, batch(3, [config("1")]), high_watermark=4)) == [(3, "retention.ms", "1")]


def test_a_refused_login_is_raised() -> None:
    one = follower()
    request(one)
    with pytest.raises(AuthenticationFailed):
        one.receive(AuthenticationFailed("wrong password"))


def test_a_follower_is_not_ready_while_a_new_leader_does_not_know_the_high_watermark() -> None:
    one = follower(after=5)
    assert serve(one, high_watermark=-1) == []
    assert serve(one, batch(1, new_topic("orders", 1)), high_watermark=3) == [LogReady(3)]
