"""Generates the catalogs of keys per Kafka release, `src/kconf/configdef/releases/X.Y.json`, from the releases.

For each release in `CATALOG_VERSIONS`, `python -m lab.catalog` runs `ConfigDump` with its jars (type, default,
validator, importance and update mode of every key), starts its broker once, compares its DescribeConfigs response with
the dump, and reads its features and API versions. `CLIENT_VERSION` has no broker jars: its file has only the data of
the client jars, and is marked as incomplete. A release's file has only the differences from the base release, whose
keys are the tables in `kconf.configdef`. `--check` writes nothing and fails if a file would change.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from kconf import AlterConfigOp, NewTopic, OpType, Resource, SyncAdminClient
from kconf.model.entry import Source
from kconf.model.resource import ResourceType
from lab.broker import KafkaBroker
from lab.jars import CATALOG_VERSIONS, CLIENT_VERSION, java_command
from lab.java import QUICK, LabError, compiled

BASE: Final = "4.3.1"
TARGET: Final = Path(__file__).parent.parent / "src" / "kconf" / "configdef" / "releases"
KINDS: Final = ("topic", "broker", "group", "client_metrics")
_FIELDS: Final = ("type", "default", "valid", "importance", "internal", "mode", "required")
_AT_LEAST: Final = re.compile(r"\[(-?[0-9.]+),\.\.\.\]")
_BETWEEN: Final = re.compile(r"\[(-?[0-9.]+),\.\.\.,(-?[0-9.]+)\]")
_CHOICES: Final = re.compile(r"\[([^\[\],]+(?:, [^\[\],]+)*)\]")
_WORDED: Final = "The default value of -1 means that this will be set to the configured value"

Dump = dict[str, Any]
Keys = dict[str, dict[str, Any]]


def dump(version: str) -> Dump:
    """The definitions in the classes of a release."""
    from lab.jars import classpath

    classes = compiled(version, classpath(version), only="ConfigDump")
    command = java_command(version, "ConfigDump", options=QUICK, classes=classes)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != 0:
        raise LabError(f"ConfigDump of {version} failed:\n{done.stderr}")
    return prepared(json.loads(done.stdout))


def prepared(found: Dump) -> Dump:
    """The dump with validators in the format of the data files, and the update mode of each broker key."""
    modes = found["modes"] or {}
    for kind in (*KINDS, "broker_parts"):
        for name, key in (found[kind] or {}).items():
            key["valid"] = validator(key["type"], key["valid"])
            key["required"] = not key.pop("has_default")
            key["importance"] = key["importance"].lower()
            if kind == "broker":
                key["mode"] = modes.get(name, "read-only")
    return found


def validator(kind: str, text: str | None) -> str | None:
    """Kafka's text of a validator in the format of `kconf.configdef.validators.validator_of`."""
    if not text:
        return None if text is None else "any list"
    if found := _AT_LEAST.fullmatch(text):
        return f"at least {found[1]}"
    if found := _BETWEEN.fullmatch(text):
        return f"from {found[1]} to {found[2]}"
    if found := _CHOICES.fullmatch(text):
        return f"{'list' if kind == 'LIST' else 'one'} of {found[1]}"
    return "at least 1, or -1" if text.startswith(_WORDED) else text


# -- differences -----------------------------------------------------------------------------------------------------


def difference(found: Dump, dumps: Mapping[str, Dump]) -> dict[str, Any]:
    """Missing and additional keys of a release, and definitions that differ from the newest release with the key."""
    newest = _newest(dumps)
    base = dumps[BASE]
    out: dict[str, Any] = {"absent": {}, "removed": {}, "changed": {}}
    for kind in KINDS:
        keys: Keys = found[kind] or {}
        absent = sorted(base[kind].keys() - keys.keys())
        removed = sorted(keys.keys() - base[kind].keys())
        changed = {name: _changes(kind, key, newest[kind][name]) for name, key in sorted(keys.items())}
        for part, value in (
            ("absent", absent),
            ("removed", removed),
            ("changed", {name: each for name, each in changed.items() if each}),
        ):
            if value:
                out[part][kind] = value
    return out


def _newest(dumps: Mapping[str, Dump]) -> dict[str, Keys]:
    return {kind: {name: key for each in dumps.values() for name, key in (each[kind] or {}).items()} for kind in KINDS}


def _changes(kind: str, key: Mapping[str, Any], newest: Mapping[str, Any]) -> dict[str, Any]:
    # Every release also checks subscriptions outside of their ConfigDef; the base release's validators include that.
    fields = [each for each in _FIELDS if not (kind == "client_metrics" and each == "valid")]
    return {each: key.get(each) for each in fields if key.get(each) != newest.get(each)}


def client_difference(found: Dump, base: Dump) -> dict[str, Any]:
    """The data of a release's client jars: new names, and definitions of the broker keys in these jars."""
    synonyms: dict[str, list[str]] = found["topic_synonyms"]
    # TopicConfig contains names that brokers no longer know: only names that the base release lacks are new.
    topics = sorted(set(found["topic_names"]) - set(base["topic_names"]) - base["topic"].keys())
    parts: Keys = found["broker_parts"]
    brokers = {each for name in topics for each in synonyms.get(name, ())} | parts.keys()
    added = {
        "topic": {name: {"fallbacks": synonyms.get(name, [])} for name in topics},
        "broker": {name: _definition(parts.get(name)) for name in sorted(brokers - base["broker"].keys())},
    }
    known = {name: key for name, key in parts.items() if name in base["broker"]}
    every = {
        name: _changes("broker", {**base["broker"][name], **key}, base["broker"][name]) for name, key in known.items()
    }
    changed = {name: each for name, each in every.items() if each}
    return {"added": added, "changed": {"broker": changed} if changed else {}}


def _definition(key: Mapping[str, Any] | None) -> dict[str, Any]:
    return {} if key is None else {each: key[each] for each in ("type", "default", "valid", "importance", "internal")}


# -- the running broker ----------------------------------------------------------------------------------------------


def facts(version: str, found: Dump) -> dict[str, Any]:
    """Start a release's broker, compare its responses with the dump, and return data that only a broker has."""
    with KafkaBroker(version) as broker, SyncAdminClient(broker.bootstrap) as admin:
        _accepted(admin.create_topics([NewTopic("catalog", 1, 1)]).failures)
        wrong = [*_compare(admin, broker, found)]
        if wrong:
            raise LabError(f"Kafka {version}: DescribeConfigs differs from the classes: {'; '.join(wrong)}")
        features = admin.describe_features()
        return {
            "metadata_version": features.supported["metadata.version"][1],
            "distinct_lists": _distinct(admin),
            "apis": {str(key): highest for key, (_, highest) in sorted(features.apis.items())},
        }


def _compare(admin: SyncAdminClient, broker: KafkaBroker, found: Dump) -> Iterator[str]:
    described = {
        "topic": Resource.topic("catalog"),
        "broker": Resource.broker(broker.node_id),
        "group": Resource(ResourceType.GROUP, "catalog"),
        "client_metrics": Resource(ResourceType.CLIENT_METRICS, "catalog"),
    }
    for kind, resource in described.items():
        keys: Keys = found[kind] or {}
        answer = admin.describe_configs([resource], synonyms=True)
        entries = {} if answer.failures else {each.name: each for each in answer[resource].entries}
        visible = {name for name, key in keys.items() if not key["internal"]}
        if kind == "client_metrics" and not entries:
            continue  # before 4.1 a subscription without overrides is described without its defaults
        if entries.keys() != visible:
            yield f"{kind} {sorted(entries.keys() ^ visible)}"
        for name in entries.keys() & visible:
            entry, key = entries[name], keys[name]
            default = next((each.value for each in entry.synonyms if each.source is Source.DEFAULT), None)
            if entry.source is Source.DEFAULT and not entry.sensitive and entry.value != key["default"]:
                yield f"{name}={entry.value}"
            if default is not None and default != key["default"] and kind == "broker":
                yield f"{name}: default {default}"
            if entry.type.name != key["type"]:
                yield f"{name}: type {entry.type.name}"
            if kind == "broker" and entry.read_only != (key["mode"] == "read-only"):
                yield f"{name}: read-only {entry.read_only}"


def _accepted(failures: Mapping[Any, object]) -> None:
    if failures:
        raise LabError(f"the broker refused: {failures}")


def _distinct(admin: SyncAdminClient) -> bool:
    """Whether repeated items of a list collapse (KIP-1161)."""
    resource = Resource.topic("catalog")
    repeated = AlterConfigOp(OpType.SET, "cleanup.policy", "compact,delete,compact")
    _accepted(admin.incremental_alter_configs({resource: [repeated]}).failures)
    while True:
        entries = admin.describe_configs([resource], keys={resource: ["cleanup.policy"]})[resource].entries
        if entries[0].source is not Source.DEFAULT:
            return entries[0].value == "compact,delete"


# -- files -----------------------------------------------------------------------------------------------------------


def release(version: str) -> str:
    return version.rpartition(".")[0]


def texts(versions: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The names and contents of the files of some releases."""
    dumps = {version: dump(version) for version in CATALOG_VERSIONS}
    for version in versions:
        data = client_data(dumps[BASE]) if version == CLIENT_VERSION else broker_data(version, dumps)
        yield f"{release(version)}.json", _text({"release": release(version), "version": version, **data})


def broker_data(version: str, dumps: Mapping[str, Dump]) -> dict[str, Any]:
    return {"source": "broker", **facts(version, dumps[version]), **difference(dumps[version], dumps)}


def client_data(base: Dump) -> dict[str, Any]:
    found = dump(CLIENT_VERSION)
    levels = found["metadata_versions"]
    return {
        "source": "client jars",
        "metadata_version": levels[levels["latest"]],
        **client_difference(found, base),
    }


def _text(data: Mapping[str, Any]) -> str:
    """JSON with one line per Kafka key, so that diffs are easy to read."""
    lines = [f'  "{name}": {_part(value)}' for name, value in data.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _part(value: Any) -> str:
    if not isinstance(value, dict) or not any(isinstance(each, (dict, list)) for each in value.values()):
        return json.dumps(value)
    kinds = [f'    "{kind}": {_rows(keys)}' for kind, keys in value.items()]
    return "{\n" + ",\n".join(kinds) + "\n  }" if kinds else "{}"


def _rows(keys: list[str] | dict[str, Any]) -> str:
    if isinstance(keys, list):
        return "[\n      " + ",\n      ".join(map(json.dumps, keys)) + "\n    ]"
    rows = [f"{json.dumps(name)}: {json.dumps(key)}" for name, key in keys.items()]
    return "{\n      " + ",\n      ".join(rows) + "\n    }"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m lab.catalog", description="Make the catalogs of keys per release.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file would change")
    every = (*CATALOG_VERSIONS, CLIENT_VERSION)
    parser.add_argument("versions", nargs="*", metavar="VERSION", help=f"only these of {', '.join(every)}")
    options = parser.parse_args()
    changed = []
    for name, text in texts(options.versions or every):
        path = TARGET / name
        if not path.exists() or path.read_text() != text:
            changed.append(name)
            if not options.check:
                path.write_text(text)
    print(f"{'would change' if options.check else 'written'}: {', '.join(changed) or 'nothing'}")
    return 1 if options.check and changed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LabError as error:
        sys.exit(str(error))
