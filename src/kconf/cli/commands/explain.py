"""`kconf explain`: the definition of a key, from the catalog, and the names of risks. No cluster is contacted."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.common.command import command
from kconf.cli.common.target import add_output
from kconf.cli.output.result import CommandResult, ResultColumn
from kconf.configdef.lookup import keys_for, known_key
from kconf.configdef.server_settings import SERVER_SETTINGS
from kconf.configdef.units import shown_value, unit_of
from kconf.errors import ConfigurationError
from kconf.model.resource import ResourceType

if TYPE_CHECKING:
    from kconf.cli.output.result import Item
    from kconf.configdef.key import ConfigKey

EXAMPLES: Final = """\
examples:
  kconf explain retention.ms
  kconf explain topic:retention.ms
  kconf explain min.insync.replicas --output json
  kconf explain listener.name.sasl.ssl.keystore.location
  kconf explain --server
  kconf explain --risks
"""
_KINDS: Final = {
    "topic": ResourceType.TOPIC,
    "broker": ResourceType.BROKER,
    "group": ResourceType.GROUP,
    "client-metrics": ResourceType.CLIENT_METRICS,
    "quota": ResourceType.QUOTA,
}
_SERVER: Final = "server"
_MOST_NEAR: Final = 5


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "explain",
        help="show a key's type, default, range and synonyms",
        description="Show the documentation of a key: type, default, range, synonyms. Does not contact a cluster.",
        epilog=EXAMPLES,
    )
    parser.add_argument("keys", metavar="KEY", nargs="*", help="a key, or TYPE:KEY for one type of resource only")
    parser.add_argument(
        "--server", action="store_true", help="list the settings of kconf serve that Kafka does not have"
    )
    parser.add_argument("--risks", action="store_true", help="list the risk names used by --allow-risk and policies")
    add_output(parser)
    parser.set_defaults(run=command("explain", explain), rest="keys")


def explain(options: argparse.Namespace, result: CommandResult) -> None:
    if sum((options.server, options.risks, bool(options.keys))) != 1:
        raise ConfigurationError("pass a key, --server or --risks")
    if options.risks:
        _explain_risks(result)
        return
    result.columns, result.vertical = list(_COLUMNS), True
    for name in SERVER_SETTINGS if options.server else ():
        result.add(**_fields(name, _SERVER, SERVER_SETTINGS[name].key))
    for word in options.keys:
        for kind, key in _found(word).items():
            result.add(**_fields(word.rpartition(":")[2], kind, key))


def _explain_risks(result: CommandResult) -> None:
    from kconf.engine.risks import RISKS

    result.columns = [ResultColumn("risk"), ResultColumn("text", "WHAT IT MEANS")]
    for name, about in RISKS.items():
        result.add(risk=name.value, text=about)


def _found(word: str) -> dict[str, ConfigKey]:
    kind, colon, name = word.rpartition(":")
    if colon and kind not in (*_KINDS, _SERVER):
        raise ConfigurationError(f"{kind!r} is not a resource type; use one of {', '.join(_KINDS)}, {_SERVER}")
    kinds = [kind] if colon else [*_KINDS, _SERVER]
    found = {each: known_key(_KINDS[each], name) for each in kinds if each != _SERVER}
    if _SERVER in kinds and name in SERVER_SETTINGS:
        found[_SERVER] = SERVER_SETTINGS[name].key
    known = {each: key for each, key in found.items() if key is not None}
    if not known:
        raise ConfigurationError(f"unknown key {name}{_near(name, kinds)}")
    return known


def _near(name: str, kinds: list[str]) -> str:
    from difflib import get_close_matches

    names = {each for kind in kinds for each in (keys_for(_KINDS[kind]) if kind in _KINDS else SERVER_SETTINGS)}
    near = get_close_matches(name, names, _MOST_NEAR) or sorted(each for each in names if name in each)[:_MOST_NEAR]
    return f"; similar keys: {', '.join(near)}" if near else ""


def _fields(name: str, kind: str, key: ConfigKey) -> dict[str, Any]:
    unit = unit_of(key.name)
    low, high = key.range_keys
    return {
        "key": name,
        "resource_type": kind,
        "type": key.type.name.lower(),
        "default": None if key.sensitive else key.default,
        "range": None if key.validator is None else str(key.validator),
        "values": list(key.validator.choices) if key.validator is not None else [],
        "at_least": low,
        "at_most": high,
        "unit": None if unit is None else unit[0],
        "update": str(key.mode) if key.mode is not None else "dynamic",
        "synonyms": [each.name for each in key.fallbacks],
        "importance": key.importance,
        "sensitive": key.sensitive,
        "until": "3.9" if key.legacy else None,
        "text": key.about,
        **({"set_by": SERVER_SETTINGS[key.name].set_by} if kind == _SERVER else {}),
    }


def _default(item: Item) -> str:
    value = item["default"]
    if value is None:
        return "(none)"
    shown = shown_value(item["key"], value)
    return shown if shown == value else f"{shown} ({value})"


def _yes(item: Item) -> str:
    return "yes" if item["sensitive"] else ""


_COLUMNS: Final = (
    ResultColumn("key"),
    ResultColumn("resource_type", "RESOURCE TYPE"),
    ResultColumn("text", "DESCRIPTION"),
    ResultColumn("type"),
    ResultColumn("unit"),
    ResultColumn("default", show=_default),
    ResultColumn("range", "VALID VALUES"),
    ResultColumn("at_least"),
    ResultColumn("at_most"),
    ResultColumn("update"),
    ResultColumn("set_by"),
    ResultColumn("synonyms", "INHERITS FROM"),
    ResultColumn("importance"),
    ResultColumn("sensitive", show=_yes),
    ResultColumn("until", "UP TO KAFKA"),
)
