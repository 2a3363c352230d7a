"""Past states of resources by revision and by time, also of recreated topics; and the audit log of attempts."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import request
from kconf.protocol.messages.alter_config import AddedConfigEntry, AlteredEntity
from kconf.protocol.messages.describe_configs_at import ResourceAt
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from kconf.server.journal.audit_log import BURST, PER_SECOND
from tests.feed.reading import changes, metric, set_key, until
from tests.support.admin import APPEND, BROKER, BROKER_LOGGER, DELETE, GROUP, SET, TOPIC, Admin, Place
from tests.support.process import KconfProcess

SECRET = "listener.name.external.ssl.keystore.password"


def at(admin: Admin, *places: Place, **when: int) -> Any:
    return admin.ask("DescribeConfigsAt", 0, resources=[ResourceAt(*each) for each in places], **when)


def told(answer: Any) -> list[tuple[bool, dict[str, str | None]]]:
    assert answer.error_code == 0
    return [(each.existed, {one.name: one.value for one in each.overrides}) for each in answer.results]


def current(admin: Admin) -> int:
    number: int = changes(admin, -1).current
    return number


def test_a_recreated_topic_has_the_history_of_both_topics(admin: Admin, topic: str) -> None:
    before = current(admin)
    admin.create(topic, configs={"flush.ms": "1"})
    admin.delete(topic)
    admin.create(topic, configs={"segment.ms": "2"})
    admin.alter((TOPIC, topic), ("segment.ms", DELETE, None))
    admin.delete(topic)

    found = [told(at(admin, (TOPIC, topic), revision=before + n))[0] for n in range(6)]

    assert found == [
        (False, {}),
        (True, {"flush.ms": "1"}),
        (False, {}),
        (True, {"segment.ms": "2"}),
        (True, {}),
        (False, {}),
    ]


def test_a_time_is_resolved_to_the_last_revision_committed_by_then(admin: Admin, topic: str) -> None:
    admin.create(topic)
    times = []
    for value in ("1000", "2000"):
        time.sleep(0.005)  # revisions in the same millisecond have the same time
        set_key(admin, topic, value)
        time.sleep(0.005)
        times.append(int(time.time() * 1000))
    revision = current(admin)

    answers = [at(admin, (TOPIC, topic), time_ms=each) for each in (*times, times[-1] + 10**9)]

    assert [each.revision for each in answers] == [revision - 1, revision, revision]
    assert [told(each)[0][1] for each in answers] == [
        {"segment.ms": "1000"},
        {"segment.ms": "2000"},
        {"segment.ms": "2000"},
    ]
    assert at(admin, (TOPIC, topic), time_ms=1).revision == 0


def test_a_brokers_secrets_are_null_at_every_revision(own_server: KconfProcess, own_admin: Admin) -> None:
    set_key(own_admin, "1", "hunter2", key=SECRET, kind=BROKER)
    set_key(own_admin, "1", "20000", key="log.cleaner.backoff.ms", kind=BROKER)
    own_admin.alter((BROKER, "1"), (SECRET, DELETE, None))
    own_admin.alter((BROKER, ""), ("log.cleaner.backoff.ms", SET, "30000"))

    found = [at(own_admin, (BROKER, "1"), (BROKER, ""), revision=n) for n in range(5)]

    assert [told(each) for each in found] == [
        [(True, {}), (True, {})],
        [(True, {SECRET: None}), (True, {})],
        [(True, {SECRET: None, "log.cleaner.backoff.ms": "20000"}), (True, {})],
        [(True, {"log.cleaner.backoff.ms": "20000"}), (True, {})],
        [(True, {"log.cleaner.backoff.ms": "20000"}), (True, {"log.cleaner.backoff.ms": "30000"})],
    ]
    assert [one.is_sensitive for one in found[2].results[0].overrides] == [True, False]
    assert "hunter" not in repr(found)


def test_invalid_history_queries_are_refused(admin: Admin, topic: str) -> None:
    admin.create(topic)
    last = current(admin)

    assert at(admin, (TOPIC, topic), revision=last + 1).error_code == 42
    assert at(admin, (TOPIC, topic)).error_code == 42
    mixed = at(admin, (TOPIC, topic), (0, "x"), (77, "x"), (BROKER_LOGGER, "1"), (TOPIC, topic), revision=last)
    assert [each.error_code for each in mixed.results] == [0, 42, 42, 42, 0]
    assert told(at(admin, (TOPIC, "never"), revision=last)) == [(False, {})]


KEYS = ("segment.ms", "flush.ms", "cleanup.policy")
steps = st.one_of(
    st.tuples(st.just("create"), st.integers(0, 2), st.booleans()),
    st.tuples(st.just("delete"), st.integers(0, 2)),
    st.tuples(st.just("grow"), st.integers(0, 2), st.integers(2, 4)),
    st.tuples(st.just("set"), st.integers(0, 2), st.sampled_from(KEYS[:2]), st.integers(1, 9)),
    st.tuples(st.just("unset"), st.integers(0, 2), st.sampled_from(KEYS)),
    st.tuples(st.just("append"), st.integers(0, 2), st.sampled_from(["compact", "delete"])),
    st.tuples(st.just("replace"), st.integers(0, 2), st.integers(1, 9)),
    st.tuples(st.just("both"), st.integers(1, 9)),
    st.tuples(st.just("group"), st.integers(45000, 45009)),
)


@pytest.mark.parametrize("stored", [False, True], ids=["running", "restarted"])
def test_the_state_at_every_revision_is_the_journal_replayed_up_to_it(stored: bool) -> None:
    """For random histories, on the server that made them and on one that loaded them from its store."""
    with KconfProcess() as server:
        turns = iter(range(10**6))

        @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
        @given(st.lists(steps, max_size=25))
        def check(history: list[tuple[Any, ...]]) -> None:
            turn = next(turns)
            places = [(TOPIC, f"t{turn}-{n}") for n in range(3)] + [(GROUP, f"g{turn}")]
            with Admin(server.bootstrap) as admin:
                start = current(admin)
                for step in history:
                    live(admin, places, step)
            if stored and turn % 10 == 0:
                server.kill()
                server.start()
            with Admin(server.bootstrap) as admin:
                compare(admin, places, start)

        check()


def live(admin: Admin, places: list[Place], step: tuple[Any, ...]) -> None:
    match step:
        case ("create", which, with_configs):
            admin.create(places[which][1], configs={"segment.ms": "77", "flush.ms": "7"} if with_configs else {})
        case ("delete", which):
            admin.delete(places[which][1])
        case ("grow", which, size):
            admin.grow(places[which][1], size)
        case ("set", which, key, value):
            admin.alter(places[which], (key, SET, str(value)))
        case ("unset", which, key):
            admin.alter(places[which], (key, DELETE, None))
        case ("append", which, value):
            admin.alter(places[which], ("cleanup.policy", APPEND, value))
        case ("replace", which, value):
            admin.replace([(places[which], {"flush.ms": str(value)})])
        case ("both", value):
            admin.alter_all([(place, [("segment.ms", SET, str(value))]) for place in places[:2]])
        case ("group", value):
            admin.alter(places[3], ("consumer.session.timeout.ms", SET, str(value)))


def compare(admin: Admin, places: list[Place], start: int) -> None:
    """Apply the lines of the feed, revision by revision, and compare."""
    values: dict[Place, dict[str, str]] = {place: {} for place in places}
    exists: dict[Place, bool] = {place: place[0] != TOPIC for place in places}
    last = current(admin)
    by_number = {each.revision: each for each in changes(admin, start, lines=10_000).revisions}
    for number in range(start, last + 1):
        for line in by_number[number].changes if number > start else ():
            place = (line.resource_type, line.resource_name)
            if line.kind == "topic":
                exists[place] = line.after is not None
            elif line.after is None:
                del values[place][line.key]
            else:
                assert values[place].get(line.key) == line.before
                values[place][line.key] = line.after
        answer = at(admin, *places, revision=number)
        assert (answer.revision, told(answer)) == (number, [(exists[each], values[each]) for each in places])


# -- Attempts --------------------------------------------------------------------------------------------------------


def test_refusals_and_dry_runs_of_every_kind_are_attempts_without_values(own_server: KconfProcess) -> None:
    with Admin(own_server.bootstrap, client_id="a-tool") as admin:
        admin.create("t")
        last = current(admin)
        set_key(admin, "t", "forbidden-value", reason="try")
        set_key(admin, "t", "7", validate_only=True)
        set_key(admin, "1", "hunter2\u0000", key="log.dirs", kind=BROKER)
        set_key(admin, "1", "LOUD", key="root", kind=BROKER_LOGGER)
        set_key(admin, "t", "8", expected=0)
        admin.create("t", configs={"flush.ms": "forbidden-value"})
        admin.create("u", dry=True)
        admin.grow("t", 1)
        admin.delete("none")
        answer = admin.ask("ListAttempts", 0, after=0)
        found = [
            (each.api, each.resource_name, list(each.keys), each.outcome, each.dry_run) for each in answer.attempts
        ]
        rest = admin.ask("ListAttempts", 0, after=answer.attempts[6].number, max_attempts=2)

    assert found == [
        ("IncrementalAlterConfigs", "t", ["segment.ms"], 40, False),
        ("IncrementalAlterConfigs", "t", ["segment.ms"], 0, True),
        ("IncrementalAlterConfigs", "1", ["log.dirs"], 42, False),
        ("IncrementalAlterConfigs", "1", ["root"], 40, False),
        ("IncrementalAlterConfigs", "t", ["segment.ms"], 95, False),
        ("CreateTopics", "t", [], 36, False),
        ("CreateTopics", "u", [], 0, True),
        ("CreatePartitions", "t", [], 37, False),
        ("DeleteTopics", "none", [], 3, False),
    ]
    assert [each.number for each in rest.attempts] == [8, 9]
    first = answer.attempts[0]
    assert (first.principal, first.client_id, first.host) == ("User:ANONYMOUS", "a-tool", "127.0.0.1")
    assert (first.reason, first.revision) == ("try", last)
    assert "hunter" not in repr(answer)
    assert "forbidden" not in repr(answer)
    assert metric(own_server, "kconf_attempts") == 9
    assert metric(own_server, "kconf_attempts_dropped") == 0


def test_many_refusals_are_recorded_up_to_a_limit_and_all_counted(own_server: KconfProcess) -> None:
    began = time.monotonic()
    with Admin(own_server.bootstrap) as admin:
        for _ in range(30):
            admin.alter_all([((TOPIC, f"none-{n}"), [("segment.ms", SET, "1")]) for n in range(200)])
        listed = len(admin.ask("ListAttempts", 0, after=0, max_attempts=10_000).attempts)
    kept, dropped = metric(own_server, "kconf_attempts"), metric(own_server, "kconf_attempts_dropped")

    assert kept + dropped == 6000
    assert BURST <= kept == listed <= BURST + PER_SECOND * (time.monotonic() - began)


def test_a_change_is_recorded_even_if_the_client_disconnects_before_the_response(own_server: KconfProcess) -> None:
    requested = IncrementalAlterConfigsResource(TOPIC, "none", [IncrementalAlterableConfig("segment.ms", SET, "1")])
    frame = request(BY_NAME["IncrementalAlterConfigs"], 1, 1, "sneak", IncrementalAlterConfigsRequest([requested]))
    for _ in range(50):
        line = own_server.connect()
        line.setsockopt(1, 13, b"\x01\x00\x00\x00\x00\x00\x00\x00")  # SO_LINGER 0: a reset
        line.sendall(frame)
        line.close()

    def are_written_down() -> bool:
        """Wait until they are recorded; a reset may overtake requests sent before it."""
        arrived = metric(own_server, "kconf_requests", '{api="IncrementalAlterConfigs"}')
        return 0 < arrived == len(admin.ask("ListAttempts", 0, after=0).attempts)

    with Admin(own_server.bootstrap) as admin:
        set_key(admin, "none", "1")
        until(are_written_down)


def test_refusals_of_the_kips_own_request_are_attempts_too(own_admin: Admin) -> None:
    def entity(kind: str, name: str, value: str) -> AlteredEntity:
        return AlteredEntity(kind, name, [AddedConfigEntry("producer_byte_rate", value)], ())

    entities = [entity("planet", "mars", "1"), entity("client", "a", "fast"), entity("topic", "none", "1")]
    own_admin.ask("AlterConfig", 0, entities=[*entities, entity("client", "b", "1"), entity("client", "b", "2")])

    tried = own_admin.ask("ListAttempts", 0, after=0).attempts

    assert all((each.api, list(each.keys)) == ("AlterConfig", ["producer_byte_rate"]) for each in tried)
    assert sorted((each.resource_type, each.outcome) for each in tried) == [
        (0, 42),
        (TOPIC, 40),
        (1000, 40),
        (1000, 42),
        (1000, 42),
    ]
    assert "fast" not in repr(tried)
