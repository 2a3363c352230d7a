"""One cluster, directly and through a gateway: reads and dry runs on both, changes only through the gateway."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from kconf.protocol.apis import API_VERSIONS, BY_NAME
from lab.broker import KafkaBroker
from tests.conformance.differential.accepted import (
    ACCEPTED,
    ACCEPTED_39,
    INVALID_CONFIG,
    Accepted,
    is_silent_about_repeated,
)
from tests.conformance.differential.ask import SERVED, Ask
from tests.conformance.differential.compare import MISSING, Difference, at
from tests.conformance.differential.duel import Duel, Score
from tests.conformance.differential.side import Side
from tests.support.process import KconfProcess

UNKNOWN_SERVER_ERROR = -1
_UNKNOWN_TO_39 = frozenset([9, 32])  # a type that does not exist, and groups
REFUSED = ("UpdateFeatures",)  # a gateway changes no features
NEVER_PASSED_ON = frozenset(["AlterPartitionReassignments", "DeleteRecords", "DescribeDelegationToken"])
COMPARED = frozenset(BY_NAME[name].key for name in SERVED if name not in REFUSED and name not in NEVER_PASSED_ON)

OF_ITS_OWN = frozenset(["no log directories", "supported APIs", "different loggers"])
"""Differences of a kconf without brokers, which a gateway does not have."""


def _served(found: Difference) -> bool:
    """APIs that only one has, ApiVersions of 4.4, and a log offset that increases."""
    if found.ask.name != "ApiVersions":
        return False
    newer = found.path[1:] == (str(API_VERSIONS), "max_version") and (found.kafka, found.kconf) == (4, 5)
    alone = len(found.path) == 2 and MISSING in (found.kafka, found.kconf) and int(found.path[1]) not in COMPARED
    return newer or alone or found.path == ("finalized_features_epoch",)


ACCEPTED_FRONT = (
    *(each for each in ACCEPTED if each.name not in OF_ITS_OWN),
    Accepted(
        "supported APIs", "a gateway has its own APIs and refuses others; APIs that both support are equal", _served
    ),
    Accepted(
        "never passed on",
        "what moves or loses messages, and delegation tokens, are refused with 42",
        lambda found: found.ask.name in NEVER_PASSED_ON,
    ),
)


def _crash(found: Difference) -> bool:
    """Kafka 3.9 fails with -1 where validation throws an exception, and its later releases with 40."""
    if found.ask.name not in ("AlterConfigs", "IncrementalAlterConfigs"):
        return False
    codes = [at(each, *found.path[:2], "error_code") for each in (found.kafka_answer, found.kconf_answer)]
    return codes == [UNKNOWN_SERVER_ERROR, INVALID_CONFIG]


ACCEPTED_FRONT_39 = (
    *ACCEPTED_FRONT,
    *(each for each in ACCEPTED_39 if each.name == "is_default in version 0"),
    Accepted("errors in validation", "the gateway returns 40, as later releases do", _crash),
    Accepted(
        "unknown types with the same name in AlterConfigs",
        "Kafka does not respond at all, the gateway returns 42",
        lambda found: is_silent_about_repeated(found, _UNKNOWN_TO_39),
    ),
)


class Front(Side):
    """A gateway, whose responses contain the addresses of its brokers."""

    def __init__(self, process: KconfProcess, kafka: Side) -> None:
        super().__init__("kconf", process.host, process.port)
        self.ids, self.topics = kafka.ids, kafka.topics  # one cluster
        self._shown = kafka.bootstrap

    @property
    def bootstrap(self) -> str:
        return self._shown


class FrontDuel(Duel):
    """`kafka` is the cluster itself, `kconf` its gateway."""

    def _ask(self, scenario: str, ask: Ask) -> None:
        if ask.is_read or ask.missing:
            super()._ask(scenario, replace(ask, moving=True))
            return
        if _has_dry_run(ask) and not ask.surplus:
            super()._ask(scenario, replace(ask, message=_dry_run(ask.message)))
        if not getattr(ask.message, "validate_only", False):
            self.score.asked[ask.name, ask.version] += 1
            self.kconf.ask(ask)


def _has_dry_run(ask: Ask) -> bool:
    return any(field.name == "validate_only" and field.since <= ask.version for field in ask.message.FIELDS)


def _dry_run(message: Any) -> Any:
    values = {field.name: getattr(message, field.name) for field in message.FIELDS}
    return type(message)(**{**values, "validate_only": True})


@contextmanager
def front_duel(kafka: KafkaBroker, score: Score) -> Iterator[FrontDuel]:
    args = ("--upstream", kafka.bootstrap, "--controllers", kafka.address("CONTROLLER"))
    with KconfProcess(args=args) as process:
        direct = Side("kafka", kafka.host, kafka.port)
        accepted = ACCEPTED_FRONT_39 if kafka.version.startswith("3.9") else ACCEPTED_FRONT
        pair = FrontDuel(direct, Front(process, direct), score, accepted)
        try:
            yield pair
        finally:
            pair.close()
