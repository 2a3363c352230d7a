"""Servers that change the same key concurrently, and a server that is paused during ten thousand changes."""

from __future__ import annotations

from itertools import count
from threading import Thread

import pytest

from lab.zookeeper import ZooKeeper
from tests.adversity.fleet import Caller, Fleet, calling, check, check_state, frozen
from tests.feed.reading import revision_of, set_key
from tests.support.admin import APPEND, SUBTRACT, TOPIC, Admin
from tests.support.process import KconfProcess

MOVED = 95
THROTTLED = "leader.replication.throttled.replicas"
COUNTED = "segment.ms"
FIRST = 1_000_000


def test_a_counter_that_two_servers_increment_by_compare_and_set_loses_no_update(zookeeper_url: str) -> None:
    """Four callers on two servers increment a number; a caller that loses the race gets an error and retries."""
    raised: list[int] = []
    with Fleet(zookeeper_url, 2) as fleet:
        fleet.create("counter")
        with Admin(fleet.servers[0].bootstrap) as admin:
            assert set_key(admin, "counter", str(FIRST), key=COUNTED) == 0
        fleet.journals()
        _together([Thread(target=_raise, args=(server, raised, 50)) for server in fleet.servers * 2])
        revisions = fleet.journals()

    lines = [int(change.after or 0) for each in revisions for change in each.changes if change.key == COUNTED]
    assert lines == list(range(FIRST, FIRST + 201))
    assert sorted(raised) == lines[1:]


def test_concurrent_appends_of_two_servers_are_all_in_the_list_once(zookeeper_url: str) -> None:
    """APPEND and SUBTRACT without an expected revision: each server plans again on the changes of the other."""
    numbers = count()
    kept: list[str] = []
    with Fleet(zookeeper_url, 2) as fleet:
        fleet.create("list")
        _together([Thread(target=_append, args=(server, numbers, kept)) for server in fleet.servers * 3])
        fleet.journals()
        lists = []
        for server in fleet.servers:
            with Admin(server.bootstrap) as admin:
                lists.append(admin.overrides("list")[THROTTLED].split(","))

    assert lists[0] == lists[1]
    assert sorted(lists[0]) == sorted(kept)
    assert len(kept) == 6 * 20


@pytest.mark.faults
def test_a_server_that_was_paused_for_ten_thousand_changes_has_them_all(zookeeper: ZooKeeper, chroot: str) -> None:
    with Fleet(zookeeper.url(chroot), 3) as fleet:
        topics = [f"still-{number}" for number in range(32)]
        fleet.create(*topics)
        busy = fleet.servers[:2]
        callers = [Caller(busy[place % 2], topic, most=313) for place, topic in enumerate(topics)]
        with frozen(fleet.servers[2]), calling(callers):
            for each in callers:
                each.join()
        revisions = fleet.journals(120)
        check(revisions, callers)
        check_state(fleet, revisions, topics)

    assert sum(len(each.acknowledged) + len(each.refused) for each in callers) == 32 * 313 > 10_000


def _raise(server: KconfProcess, raised: list[int], times: int) -> None:
    """Increment the counter this many times."""
    with Admin(server.bootstrap, timeout=60) as admin:
        while times:
            seen = revision_of(admin, (TOPIC, "counter"))
            value = int(admin.overrides("counter")[COUNTED]) + 1
            code = set_key(admin, "counter", str(value), key=COUNTED, expected=seen)
            assert code in (0, MOVED), code
            if code == 0:
                raised.append(value)
                times -= 1


def _append(server: KconfProcess, numbers: count[int], kept: list[str]) -> None:
    """Append forty elements, and remove every second one."""
    with Admin(server.bootstrap, timeout=60) as admin:
        for turn in range(40):
            element = f"{next(numbers)}:1"
            assert admin.alter((TOPIC, "list"), (THROTTLED, APPEND, element)).error_code == 0
            if turn % 2:
                assert admin.alter((TOPIC, "list"), (THROTTLED, SUBTRACT, element)).error_code == 0
            else:
                kept.append(element)


def _together(threads: list[Thread]) -> None:
    for each in threads:
        each.start()
    for each in threads:
        each.join()
