"""Differential tests with a cluster and its gateway: both return the same responses."""

from __future__ import annotations

import pytest

from lab.broker import KafkaBroker
from tests.conformance.differential.duel import Score, report
from tests.conformance.differential.front import REFUSED, front_duel
from tests.conformance.differential.programme import DRAWN, common_versions, drawn, play
from tests.conformance.differential.scenarios.data_plane import await_coordinators, coordinators
from tests.support.targets import one_of

FAMILIES = {**{name: each for name, each in DRAWN.items() if name != "features"}, "coordinators": coordinators}
SHORT, LONG = range(1, 2), range(2, 12)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("version", one_of("4.3.1", ["3.9.2"]))
@pytest.mark.parametrize("rounds", [SHORT, pytest.param(LONG, marks=pytest.mark.full)], ids=["short", "long"])
def test_a_gateway_returns_the_same_responses_as_its_cluster(version: str, rounds: range) -> None:
    score = Score()
    with KafkaBroker(version) as kafka, front_duel(kafka, score) as pair:
        await_coordinators(pair.kafka)
        play(pair, drawn(rounds, FAMILIES), common_versions(pair, without=REFUSED))
    assert not score.found, report(score.found)
    assert score.total >= 100 * len(rounds)
