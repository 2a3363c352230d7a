"""Helpers for the tables of keys, so that each key is one line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kconf.configdef.key import BrokerFallback, ConfigDef, ConfigKey, UpdateMode
from kconf.configdef.validators import Validator
from kconf.model.entry import ValueType

BOOLEAN: Final = ValueType.BOOLEAN
CLASS: Final = ValueType.CLASS
DOUBLE: Final = ValueType.DOUBLE
INT: Final = ValueType.INT
LIST: Final = ValueType.LIST
LONG: Final = ValueType.LONG
PASSWORD: Final = ValueType.PASSWORD
SHORT: Final = ValueType.SHORT
STRING: Final = ValueType.STRING

HIGH: Final = "high"
MEDIUM: Final = "medium"
LOW: Final = "low"

READ_ONLY: Final = UpdateMode.READ_ONLY
PER_BROKER: Final = UpdateMode.PER_BROKER
CLUSTER_WIDE: Final = UpdateMode.CLUSTER_WIDE

LONG_MAX: Final = "9223372036854775807"  # Java's Long.MAX_VALUE, the default of keys without a limit
MOST: Final = "2147483647"  # Java's Integer.MAX_VALUE
MINUTES: Final = 60_000
HOURS: Final = 3_600_000


def broker(
    name: str,
    type: ValueType,  # noqa: A002
    default: str | None,
    validator: Validator | None,
    importance: str,
    mode: UpdateMode,
    about: str,
    *,
    fallbacks: tuple[BrokerFallback, ...] = (),
    internal: bool = False,
    required: bool = False,
    dynamic_only: bool = False,
    legacy: bool = False,
    range_keys: tuple[str | None, str | None] = (None, None),
) -> ConfigKey:
    """A broker key."""
    return ConfigKey(
        name=name,
        type=type,
        default=default,
        validator=validator,
        importance=importance,
        mode=mode,
        fallbacks=fallbacks,
        internal=internal,
        required=required,
        dynamic_only=dynamic_only,
        legacy=legacy,
        range_keys=range_keys,
        about=about,
    )


def config_def(*tables: Iterable[ConfigKey]) -> ConfigDef:
    """Keys by name, sorted."""
    keys = sorted((key for table in tables for key in table), key=lambda key: key.name)
    return {key.name: key for key in keys}
