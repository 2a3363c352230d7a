"""The definition of a config key.

The tables of these definitions are the only place that defines types, defaults and bounds of keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from kconf.model.entry import ValueType

if TYPE_CHECKING:
    from kconf.configdef.validators import Validator


class UpdateMode(StrEnum):
    """How a broker key can be changed while the broker runs."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"  # also per broker


class BrokerFallback(NamedTuple):
    """A broker key that supplies the value if it is not set. `factor` converts it to the key's unit."""

    name: str
    factor: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigKey:
    """The definition of a config key. `default` is the text in a describe, or None for no value."""

    name: str
    type: ValueType
    default: str | None = None
    validator: Validator | None = None
    importance: str = "medium"
    mode: UpdateMode | None = None  # broker keys only
    fallbacks: tuple[BrokerFallback, ...] = ()  # topics and groups: broker keys in order; brokers: synonyms
    internal: bool = False  # described only if it is set
    required: bool = False  # has no default and must be set
    dynamic_only: bool = False  # broker keys that are never in a file: described only if set, and not as a default
    legacy: bool = False  # removed before the base release: see configdef/releases/
    secret: bool = False  # sensitive although its type is not PASSWORD
    range_keys: tuple[str | None, str | None] = (None, None)  # broker keys whose values limit this one
    about: str = ""

    @property
    def sensitive(self) -> bool:
        return self.secret or self.type is ValueType.PASSWORD


ConfigDef = Mapping[str, ConfigKey]
"""The keys of one resource type, by name, like Kafka's ConfigDef."""
