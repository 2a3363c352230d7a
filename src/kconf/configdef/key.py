"""The definition of a setting.

A table of these says everything that may be set at one kind of resource; nothing else in kconf names a key's type,
default or bounds.
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
    """How a broker key may be changed while the broker runs."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"  # per broker too


class BrokerFallback(NamedTuple):
    """A broker key that supplies the value where nothing closer does; `factor` converts it into the key's unit."""

    name: str
    factor: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigKey:
    """The definition of a setting. `default` is the text that a describe prints; None: no value."""

    name: str
    type: ValueType
    default: str | None = None
    validator: Validator | None = None
    importance: str = "medium"
    mode: UpdateMode | None = None  # broker keys only
    fallbacks: tuple[
        BrokerFallback, ...
    ] = ()  # of topics and groups: broker keys in order; of brokers: the alias group
    internal: bool = False  # described only where it is set
    required: bool = False  # has no default and must be set
    dynamic_only: bool = False  # broker keys that no file holds: described only where set, and not as a default
    legacy: bool = False  # removed before the base release; configdef/releases/ says when
    secret: bool = False  # sensitive although its type is not PASSWORD
    range_keys: tuple[str | None, str | None] = (None, None)  # the broker keys whose values bound this one's
    about: str = ""

    @property
    def sensitive(self) -> bool:
        return self.secret or self.type is ValueType.PASSWORD


ConfigDef = Mapping[str, ConfigKey]
"""The keys of one kind of resource, by name, as Kafka's ConfigDef."""
