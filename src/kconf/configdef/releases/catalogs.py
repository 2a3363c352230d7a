"""The catalog of a release: the keys of the base release with the differences of that release applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

from kconf.configdef.catalog import Catalog, kafka_43
from kconf.configdef.key import BrokerFallback, ConfigDef, ConfigKey, UpdateMode
from kconf.configdef.releases.data import BASE, RELEASES, ReleaseData, release_data
from kconf.configdef.validators import Validator, list_of, validator_of
from kconf.model.entry import ValueType

_ONLY_SET_CLIENT_METRICS: Final = ("3.9", "4.0")
"""The releases that describe only the keys of a client-metrics subscription that are set, and not their type."""
KINDS: Final = ("topic", "broker", "group", "client_metrics")


@cache
def catalog_of(release: str) -> Catalog:
    """The keys of a release. If only its client jars are known, only the keys that are certain."""
    data = release_data(release)
    if data.release == BASE:
        return kafka_43()
    base, removed = kafka_43(), _removed()
    broker = _keys("broker", base.broker, removed, data)
    found = {kind: _keys(kind, getattr(base, kind), removed, data) for kind in KINDS if kind != "broker"}
    topic, group, client_metrics = (_bounded(found[kind], broker) for kind in ("topic", "group", "client_metrics"))
    return Catalog(topic, broker, group, client_metrics, data.release not in _ONLY_SET_CLIENT_METRICS)


@cache
def every_release() -> Catalog:
    """The keys of all releases, for uses without a specific cluster. Keys with an unknown type become STRING."""
    base, removed = kafka_43(), _removed()
    newer = [release_data(each).added for each in RELEASES[RELEASES.index(BASE) + 1 :]]
    found = {
        kind: {
            **{
                name: _typed(added_key(name, fields)) for added in newer for name, fields in added.get(kind, {}).items()
            },
            **removed.get(kind, {}),
            **getattr(base, kind),
        }
        for kind in KINDS
    }
    return Catalog(found["topic"], found["broker"], found["group"], found["client_metrics"])


def _typed(key: ConfigKey) -> ConfigKey:
    return replace(key, type=ValueType.STRING) if key.type is ValueType.UNKNOWN else key


def _removed() -> dict[str, ConfigDef]:
    from kconf.configdef.broker import BROKER_REMOVED
    from kconf.configdef.topic import TOPIC_REMOVED

    return {"broker": BROKER_REMOVED, "topic": TOPIC_REMOVED}


def _keys(kind: str, base: ConfigDef, removed: Mapping[str, ConfigDef], data: ReleaseData) -> ConfigDef:
    absent, changed = set(data.absent.get(kind, ())), data.changed.get(kind, {})
    kept = [key for name, key in base.items() if name not in absent]
    kept += [removed[kind][name] for name in data.removed.get(kind, ())]
    found = {key.name: _changed(key, changed.get(key.name, {})) for key in kept}
    if not data.distinct_lists:
        found = {name: _with_repeats(key) for name, key in found.items()}
    found.update({name: added_key(name, fields) for name, fields in data.added.get(kind, {}).items()})
    return dict(sorted(found.items()))


def _changed(key: ConfigKey, fields: Mapping[str, Any]) -> ConfigKey:
    return (
        key
        if not fields
        else replace(key, **{_NAMES.get(name, name): _field(name, value) for name, value in fields.items()})
    )


_NAMES: Final = {"valid": "validator"}


def _field(name: str, value: Any) -> Any:
    match name:
        case "type":
            return ValueType[value]
        case "valid":
            return validator_of(value)
        case "mode":
            return UpdateMode(value)
        case "fallbacks":
            return tuple(map(BrokerFallback, value))
        case _:
            return value


def added_key(name: str, fields: Mapping[str, Any]) -> ConfigKey:
    """A key that is newer than the base release. If its client jars do not define the type, it is UNKNOWN."""
    known = {_NAMES.get(each, each): _field(each, value) for each, value in fields.items()}
    return ConfigKey(name=name, **{"type": ValueType.UNKNOWN, **known})


def _with_repeats(key: ConfigKey) -> ConfigKey:
    """The key as before 4.2, when lists kept repeated items and could be empty (KIP-1161)."""
    validator = key.validator
    if validator is None or not validator.distinct:
        return key
    return replace(key, validator=_repeatable(validator))


@cache
def _repeatable(validator: Validator) -> Validator:
    return replace(list_of(*validator.choices) if validator.choices else validator, distinct=False)


def _bounded(keys: ConfigDef, broker: ConfigDef) -> ConfigDef:
    """The keys, with fallbacks and limits reduced to broker keys that the release has."""
    return {name: _with_brokers(key, broker) for name, key in keys.items()}


def _with_brokers(key: ConfigKey, broker: ConfigDef) -> ConfigKey:
    fallbacks = tuple(each for each in key.fallbacks if each.name in broker)
    low, high = (each if each is not None and each in broker else None for each in key.range_keys)
    if fallbacks == key.fallbacks and (low, high) == key.range_keys:
        return key
    return replace(key, fallbacks=fallbacks, range_keys=(low, high))
