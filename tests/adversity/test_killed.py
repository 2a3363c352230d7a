"""`kill -9` under load, repeatedly: no acknowledged change is lost or half applied, and all are in the journal."""

from __future__ import annotations

import time
from random import Random

import pytest

from kconf.errors import ErrorCode
from kconf.model.entry import Source
from kconf.model.resource import Overrides
from tests.adversity.alterations import DESCRIBE, create, describing, topic
from tests.adversity.fleet import until
from tests.adversity.lines import Line, complaints, read
from tests.adversity.writers import SHARED, Writer, check_store, writing
from tests.support.process import KconfProcess

WRITERS = 8


@pytest.mark.parametrize("rounds", [3, pytest.param(20, marks=pytest.mark.faults)])
def test_kill_9_under_load_loses_no_acknowledged_change_and_applies_none_in_part(rounds: int) -> None:
    random = Random(9)
    writers = [Writer(number) for number in range(WRITERS)]
    with KconfProcess() as kconf:
        with Line(kconf) as line:
            create(line, SHARED, *(name for writer in writers for name in writer.topics))
        for turn in range(rounds):
            with writing(kconf, writers):
                _await_progress(writers)
                time.sleep(random.uniform(0.05, 0.6))  # crash at a random moment
                kconf.kill()
            if turn % 3 == 2:
                check_store(kconf.store, writers)
            kconf.start()
            with Line(kconf) as line:
                _check_wire(line, writers)
        kconf.stop()
        check_store(kconf.store, writers)

        assert [error for writer in writers for error in writer.errors] == []
        assert complaints(kconf) == []


def _await_progress(writers: list[Writer]) -> None:
    before = sum(each.acknowledged for each in writers)
    until(lambda: sum(each.acknowledged for each in writers) > before)


def _check_wire(line: Line, writers: list[Writer]) -> None:
    def found(name: str) -> Overrides | None:
        line.send(describing(topic(name)))
        (result,) = read(*DESCRIBE, line.receive()).results
        if result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return None
        return {entry.name: entry.value for entry in result.configs if entry.config_source == Source.TOPIC}

    for writer in writers:
        writer.check(found)
