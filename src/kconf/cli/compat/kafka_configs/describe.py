"""`--describe`: finds the entities, reads their configs and prints them.

Everything is requested in as few requests as possible. An entity that cannot be described is reported on stderr and
sets the exit code to 1, but the others are described; Kafka's tool stops at the first.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.compat.kafka_configs.entities import BROKERS, GROUPS, LOGGERS, METRICS, TOPICS, Entities, singular
from kconf.errors import ApiError, ErrorCode, UnsupportedVersion
from kconf.model.entry import SOURCE_NAMES, Source
from kconf.model.resource import Resource, ResourceType
from kconf.util.visible_text import visible

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.model.entry import Entry, View

RESOURCE_TYPES: Final = {
    TOPICS: ResourceType.TOPIC,
    BROKERS: ResourceType.BROKER,
    LOGGERS: ResourceType.BROKER_LOGGER,
    METRICS: ResourceType.CLIENT_METRICS,
    GROUPS: ResourceType.GROUP,
}
_OWN: Final = {
    TOPICS: Source.TOPIC,
    BROKERS: Source.BROKER,
    METRICS: Source.CLIENT_METRICS,
    GROUPS: Source.GROUP,
}
_MISSING: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.BROKER_NOT_AVAILABLE)
TIMEOUT: Final = 30.0
_AT_ONCE: Final = 5000  # resources described before their lines are printed: twenty requests


class DescribeOptions:
    """How to describe: `all` includes inherited values; `strict` behaves like Kafka's tool; `json` is for programs."""

    def __init__(self, *, all_values: bool = False, strict: bool = False, json: bool = False) -> None:
        self.all, self.strict, self.json = all_values, strict, json


def describe_resources(admin: SyncAdminClient, given: Entities, options: DescribeOptions) -> int:
    """Topics, brokers, loggers, client metrics, groups. Returns the exit code."""
    run = _Run(admin, given.head, options)
    if not given.names:
        run.everything()
    else:
        names = given.names[:1] if options.strict else dict.fromkeys(given.names)
        run.named(list(names))
    return run.end()


class _Run:
    def __init__(self, admin: SyncAdminClient, kind: str, options: DescribeOptions) -> None:
        self.admin, self.kind, self.options = admin, kind, options
        self.status = 0
        self.found: list[dict[str, Any]] = []

    def everything(self) -> None:
        resources = [self._resource(name) for name in self._list()]
        for start in range(0, len(resources), _AT_ONCE):
            self._describe(resources[start : start + _AT_ONCE], check=False)

    def named(self, names: Sequence[str]) -> None:
        there = [name for name in names if self._may_exist(name)]
        described = self._describe([self._resource(name) for name in there], check=not self.options.all)
        for name in names:
            if name not in described:
                self._missing(name)

    def end(self) -> int:
        if self.options.json:
            from json import dumps

            print(dumps({"entities": self.found}, indent=2, ensure_ascii=False))
        return self.status

    def _resource(self, name: str) -> Resource:
        return Resource(RESOURCE_TYPES[self.kind], name)

    def _list(self) -> list[str]:
        match self.kind:
            case "topics":
                return sorted(self.admin.list_topics(internal=True))
            case "brokers":
                return [*map(str, self.admin.describe_cluster().nodes), ""]
            case "client-metrics":
                return [each.name for each in self.admin.list_config_resources([ResourceType.CLIENT_METRICS])]
            case _:
                return sorted(self._groups())

    def _groups(self) -> set[str]:
        """Live groups, and groups that only have configs (KIP-1142)."""
        names = {each.name for each in self.admin.list_groups()}
        with suppress(UnsupportedVersion):  # brokers before Kafka 4.1 do not report it
            names.update(each.name for each in self.admin.list_config_resources([ResourceType.GROUP]))
        return names

    def _may_exist(self, name: str) -> bool:
        """Whether an entity may exist, without describing it. With `--strict-compat`, entities are listed first, as in
        Kafka.
        """
        if self.kind in (BROKERS, LOGGERS):
            if not name or self.options.all:
                return True
            plain = name.isascii() and name.isdecimal() and name == str(int(name))
            return plain and (not self.options.strict or int(name) in self.admin.describe_cluster().nodes)
        if self.options.all:
            return True
        return bool(name) and (not self.options.strict or name in self._list())

    def _describe(self, resources: Sequence[Resource], *, check: bool) -> set[str]:
        """Describe and print; returns the names that were printed. `check`: skip entities that do not exist."""
        printed: set[str] = set()
        if not resources:
            return printed
        results = self.admin.describe_configs(resources, synonyms=True, timeout=TIMEOUT)
        failures = results.failures
        lines: list[str] = []
        try:
            for resource in resources:
                failure = failures.get(resource)
                if failure is not None:
                    if check and failure.code in _MISSING:
                        continue
                    self._failed(resource, failure, lines)
                elif check and not self._exists(resource.name, results[resource]):
                    continue
                else:
                    self._print(resource.name, results[resource], lines)
                printed.add(resource.name)
        finally:
            if lines:
                sys.stdout.write("\n".join(lines if self.options.strict else map(visible, lines)) + "\n")
        return printed

    def _exists(self, name: str, view: View) -> bool:
        """A subscription exists if something is set on it; a group also if it has members or offsets."""
        if self.kind not in (METRICS, GROUPS) or self.options.strict:
            return True
        own = _OWN[self.kind]
        return any(entry.source is own for entry in view.entries) or (self.kind == GROUPS and name in self._groups())

    def _print(self, name: str, view: View, lines: list[str]) -> None:
        if self.options.json:
            kept = [as_json(entry) for entry in view.entries if self._is_kept(name, entry)]
            self.found.append({"type": singular(self.kind), "name": name or None, "configs": kept})
            return
        lines.append(self._header(name))
        level = "" if name else "default"
        known: tuple[str, ...] | None = view.memo.get(level)  # topics with the same values share one view
        if known is None:
            known = tuple(entry_line(entry) for entry in view.entries if self._is_kept(name, entry))
            view.memo[level] = known
        lines.extend(known)

    def _is_kept(self, name: str, entry: Entry) -> bool:
        if self.options.all or self.kind == LOGGERS:
            return True
        return entry.source is (Source.DEFAULT_BROKER if self.kind == BROKERS and not name else _OWN[self.kind])

    def _header(self, name: str) -> str:
        if not name:
            return f"Default configs for {self.kind} in the cluster are:"
        return f"{'All' if self.options.all else 'Dynamic'} configs for {singular(self.kind)} {name} are:"

    def _missing(self, name: str) -> None:
        message = f"The {singular(self.kind)} '{name}' doesn't exist and doesn't have dynamic config."
        if self.options.json:
            self.found.append({"type": singular(self.kind), "name": name, "missing": True})
        else:
            print(message)
        if not self.options.strict:
            self.status = 1

    def _failed(self, resource: Resource, failure: ApiError, lines: list[str]) -> None:
        from kconf.cli.compat.kafka_configs.java import sentence

        if self.options.strict:
            lines.append(self._header(resource.name))
            raise failure.error()
        message = sentence(failure.error())
        if self.options.json:
            self.found.append({"type": singular(self.kind), "name": resource.name or None, "error": message})
        who = f"{singular(self.kind)} {resource.name}" if resource.name else f"the default of {self.kind}"
        print(f"{who}: {message}", file=sys.stderr)
        self.status = 1


def entry_line(entry: Entry) -> str:
    line: str | None = entry.memo.get("line")
    if line is None:
        below = (f"{SOURCE_NAMES[each.source]}:{each.name}={_or_null(each.value)}" for each in entry.synonyms)
        synonyms = ", ".join(below)
        sensitive = "true" if entry.sensitive else "false"
        line = f"  {entry.name}={_or_null(entry.value)} sensitive={sensitive} synonyms={{{synonyms}}}"
        entry.memo["line"] = line
    return line


def _or_null(value: str | None) -> str:
    return "null" if value is None else value


def as_json(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "value": entry.value,
        "source": SOURCE_NAMES[entry.source],
        "sensitive": entry.sensitive,
        "readOnly": entry.read_only,
        "synonyms": [
            {"source": SOURCE_NAMES[each.source], "name": each.name, "value": each.value} for each in entry.synonyms
        ],
    }
