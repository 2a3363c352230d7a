"""Differential tests: a real Kafka 4.3.1 and kconf return the same responses to the same requests.

Versions that only kconf and older releases support are compared with 3.9.2, for keys that are the same in both.

    pytest tests/conformance/test_differential.py --differential-requests 20000      send more requests
    pytest tests/conformance/test_differential.py --differential-scenario topics/7   run one scenario only

Allowed differences are in differential/accepted.py, with reasons; all others fail.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import count

import pytest

from tests.conformance.differential.accepted import ACCEPTED, ACCEPTED_39
from tests.conformance.differential.ask import SERVED
from tests.conformance.differential.duel import Duel, Score, report
from tests.conformance.differential.pair import SETTINGS, duel
from tests.conformance.differential.programme import (
    OLD,
    OLD_VERSIONS,
    Versions,
    common_versions,
    drawn,
    last,
    named,
    play,
    sweeps,
)
from tests.conformance.differential.scenarios.data_plane import await_coordinators
from tests.conformance.differential.tier import empty_tier

pytestmark = pytest.mark.timeout(1800)

LEAST = 2000
ROUNDS = 10  # with a minimal server.properties
WITH_SETTINGS = range(1001, 1006)  # rounds with a full one
OLD_ROUNDS = range(1, 9)


@dataclass
class Run:
    """The total number of requests, and the results."""

    score: Score = field(default_factory=Score)
    versions: Versions = field(default_factory=dict)
    seconds: float = 0.0


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest) -> Run:
    """Two pairs share a score: one with a minimal server.properties, one with a full one."""
    option = request.config.getoption
    wanted, only = option("--differential-requests", LEAST), option("--differential-scenario", None)
    done, began = Run(), time.monotonic()
    if only is not None and only.startswith("old-"):
        pytest.skip("one scenario only")
    if only is not None:
        with_settings = only.rpartition("/")[2].isdecimal() and int(only.rpartition("/")[2]) in WITH_SETTINGS
        with empty_tier() as tier, _duel({**SETTINGS, **tier} if with_settings else None, done.score) as pair:
            if only.startswith("coordinators"):
                await_coordinators(pair.kafka)
            play(pair, [(only, named(only))], common_versions(pair))
        return done
    with _duel(None, done.score) as pair:
        done.versions = common_versions(pair)
        play(pair, sweeps(), done.versions)
        for number in count(1):
            play(pair, drawn([number]), done.versions)
            if number >= ROUNDS and done.score.total >= wanted:
                break
        play(pair, last(pair), done.versions)
    with empty_tier() as tier, _duel({**SETTINGS, **tier}, done.score) as pair:
        play(pair, drawn(WITH_SETTINGS), done.versions)
    done.seconds = time.monotonic() - began
    return done


def _duel(settings: Mapping[str, str] | None, score: Score) -> AbstractContextManager[Duel]:
    """With a full server.properties, eligible leader replicas are enabled as in a new cluster; otherwise not."""
    return duel(settings, score=score, elr_version=0 if settings is None else 1)


def test_responses_differ_only_in_accepted_ways(run: Run) -> None:
    if run.score.found:
        pytest.fail(report(run.score.found), pytrace=False)


def test_enough_requests_were_sent(
    run: Run, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    _whole(request)
    apis = {name: sum(number for (api, _), number in run.score.asked.items() if api == name) for name in SERVED}
    told = ", ".join(f"{name} {number}" for name, number in apis.items())
    with capsys.disabled():
        sys.stdout.write(f"\n{run.score.total} requests in {run.seconds:.0f} s: {told}\n")

    assert run.score.total >= LEAST
    assert min(apis.values()) >= 20


def test_every_version_that_both_serve_was_sent(run: Run, request: pytest.FixtureRequest) -> None:
    _whole(request)
    both = {(name, version) for name, versions in run.versions.items() for version in versions}

    assert both - run.score.asked.keys() == set()


def test_every_accepted_difference_occurred(run: Run, request: pytest.FixtureRequest) -> None:
    """Unused entries must be removed from the list."""
    _whole(request)

    assert [line.name for line in ACCEPTED if not line.rare and line.name not in run.score.used] == []


@pytest.fixture(scope="module")
def old_run(request: pytest.FixtureRequest) -> Run:
    only = request.config.getoption("--differential-scenario", None)
    if only is not None and not only.startswith("old-"):
        pytest.skip("one scenario only")
    done = Run()
    with duel(score=done.score, version="3.9.2") as pair:
        done.versions = {**common_versions(pair), **OLD_VERSIONS}
        play(pair, drawn(OLD_ROUNDS, OLD) if only is None else [(only, named(only))], done.versions)
    return done


def test_old_versions_differ_from_3_9_only_in_accepted_ways(old_run: Run) -> None:
    if old_run.score.found:
        pytest.fail(report(old_run.score.found), pytrace=False)


def test_enough_requests_were_sent_in_old_versions(old_run: Run, request: pytest.FixtureRequest) -> None:
    _whole(request)

    assert min(old_run.score.asked[name, each] for name, versions in OLD_VERSIONS.items() for each in versions) >= 10
    assert [line.name for line in ACCEPTED_39 if not line.rare and line.name not in old_run.score.used] == []


def _whole(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--differential-scenario", None) is not None:
        pytest.skip("one scenario only")
