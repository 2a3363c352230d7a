"""UpdateFeatures: refused requests, and eligible leader replicas turned on and off with the effect on configs.

Runs last, because it changes the cluster. `metadata.version` is used only at levels that both have: kconf has the keys
and rules of 4.3 and no older ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from kconf.protocol.messages.api_versions import ApiVersionsRequest
from kconf.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.conformance.differential.ask import Ask
from tests.conformance.differential.draw import BROKER, DELETE, SET, Draw
from tests.conformance.differential.scenarios.broker_configs import ALL, OWN
from tests.conformance.differential.scenarios.min_insync import KEY

ELR = "eligible.leader.replicas.version"
_UPGRADE, _SAFE, _UNSAFE = 1, 2, 3
_UPDATES = (
    (),
    (("no.such.feature", 1, _UPGRADE),),
    (("no.such.feature", 0, _UPGRADE),),
    (("", 1, _UPGRADE),),
    ((ELR, 2, _UPGRADE),),
    ((ELR, -1, _UPGRADE),),
    ((ELR, 0, _UPGRADE),),
    ((ELR, 0, _SAFE),),
    ((ELR, 1, _SAFE),),
    ((ELR, 1, 0),),
    ((ELR, 1, 9),),
    ((ELR, 1, _UPGRADE),),
    ((ELR, 1, _UPGRADE), ("no.such.feature", 1, _UPGRADE)),
    ((ELR, 1, _UPGRADE), (ELR, 0, _UPGRADE)),
    (("metadata.version", 30, _UPGRADE),),
    (("metadata.version", 31, _UPGRADE),),
    (("metadata.version", 0, _SAFE),),
)


def updates(draw: Draw) -> Iterator[Ask]:
    for version in draw.versions["UpdateFeatures"]:
        for wanted in _UPDATES if version else ():
            yield _update(draw, version, *wanted, validate_only=True)
    yield from _configs(draw)
    yield _update(draw, 0, (ELR, 1, _UPGRADE))
    yield from _configs(draw)
    yield draw.incremental((BROKER, ALL, [(DELETE, KEY, None)]))
    yield draw.incremental((BROKER, OWN, [(SET, KEY, "2")]))
    yield _update(draw, 0, (ELR, 0, _SAFE))
    yield _update(draw, 1, (ELR, 0, _UPGRADE))
    yield _update(draw, 1, (ELR, 1, _SAFE))
    yield _update(draw, 2, (ELR, 0, _SAFE))
    yield from _configs(draw)
    yield draw.incremental((BROKER, ALL, [(DELETE, KEY, None)]))
    yield draw.incremental((BROKER, OWN, [(SET, KEY, "2")]))
    yield _update(draw, 1, (ELR, 1, _UPGRADE))
    yield from _configs(draw)
    yield _update(draw, 1, (ELR, 0, _UNSAFE))
    yield draw.clear_brokers()
    yield from _configs(draw)


def _update(draw: Draw, version: int, *wanted: tuple[str, int, int], validate_only: bool = False) -> Ask:
    keys = [
        FeatureUpdateKey(name, level, kind != _UPGRADE) if version == 0 else FeatureUpdateKey(name, level, False, kind)
        for name, level, kind in wanted
    ]
    return draw.ask("UpdateFeatures", UpdateFeaturesRequest(60_000, keys, validate_only), version)


def _configs(draw: Draw) -> Iterator[Ask]:
    yield draw.ask("ApiVersions", ApiVersionsRequest("lab", "1"), 4)
    yield draw.describe((BROKER, ALL), (BROKER, OWN), names=[KEY], synonyms=True)
