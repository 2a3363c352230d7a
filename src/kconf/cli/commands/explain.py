"""`kconf explain`: show the definition of a key from the catalog, or the names of risks, without a cluster."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.common.command import command
from kconf.cli.common.target import add_output
from kconf.cli.output.result import CommandResult, ResultColumn
from kconf.configdef.lookup import keys_for, known_key
from kconf.configdef.server_settings import SERVER_SETTINGS
from kconf.configdef.units import shown_value, unit_of
from kconf.errors import ConfigurationError
from kconf.model.entry import ValueType
from kconf.model.resource import ResourceType

if TYPE_CHECKING:
    from kconf.cli.output.result import Item
    from kconf.configdef.key import ConfigKey

EXAMPLES: Final = """\
examples:
  kconf explain retention.ms
  kconf explain topic:retention.ms
  kconf explain min.insync.replicas --output json
  kconf explain segment.bytes --release 4.0
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
_RELEASED: Final = frozenset(
    ["topic", "broker", "group", "client-metrics"]
)  # resource types for which Kafka defines keys
_WORDS: Final = {"range": "must be"}
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
        "--release",
        metavar="X.Y",
        help="use the definition of this Kafka release instead of the newest one that kconf knows completely",
    )
    parser.add_argument(
        "--server", action="store_true", help="list the settings of kconf serve that Kafka does not have"
    )
    parser.add_argument("--risks", action="store_true", help="list the risk names used by --allow-risk and policies")
    add_output(parser)
    parser.set_defaults(run=command("explain", explain), rest="keys")


def explain(options: argparse.Namespace, result: CommandResult) -> None:
    if sum((options.server, options.risks, bool(options.keys))) != 1:
        raise ConfigurationError("pass a key, --server or --risks")
    if options.release is not None and not options.keys:
        raise ConfigurationError("--release requires a key")
    if options.risks:
        _explain_risks(result)
        return
    result.columns, result.vertical = list(_COLUMNS), True
    for name in SERVER_SETTINGS if options.server else ():
        result.add(**_fields(name, _SERVER, SERVER_SETTINGS[name].key))
    for word in options.keys:
        for kind, key in _found(word, options.release).items():
            result.add(**_fields(word.rpartition(":")[2], kind, key))
            result.notes += _notes(kind, key, options.release)


def _explain_risks(result: CommandResult) -> None:
    from kconf.engine.risks import RISKS

    result.columns = [ResultColumn("risk"), ResultColumn("text", "WHAT IT MEANS")]
    for name, about in RISKS.items():
        result.add(risk=name.value, text=about)


def _found(word: str, release: str | None) -> dict[str, ConfigKey]:
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
    return known if release is None else _in_release(known, name, release)


def _in_release(known: Mapping[str, ConfigKey], name: str, release: str) -> dict[str, ConfigKey]:
    """The definitions of one release, each under the requested name."""
    from kconf.configdef.releases.data import release_data
    from kconf.configdef.releases.history import key_in

    exact = release_data(release).release
    found = {kind: key_in(_KINDS[kind], key.name, exact) for kind, key in known.items() if kind in _RELEASED}
    left = {kind: key for kind, key in found.items() if key is not None}
    if not left:
        spans = [_releases(_history(kind, key)) for kind, key in known.items() if kind in _RELEASED]
        raise ConfigurationError(
            f"{name} is not a key of Kafka {exact}" + (f"; it exists in releases {spans[0]}" if spans else "")
        )
    return left


def _notes(kind: str, key: ConfigKey, release: str | None) -> list[str]:
    from kconf.configdef.releases.data import BASE, RELEASES, release_data
    from kconf.configdef.releases.history import newer_keys

    if kind not in _RELEASED:
        return []
    if key.name in newer_keys(_KINDS[kind]):
        missing = "what the key is" if key.type is ValueType.UNKNOWN else "how it is updated"
        return [
            f"{key.name}: kconf knows Kafka {RELEASES[-1]} from its client jars only, which do not contain {missing}"
        ]
    if release is None or release_data(release).is_complete:
        return []
    return [f"{key.name}: kconf knows Kafka {release} from its client jars only; this is the definition of {BASE}"]


def _near(name: str, kinds: list[str]) -> str:
    from difflib import get_close_matches

    names = {each for kind in kinds for each in (keys_for(_KINDS[kind]) if kind in _KINDS else SERVER_SETTINGS)}
    near = get_close_matches(name, names, _MOST_NEAR) or sorted(each for each in names if name in each)[:_MOST_NEAR]
    if near:
        return f"; similar keys: {', '.join(near)}"
    return f"; {'`kconf explain --server`' if kinds == [_SERVER] else 'docs/reference/keys.md'} lists the keys"


def _update(kind: str, key: ConfigKey) -> str | None:
    """How the key is updated; None if unknown, for a broker key of a release that kconf does not know completely."""
    if key.mode is not None:
        return str(key.mode)
    return None if kind == "broker" else "dynamic"


def _history(kind: str, key: ConfigKey) -> dict[str, Any]:
    from kconf.configdef.releases.history import history_of

    found = history_of(_KINDS[kind], key.name) if kind in _RELEASED else None
    if found is None:
        return {"since": None, "until": None, "changes": []}
    changes = [each._asdict() for each in found.changes]
    if key.sensitive:
        changes = [each for each in changes if each["what"] != "default"]
    return {"since": found.since, "until": found.until, "changes": changes}


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
        "update": _update(kind, key),
        "synonyms": [each.name for each in key.fallbacks],
        "importance": None if key.type is ValueType.UNKNOWN else key.importance,
        "sensitive": key.sensitive,
        **_history(kind, key),
        "text": key.about,
        **({"set_by": SERVER_SETTINGS[key.name].set_by} if kind == _SERVER else {}),
    }


def _releases(item: Mapping[str, Any]) -> str:
    """`since 4.1`, `up to 3.9`, `from 4.1 to 4.2`, or empty if all known releases have the key."""
    since, until = item["since"], item["until"]
    if since and until:
        return f"from {since} to {until}"
    return f"since {since}" if since else f"up to {until}" if until else ""


def _changes(item: Item) -> str:
    return "; ".join(_change(item["key"], each) for each in item["changes"])


def _change(name: str, each: Mapping[str, Any]) -> str:
    def shown(value: str | None) -> str:
        if value is None:
            return "(none)"
        return shown_value(name, value) if each["what"] == "default" else value

    what = _WORDS.get(each["what"], each["what"])
    return f"{each['release']}: {what} {shown(each['before'])} → {shown(each['after'])}"


def _default(item: Item) -> str:
    value = item["default"]
    if item["type"] == "unknown":
        return "(unknown)"
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
    ResultColumn("since", "KAFKA", show=_releases),
    ResultColumn("changes", "CHANGED IN", show=_changes),
)
