"""The scope of a query: which lake, clusters, resources, keys and times, checked against what the lake has."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from kconf.cli.common.options.quota_entity import quota_entity
from kconf.cli.output.result import CommandResult
from kconf.cli.terminal.input import read_stdin
from kconf.errors import ConfigurationError
from kconf.model.resource import Resource, ResourceType
from kconf.operations.selection.selectors import parse_selector
from kconf.util.iso_time import iso_time
from kconf.util.time_text import format_time, parse_time

if TYPE_CHECKING:
    from datetime import datetime

    from kconf.lake.coverage import Coverage
    from kconf.lake.lookup import LakeTables, LookupFilter
    from kconf.lake.schemas import Table

_MOST: Final = 5  # clusters that are listed by name
_WITH_KEYS: Final = frozenset(
    (ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP, ResourceType.CLIENT_METRICS, ResourceType.QUOTA)
)


def open_lake(options: argparse.Namespace) -> LakeTables:
    """The lake of --lake or of the context."""
    from kconf.client.contexts.load import load_contexts
    from kconf.lake.lookup import LakeTables

    if options.lake is not None:
        return LakeTables(options.lake)
    contexts = load_contexts()
    name = options.context or os.environ.get("KCONF_CONTEXT") or contexts.current
    if not name:
        raise ConfigurationError("no lake given; pass --lake URI, or use a context that has one")
    lake = contexts.named(name).lake
    if lake is None:
        raise ConfigurationError(f"the context {name!r} has no lake; pass --lake URI")
    return LakeTables(lake)


def begin(options: argparse.Namespace, answer: CommandResult) -> LakeTables:
    """Open the lake, and record in the result which run was read."""
    tables = open_lake(options)
    answer.facts.update(lake=tables.uri, run=tables.run["run"], finished=iso_time(tables.run["finished"]))
    return tables


def span(options: argparse.Namespace) -> tuple[datetime | None, datetime | None]:
    """The two times of --between; None if it is not given."""
    if not options.between:
        return None, None
    since, until = map(parse_time, options.between)
    if since > until:
        raise ConfigurationError("--between: the first time is after the second")
    return since, until


def clusters(tables: LakeTables, words: Sequence[str]) -> list[str]:
    """The clusters with these IDs or prefixes; each must match exactly one."""
    known = tables.clusters() if words else []
    return [_cluster(word, known) for word in words]


def _cluster(word: str, known: Sequence[str]) -> str:
    found = [each for each in known if each == word] or [each for each in known if each.startswith(word)]
    if len(found) == 1:
        return found[0]
    if found:
        several = f"{len(found)} cluster IDs: {', '.join(found)}"
        raise ConfigurationError(f"{word!r} is a prefix of {several}; pass more characters of the ID")
    return _cluster_of_context(word, known)


def _cluster_of_context(word: str, known: Sequence[str]) -> str:
    """The cluster ID of a context, requested from its cluster."""
    from kconf.client.contexts.load import load_contexts
    from kconf.operations.target import Target

    contexts = load_contexts()
    if word not in contexts.contexts:
        hint = did_you_mean(word, [*known, *contexts.contexts])
        raise ConfigurationError(f"the lake has no cluster {word!r}{hint or f'; known clusters: {_some(known)}'}")
    with Target(contexts.named(word)).open() as admin:
        found = admin.describe_cluster().cluster_id
    if found not in known:
        raise ConfigurationError(f"the lake has no data on cluster {found} of the context {word!r}")
    return str(found)


def _some(known: Sequence[str]) -> str:
    more = [f"{len(known) - _MOST:,} more"] if len(known) > _MOST else []
    return ", ".join([*known[:_MOST], *more]) or "none"


def look_at(tables: LakeTables, chosen: Sequence[str], answer: CommandResult) -> list[Coverage]:
    """The data that the lake has on the chosen clusters, or on all. It is also added to the result."""
    from kconf.lake.coverage import coverages

    seen = coverages(tables, chosen)
    if not seen:
        raise ConfigurationError(f"the lake {tables.uri} has no data on any cluster")
    answer.facts["clusters"] = {each.cluster: iso_time(each.until) for each in seen}
    return seen


def extent(seen: Sequence[Coverage]) -> str:
    """The clusters, and until when the lake has their data."""
    if len(seen) <= _MOST:
        return ", ".join(f"{each.cluster} (data until {_until(each.until)})" for each in seen)
    times = [each.until for each in seen if each.until is not None]
    if not times:
        return f"{len(seen):,} clusters (data until {_until(None)})"
    unknown = "" if len(times) == len(seen) else f"; unknown for {len(seen) - len(times):,} of them"
    return f"{len(seen):,} clusters (data ends between {_until(min(times))} and {_until(max(times))}{unknown})"


def _until(moment: datetime | None) -> str:
    return "an unknown time" if moment is None else f"{format_time(moment)} UTC"


def names(seen: Iterable[Coverage]) -> str:
    return _some([each.cluster for each in seen])


def check_times(
    tables: LakeTables, seen: Sequence[Coverage], answer: CommandResult, begin: datetime | None, end: datetime | None
) -> None:
    """Raise an error if the lake has no data on any of the clusters at these times; add a note if some have none.

    `end` may be later than the data; `begin` must not.
    """
    from kconf.lake.coverage import begins_after

    if begin is not None and begin > tables.run["finished"]:
        finished = format_time(tables.run["finished"])
        raise ConfigurationError(
            f"unknown: the last run of the lake finished at {finished} UTC, before {format_time(begin)} UTC; run the"
            " pipeline first"
        )
    if end is None:
        return
    late = begins_after(tables, [each.cluster for each in seen], end)
    what = f"no data before {format_time(end)} UTC on {_some(late)}"
    if len(late) == len(seen):
        raise ConfigurationError(f"unknown: the lake has {what}")
    if late:
        answer.notes.append(f"the lake has {what}")


def about(
    options: argparse.Namespace, tables: LakeTables, *more: Table, within: Sequence[str] | None = None
) -> LookupFilter:
    """The scope of a query. A resource or key that neither the history nor one of `more` tables has is an error.

    `within` are the clusters; None: those of --cluster.
    """
    from kconf.lake.lookup import LookupFilter

    chosen = clusters(tables, getattr(options, "cluster", ())) if within is None else within
    resources: dict[Resource, None] = {}
    for word in options.resources:
        selector = parse_selector(word, read_stdin)
        if selector.pattern is None:
            for each in selector.resources:
                _check_resource(tables, each, chosen, more)
            resources.update(dict.fromkeys(selector.resources))
            continue
        matched = [name for name in tables.names(selector.type.word, chosen, more) if selector.matches(name)]
        if not matched:
            raise ConfigurationError(f"{word} matches nothing in the lake")
        resources.update(dict.fromkeys(Resource(selector.type, name) for name in matched))
    entity = quota_entity(options) if hasattr(options, "user") else None
    if entity is not None:
        _check_resource(tables, entity.resource, chosen, more)
        resources[entity.resource] = None
    found = LookupFilter(chosen, list(resources), options.key)
    if options.key:
        _check_key(tables, found, more)
    return found


def _check_resource(tables: LakeTables, resource: Resource, chosen: Sequence[str], more: Sequence[Table]) -> None:
    from kconf.lake.labels import resource_text
    from kconf.lake.lookup import LookupFilter
    from kconf.lake.schemas import SNAPSHOT

    also = (*more, SNAPSHOT) if resource.type is ResourceType.BROKER else more
    if resource == Resource.brokers() or tables.knows(LookupFilter(chosen, [resource]), also):
        return

    def shown(name: str) -> str:
        return resource_text({"resource_type": resource.type.word, "resource_name": name})

    is_entity = resource.type is ResourceType.QUOTA  # JSON: all names are similar
    known = () if is_entity else tables.names(resource.type.word, chosen, also)
    hint = did_you_mean(resource.name, known, shown)
    raise ConfigurationError(f"the lake has no data on {shown(resource.name)}{hint}")


def did_you_mean(word: str, known: Collection[str], shown: Callable[[str], str] = str) -> str:
    """A hint with the most similar known word; nothing if none is similar."""
    from difflib import get_close_matches

    near = get_close_matches(word, sorted(known), 1)
    return f"; did you mean {shown(near[0])}?" if near else ""


def _check_key(tables: LakeTables, asked: LookupFilter, more: Sequence[Table]) -> None:
    """Refuse unknown keys. A key that was never set is valid if Kafka defines it for a requested resource type."""
    from kconf.lake.lookup import LookupFilter

    key = asked.key or ""
    if tables.knows(LookupFilter(asked.clusters, (), key), more):
        return
    from difflib import get_close_matches

    from kconf.configdef.lookup import keys_for, known_key

    kinds = {each.type for each in asked.resources} or _WITH_KEYS
    if not kinds & _WITH_KEYS or any(known_key(kind, key) is not None for kind in kinds):
        return
    names = {name for kind in kinds for name in keys_for(kind)} | set(tables.keys())
    near = get_close_matches(key, sorted(names), 1, 0.8)
    raise ConfigurationError(f"unknown key {key}" + (f"; did you mean {near[0]}?" if near else ""))
