"""The queries of `kconf lake`, and how their results are printed."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.common.options.quota_entity import quota_entity
from kconf.cli.output.result import DIFFERENT, CommandResult, Item, ResultColumn
from kconf.cli.terminal.input import read_stdin
from kconf.errors import ConfigurationError
from kconf.model.resource import Resource, ResourceType
from kconf.operations.selection.selectors import parse_selector
from kconf.util.iso_time import iso_time
from kconf.util.time_text import format_time, parse_time

if TYPE_CHECKING:
    from datetime import datetime

    from kconf.lake.lookup import LakeTables, LookupFilter, Row
    from kconf.lake.schemas import Table

SENSITIVE: Final = "(sensitive)"
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
        raise ConfigurationError(f"{word!r} is a prefix of {len(found)} cluster IDs: {', '.join(found)}")
    return _cluster_of_context(word, known)


def _cluster_of_context(word: str, known: Sequence[str]) -> str:
    """The cluster ID of a context, requested from its cluster."""
    from kconf.client.contexts.load import load_contexts
    from kconf.operations.target import Target

    contexts = load_contexts()
    if word not in contexts.contexts:
        raise ConfigurationError(f"the lake has no cluster {word!r}; known clusters: {', '.join(known) or 'none'}")
    with Target(contexts.named(word)).open() as admin:
        found = admin.describe_cluster().cluster_id
    if found not in known:
        raise ConfigurationError(f"the lake has no data on cluster {found} of the context {word!r}")
    return str(found)


def about(options: argparse.Namespace, tables: LakeTables, *more: Table) -> LookupFilter:
    """The scope of a query. A resource or key that neither the history nor one of `more` tables has is an error."""
    from kconf.lake.lookup import LookupFilter

    chosen = clusters(tables, getattr(options, "cluster", ()))
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
    """A key that was never set is valid if Kafka has it, for one of the types of resources asked for."""
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


# -- commands ------------------------------------------------------------------------------------------------------


def history(options: argparse.Namespace, answer: CommandResult) -> None:
    tables = begin(options, answer)
    since, until = span(options)
    answer.columns = [*_WHERE, *_VALUE, time("since"), time("until"), *_WHO, *_AFTER]
    answer.hidden = frozenset(
        {"op", "client_id", "host", "origin", "ended", "until_principal", "until_reason", "revision"}
    )
    for row in tables.history(about(options, tables), since, until):
        answer.add(**_place(row), **_value_fields(row), **_ending(row))
    _end(answer)


def as_of(options: argparse.Namespace, answer: CommandResult) -> None:
    _state(options, answer, parse_time(options.time))


def blame(options: argparse.Namespace, answer: CommandResult) -> None:
    _state(options, answer, None)


def _state(options: argparse.Namespace, answer: CommandResult, at: datetime | None) -> None:
    tables = begin(options, answer)
    if at is not None:
        answer.facts["time"] = iso_time(at)
    answer.columns = [*_WHERE, *_VALUE, time("since"), *_WHO]
    answer.hidden = frozenset({"op", "client_id", "host", "origin", "revision"})
    for row in tables.state(about(options, tables), at):
        answer.add(**_place(row), **_value_fields(row))
    _end(answer)


def diff(options: argparse.Namespace, answer: CommandResult) -> None:
    tables = begin(options, answer)
    before, after = parse_time(options.before), parse_time(options.after)
    answer.facts.update(before=iso_time(before), after=iso_time(after))
    answer.columns = [*_WHERE, amount("before"), amount("after"), time("since"), *_WHO]
    answer.hidden = frozenset({"op", "client_id", "host", "origin", "revision"})
    for one, other in tables.diff(about(options, tables), before, after):
        last = other or one
        assert last is not None
        how = _value_fields(last) if other is not None else _removed(last)
        how.pop("value")
        answer.add(**_place(last), before=_value(one), after=_value(other), **how)
    _end(answer, "no differences between the two times")


def drift(options: argparse.Namespace, answer: CommandResult) -> None:
    from kconf.lake.schemas import DRIFT

    tables = begin(options, answer)
    if not tables.is_declared:
        raise ConfigurationError(
            f"no declared state: the last run on {tables.uri} had no declarative files; pass them with `kconf "
            "pipeline run --declared FILE`"
        )
    answer.columns = [
        *_WHERE,
        ResultColumn("kind"),
        *map(amount, ("declared", "actual")),
        ResultColumn("source"),
        time("since"),
        ResultColumn("principal", "WHO"),
        *map(ResultColumn, ("reason", "place")),
    ]
    answer.hidden = frozenset({"source", "reason"})
    for row in tables.rows(
        DRIFT, about(options, tables, DRIFT).conditions(), order="cluster, resource_type, resource_name, key"
    ):
        values = {name: row[name] for name in ("kind", "declared", "actual", "source", "principal", "reason", "place")}
        answer.add(**_place(row), since=iso_time(row["since"]), **values)
    answer.status = DIFFERENT if answer.items else answer.status
    _end(answer, "no drift: clusters match the declared state")


def compare(options: argparse.Namespace, answer: CommandResult) -> None:
    tables = begin(options, answer)
    one, other = clusters(tables, (options.one, options.other))
    answer.facts.update(one=one, other=other)
    answer.columns = [*_WHERE[1:], amount("one", one), amount("other", other)]
    for left, right in tables.compare(one, other, options.ignore, about(options, tables)):
        row = left or right
        assert row is not None
        place = _place(row)
        del place["cluster"]
        answer.add(**place, one=_value(left), other=_value(right))
    answer.status = DIFFERENT if answer.items else answer.status
    if not answer.items:
        answer.notes.append("no differences between the two clusters")


def what_if(options: argparse.Namespace, answer: CommandResult) -> None:
    from kconf.lake.default_what_if import check_proposed, shifts

    proposed = dict(_proposed(*each) for each in options.proposed)
    check_proposed(proposed)
    tables = begin(options, answer)
    chosen = clusters(tables, options.cluster) or tables.clusters()
    answer.facts["proposed"] = proposed
    columns = ("resource", "key") if options.list else ("key",)
    answer.columns = [ResultColumn("cluster"), *map(ResultColumn, columns), *map(amount, ("before", "after"))]
    answer.columns += map(ResultColumn, () if options.list else ("moved", "kept"))
    answer.columns.append(ResultColumn("brokers", show=lambda item: ",".join(item["brokers"]) or "all"))
    found = list(shifts(tables, chosen, proposed))
    if not any(shift.brokers for shift in found):
        answer.hidden = frozenset({"brokers"})
    for shift in found:
        common: Item = {"cluster": shift.cluster, "key": shift.key, "before": shift.before, "after": shift.after}
        common["brokers"] = list(shift.brokers)
        if options.list:
            for name in shift.moved:
                answer.add(resource=str(Resource.topic(name)), **common)
        else:
            answer.add(**common, moved=len(shift.moved), kept=shift.kept)
    _end(answer, "no topic would be affected")


# -- rows as result items ----------------------------------------------------------------------------------------------


def time(name: str) -> ResultColumn:
    def show(item: Item) -> str:
        return format_time(parse_time(item[name])) if item[name] else ""

    return ResultColumn(name, show=show)


def amount(name: str, title: str = "") -> ResultColumn:
    """A value with its unit."""

    def show(item: Item) -> str:
        from kconf.configdef.units import shown_value

        return shown_value(item["key"], item[name])

    return ResultColumn(name, title, show)


def _person(item: Item) -> str:
    """The principal and, if a client recorded them, the OS user and host; `outside` if the change was not made by
    kconf.
    """
    user, at, _ = (item["host"] or "").rpartition("@") if item["origin"] == "client" else ("", "", "")
    nobody = "outside" if item["origin"] == "outside" else ""
    return f"{item['principal'] or ''} ({user})" if at else item["principal"] or nobody


_WHERE: Final = [ResultColumn("cluster"), ResultColumn("resource"), ResultColumn("key")]
_VALUE: Final = [amount("value")]
_WHO: Final = [
    ResultColumn("principal", "WHO", _person),
    *map(ResultColumn, ("client_id", "host", "op", "reason", "origin", "revision")),
]
_AFTER: Final = list(map(ResultColumn, ("ended", "until_principal", "until_reason")))


def _end(answer: CommandResult, empty: str = "the lake has no data on it") -> None:
    """A table omits the cluster if all rows are about the same one."""
    if len({item["cluster"] for item in answer.items}) == 1:
        answer.hidden = frozenset({*answer.hidden, "cluster"})
    if not answer.items:
        answer.notes.append(empty)


def _place(row: Row) -> dict[str, Any]:
    from kconf.lake.labels import resource_text

    return {"cluster": row["cluster"], "resource": resource_text(row), "key": row["key"] or "(topic)"}


def _value(row: Row | None) -> str | None:
    from kconf.lake.lookup import shown

    if row is not None and row["sensitive"]:
        return SENSITIVE
    return shown(row)


def _value_fields(row: Row) -> dict[str, Any]:
    who = {name: row[name] for name in ("principal", "client_id", "host", "op", "reason", "origin", "revision")}
    return {"value": _value(row), "since": iso_time(row["since"]), **who}


def _removed(row: Row) -> dict[str, Any]:
    """For values that are no longer set: when they were removed, and who removed them."""
    who = {"principal": row["until_principal"], "reason": row["until_reason"], "origin": row["until_origin"]}
    who |= {"client_id": None, "host": None}
    return {
        **_value_fields(row),
        "since": iso_time(row["until"]),
        "op": row["ended"],
        "revision": row["until_revision"],
        **who,
    }


def _ending(row: Row) -> dict[str, Any]:
    told_of = {name: row[name] for name in ("ended", "until_principal", "until_reason")}
    return {"until": iso_time(row["until"]), **told_of}


def _proposed(resource: str, assignment: str) -> tuple[str, str]:
    from kconf.configdef.lookup import keys_for
    from kconf.configdef.units import raw_value

    if resource not in ("broker:default", "brokers"):
        raise ConfigurationError(f"what-if supports broker:default only, not {resource!r}")
    key, equals, value = assignment.partition("=")
    if not equals or not key:
        raise ConfigurationError(f"expected KEY=VALUE, got {assignment!r}")
    return key, raw_value(keys_for(ResourceType.BROKER).get(key), value)
