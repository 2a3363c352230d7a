"""Converts options to entity types and names: the i-th name belongs to the i-th type; the default has an empty name."""

from __future__ import annotations

from typing import Final, NamedTuple

from kconf.cli.compat.kafka_configs.arguments import Arguments

TOPICS, CLIENTS, USERS, BROKERS = "topics", "clients", "users", "brokers"
LOGGERS, IPS, METRICS, GROUPS = "broker-loggers", "ips", "client-metrics", "groups"

TYPES: Final = (TOPICS, CLIENTS, USERS, BROKERS, IPS, METRICS, GROUPS, LOGGERS)
"""All entity types, in the order in which Kafka's tool lists them."""

WITH_DEFAULT: Final = (USERS, CLIENTS, BROKERS, IPS)

NAMED: Final = {
    "topic": TOPICS,
    "client": CLIENTS,
    "user": USERS,
    "broker": BROKERS,
    "broker-logger": LOGGERS,
    "ip": IPS,
    "client-metrics": METRICS,
    "group": GROUPS,
}
DEFAULTS: Final = {
    "client-defaults": CLIENTS,
    "user-defaults": USERS,
    "broker-defaults": BROKERS,
    "ip-defaults": IPS,
}
"""KIP-543's short options. Entities are in this order, not in that of the command line."""


class Entities(NamedTuple):
    types: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def head(self) -> str:
        """The type named in the output."""
        return self.types[0]

    @property
    def name(self) -> str | None:
        """The name of the first entity: "" for the default, None if there is none."""
        return self.names[0] if self.names else None


def singular(kind: str) -> str:
    """As in Kafka's tool: the type without its last letter, even if that gives `client-metric`."""
    return kind[:-1]


def entities(arguments: Arguments) -> Entities:
    types = arguments.all("entity-type")
    names = [value for option, value in arguments.given if option in ("entity-name", "entity-default")]
    for option, kind in NAMED.items():
        value = arguments.one(option)
        if value is not None:
            types.append(kind)
            names.append(value)
    for option, kind in DEFAULTS.items():
        if arguments.has(option):
            types.append(kind)
            names.append("")
    return Entities(tuple(types), tuple(names))


def has_short(arguments: Arguments) -> bool:
    return any(arguments.has(option) for option in (*NAMED, *DEFAULTS))


def has_long(arguments: Arguments) -> bool:
    return any(arguments.has(option) for option in ("entity-type", "entity-name", "entity-default"))


def paired_with_a_later_type(arguments: Arguments) -> str | None:
    """The error for two types with a name before its type, because Kafka's tool would assign it to the later type."""
    order = [option for option, _ in arguments.given if option.startswith("entity-")]
    types = [place for place, option in enumerate(order) if option == "entity-type"]
    names = [place for place, option in enumerate(order) if option != "entity-type"]
    if len(types) < 2 or not names:
        return None
    given = entities(arguments)
    for number, (of_type, of_name) in enumerate(zip(types, names, strict=False)):
        if of_type > of_name:
            return f"the name {given.names[number]!r} is assigned to {given.types[number]}, a type given after the name"
    if len(names) < len(types):
        assigned = (
            f"the name {given.names[-1]!r} is assigned to {given.types[len(names) - 1]}, not to {given.types[-1]}"
        )
        return f"{assigned}: names are assigned to types in order"
    return None
