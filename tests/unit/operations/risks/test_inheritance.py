"""Inherited values of a resource, known and unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.calls.configs import DescribedConfigs
from kconf.configdef.lookup import known_key
from kconf.engine.declarative.diff import Difference
from kconf.errors import ApiError, ErrorCode
from kconf.model.entry import Entry, Source, Synonym, View
from kconf.model.journal import ChangeKind
from kconf.model.resource import Resource, ResourceType
from kconf.operations.declarative.changes import changes_of
from kconf.operations.planned_change import PlannedChange
from kconf.operations.risks.data_loss import flag_data_loss
from kconf.operations.risks.inheritance import EffectiveValue, Inheritance, with_inherited

HOUR = 3_600_000
ORDERS = Resource.topic("orders")
RETENTION = known_key(ResourceType.TOPIC, "retention.ms")
LOG_RETENTION = known_key(ResourceType.BROKER, "log.retention.ms")
OWN = Entry("retention.ms", "5", Source.TOPIC, synonyms=(Synonym("retention.ms", "5", Source.TOPIC),))


class Brokers:
    """The brokers of a cluster, each with values by level; `orders` sets retention.ms=5."""

    def __init__(self, *brokers: Mapping[Source, Mapping[str, str]], refused: bool = False) -> None:
        self._brokers, self._refused = brokers, refused
        self.asked = 0

    def describe_cluster(self) -> Any:
        return SimpleNamespace(nodes=range(1, len(self._brokers) + 1))

    def describe_configs(
        self, resources: Iterable[Resource], *, keys: Mapping[Resource, Sequence[str]], synonyms: bool
    ) -> DescribedConfigs:
        self.asked += 1
        return DescribedConfigs({each: self._view(each, keys[each]) for each in resources})

    def _view(self, resource: Resource, names: Sequence[str]) -> View | ApiError:
        if resource.type is ResourceType.TOPIC:
            return View((OWN,))
        if self._refused:
            return ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        if not resource.name:
            return View(())
        levels = {**self._brokers[int(resource.name) - 1], Source.DEFAULT: {"log.retention.hours": "168"}}
        entries = []
        for name in names:
            told = tuple(Synonym(name, levels[each][name], each) for each in levels if name in levels[each])
            value, source = (told[0].value, told[0].source) if told else (None, Source.DEFAULT)
            entries.append(Entry(name, value, source, synonyms=told))
        return View(tuple(entries))

    @property
    def admin(self) -> SyncAdminClient:
        return cast(SyncAdminClient, self)


MINUTES: Mapping[Source, Mapping[str, str]] = {Source.STATIC: {"log.retention.minutes": "90"}}


@pytest.mark.parametrize(
    ("brokers", "value"),
    [
        (Brokers({}), 168 * HOUR),
        (Brokers(MINUTES), 90 * 60_000),
        (
            Brokers({Source.STATIC: {"log.retention.hours": "24"}}, {Source.STATIC: {"log.retention.hours": "24"}}),
            24 * HOUR,
        ),
        (Brokers({Source.STATIC: {"log.retention.hours": "-1"}}), -1),
        (Brokers({Source.DEFAULT_BROKER: {"log.retention.ms": "7"}}), 7),
        (Brokers({}, MINUTES), None),
        (Brokers({}, refused=True), None),
    ],
)
def test_a_topic_inherits_what_all_brokers_have(brokers: Brokers, value: int | None) -> None:
    found = Inheritance(brokers.admin).below(ORDERS, OWN, RETENTION)

    assert found == (None if value is None else str(value))


def test_an_inherited_value_among_the_synonyms_needs_no_request() -> None:
    brokers = Brokers({})
    told = (*OWN.synonyms, Synonym("log.retention.hours", "2", Source.STATIC))
    entry = Entry("retention.ms", "5", Source.TOPIC, synonyms=told)

    assert Inheritance(brokers.admin).below(ORDERS, entry, RETENTION) == str(2 * HOUR)
    assert brokers.asked == 0


def test_the_cluster_default_overrides_the_file_and_a_broker_overrides_it() -> None:
    levels = {Source.BROKER: {"log.retention.ms": "1"}, Source.DEFAULT_BROKER: {"log.retention.ms": "2"}, **MINUTES}
    inheritance = Inheritance(Brokers(levels).admin)

    assert inheritance.below(Resource.brokers(), None, LOG_RETENTION) == str(90 * 60_000)
    assert inheritance.below(Resource.broker(1), None, LOG_RETENTION) == "2"


def test_unsetting_retention_is_data_loss_only_if_the_inherited_one_is_shorter() -> None:
    undo = Difference(ChangeKind.CONFIG, ORDERS, "delete", "retention.ms", "5", None, "5", None, Source.TOPIC)
    (longer,) = with_inherited(Brokers({}).admin, [undo])
    (shorter,) = with_inherited(Brokers({Source.DEFAULT_BROKER: {"log.retention.ms": "4"}}).admin, [undo])
    (unknown,) = with_inherited(Brokers({}, refused=True).admin, [undo])

    def loss(each: Difference) -> str:
        return flag_data_loss(PlannedChange(*each[1:2], each.key, each.before, None, "delete", each.old, each.new)).loss

    assert (longer.new, loss(longer)) == (str(168 * HOUR), "")
    assert (shorter.new, loss(shorter)) == ("4", "retention is reduced")
    assert (unknown.new, loss(unknown)) == (None, "retention is reduced")


@pytest.mark.parametrize(
    ("levels", "key", "value", "comes_from"),
    [
        ({}, "log.retention.hours", "168", "log.retention.hours"),
        ({}, "log.retention.minutes", "10080", "log.retention.hours"),
        ({}, "log.retention.ms", str(168 * HOUR), "log.retention.hours"),
        ({Source.STATIC: {"log.retention.ms": str(2 * HOUR)}}, "log.retention.hours", "2", "log.retention.ms"),
        (MINUTES, "log.retention.hours", None, "log.retention.minutes"),
    ],
)
def test_a_value_is_in_the_unit_of_the_requested_key(
    levels: Mapping[Source, Mapping[str, str]], key: str, value: str | None, comes_from: str
) -> None:
    inheritance = Inheritance(Brokers(levels).admin)

    found = inheritance.below_with_key(Resource.brokers(), None, known_key(ResourceType.BROKER, key))

    assert found == (EffectiveValue(value, comes_from) if value is not None else EffectiveValue(None))


def test_a_plan_names_the_key_from_which_an_old_value_comes() -> None:
    hours = Difference(ChangeKind.CONFIG, Resource.brokers(), "set", "log.retention.hours", None, "100", None, "100")
    (same,) = with_inherited(Brokers({}).admin, [hours])
    (other,) = with_inherited(Brokers({}).admin, [hours._replace(key="log.retention.ms", after="5", new="5")])
    (change,) = changes_of([other])

    assert (same.old, same.old_key) == ("168", "")
    assert (other.old, change.shown) == (str(168 * HOUR), {"old_key": "log.retention.hours"})
