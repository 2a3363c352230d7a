"""Rules that the overrides of a topic, a group or a client-metrics subscription must satisfy together.

Every value is checked on its own first (configdef/), then in combination with others, using broker levels for keys
without an override.
"""

from __future__ import annotations

from kconf.configdef.dynamic import GROUP_BOUNDS, SESSION_OVER_HEARTBEAT
from kconf.configdef.java.parsing import InvalidValue, Value, parse
from kconf.configdef.key import ConfigDef, ConfigKey
from kconf.configdef.validate import invalid_value_message, validate
from kconf.configdef.validators import ANY_LIST, collapse
from kconf.engine.configs.resolver import ConfigResolver
from kconf.errors import InvalidConfig, InvalidRequest
from kconf.model.entry import ValueType
from kconf.model.resource import Overrides
from kconf.util.slices import in_slices


def check_topic(resulting: Overrides, stored: Overrides, resolver: ConfigResolver) -> None:
    """Check all overrides that a topic would have; `stored` are those that it has now."""
    keys = resolver.catalog.topic
    for name in in_slices(resulting):
        if name not in keys:
            raise InvalidConfig(f"unknown topic key {name}")
    for name, text in resulting.items():
        if _valid.get((name, text)) is not keys[name]:
            _validate(keys[name], text)
    if not _TOGETHER.isdisjoint(resulting) or _TIERED in stored:
        _check_topic_together(_Effective(resulting, resolver), stored, resolver)


_valid: dict[tuple[str, str], ConfigKey] = {}  # short values of topic keys, but no secrets


def _validate(key: ConfigKey, text: str) -> None:
    """Most topics have the values of other topics, and every alteration checks all of them."""
    validate(key, text)
    if len(text) <= _MAX_LENGTH and not key.sensitive:
        if len(_valid) >= _MAX_VALUES:
            _valid.clear()
        _valid[key.name, text] = key


_MAX_VALUES, _MAX_LENGTH = 4096, 64  # values, characters
_TIERED = "remote.storage.enable"
_TOGETHER = frozenset({"min.compaction.lag.ms", "max.compaction.lag.ms", _TIERED})


class _Effective:
    """A topic's effective values with these overrides."""

    def __init__(self, overrides: Overrides, resolver: ConfigResolver) -> None:
        self._overrides, self._resolver = overrides, resolver

    def text(self, name: str) -> str:
        override = self._overrides.get(name)
        if override is not None:
            return override
        return self._resolver.inherited[name].value or ""

    def number(self, name: str) -> int:
        value = parse(self._resolver.catalog.topic[name].type, self.text(name))
        assert isinstance(value, int)
        return value

    def flag(self, name: str) -> bool:
        return self.text(name).strip().lower() == "true"


def _check_topic_together(now: _Effective, stored: Overrides, resolver: ConfigResolver) -> None:
    if now.number("min.compaction.lag.ms") > now.number("max.compaction.lag.ms"):
        raise InvalidConfig("min.compaction.lag.ms must not be above max.compaction.lag.ms")
    if now.flag(_TIERED):
        _check_tiered(now, resolver)
    elif _Effective(stored, resolver).flag(_TIERED) and not now.flag("remote.log.delete.on.disable"):
        raise InvalidConfig("disabling tiered storage deletes remote data; also set remote.log.delete.on.disable=true")


def _check_tiered(now: _Effective, resolver: ConfigResolver) -> None:
    if not resolver.flag("remote.log.storage.system.enable"):
        raise InvalidConfig(f"{_TIERED} requires remote.log.storage.system.enable=true on the brokers")
    if "compact" in [item.strip() for item in now.text("cleanup.policy").split(",")]:
        raise InvalidConfig(f"{_TIERED} cannot be combined with cleanup.policy=compact")
    for unit in ("bytes", "ms"):
        total, local = now.number(f"retention.{unit}"), now.number(f"local.retention.{unit}")
        if total != -1 and local != -2 and (total > -1 or unit == "ms") and (local == -1 or local > total):
            raise InvalidConfig(f"local.retention.{unit} must be -2 or not above retention.{unit} ({total})")
        if now.flag("remote.log.copy.disable") and local not in (-2, total):
            raise InvalidConfig(f"with remote.log.copy.disable, local.retention.{unit} must be -2 or {total}")


def check_group(resulting: Overrides, resolver: ConfigResolver) -> None:
    """Check a group's overrides: known keys, values within the brokers' bounds, sessions longer than heartbeats."""
    keys = resolver.catalog.group
    for name in in_slices(resulting):
        if name not in keys:
            raise InvalidConfig(f"unknown group key {name}")
    numbers: dict[str, int] = {}
    for name, text in resulting.items():
        value = validate(keys[name], text)
        if type(value) is int:
            numbers[name] = value
    for name, value in numbers.items():
        lowest, highest = GROUP_BOUNDS.get(name, (None, None))
        if lowest is not None and value < resolver.number(lowest):
            raise InvalidConfig(f"{name} must not be below {lowest} ({resolver.number(lowest)}): {value}")
        if highest is not None and value > resolver.number(highest):
            raise InvalidConfig(f"{name} must not be above {highest} ({resolver.number(highest)}): {value}")
    for session, heartbeat in SESSION_OVER_HEARTBEAT:
        if session not in keys:  # a release without such groups
            continue
        values = [
            numbers[name] if name in numbers else resolver.number(keys[name].fallbacks[0].name)
            for name in (session, heartbeat)
        ]
        if values[0] <= values[1]:
            raise InvalidConfig(f"{session} ({values[0]}) must be above {heartbeat} ({values[1]})")


def check_client_metrics(resulting: Overrides, keys: ConfigDef) -> None:
    """A subscription's overrides. As in Kafka: 42 for an unknown key and a number out of range, 40 for other faults.

    The names are checked first, then the types, then the ranges, and the patterns last.
    """
    for name in in_slices(resulting):
        if name not in keys:
            raise InvalidRequest(f"unknown client-metrics key {name}")
    values = {name: _read(keys[name], text) for name, text in resulting.items()}
    for name in sorted(values):  # interval.ms before match; metrics has nothing left to check
        key, validator = keys[name], keys[name].validator
        try:
            if validator is not None:
                validator(values[name])
        except InvalidValue as error:
            wrong = InvalidRequest if key.type is ValueType.INT else InvalidConfig
            raise wrong(invalid_value_message(key, resulting[name], str(error))) from None


def _read(key: ConfigKey, text: str) -> Value:
    """The parsed value of a string, by type only; lists of a subscription must not contain empty items."""
    try:
        value = parse(key.type, text)
        if isinstance(value, tuple):
            value = collapse(value)
            ANY_LIST(value)
    except InvalidValue as error:
        raise InvalidConfig(invalid_value_message(key, text, str(error))) from None
    return value
