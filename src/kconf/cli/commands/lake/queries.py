"""The queries of `kconf lake`, and how their results are printed."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.commands.lake.scope import about, begin, check_times, clusters, extent, look_at, names, span
from kconf.cli.output.result import DIFFERENT, CommandResult, Item, ResultColumn
from kconf.errors import ConfigurationError
from kconf.model.resource import Resource, ResourceType
from kconf.util.iso_time import iso_time
from kconf.util.time_text import format_time, parse_time

if TYPE_CHECKING:
    from datetime import datetime

    from kconf.lake.coverage import Coverage
    from kconf.lake.lookup import LakeTables, LookupFilter, Row

SENSITIVE: Final = "(sensitive)"


# -- commands ------------------------------------------------------------------------------------------------------


def history(options: argparse.Namespace, answer: CommandResult) -> None:
    tables = begin(options, answer)
    since, until = span(options)
    answer.columns = [*_WHERE, *_VALUE, time("since"), time("until"), *_WHO, *_AFTER]
    answer.hidden = frozenset(
        {"op", "client_id", "host", "origin", "ended", "until_principal", "until_reason", "revision"}
    )
    asked = about(options, tables)
    check_times(tables, look_at(tables, asked.clusters, answer), answer, since, until)
    for row in tables.history(asked, since, until):
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
    asked = about(options, tables)
    check_times(tables, look_at(tables, asked.clusters, answer), answer, None, at)
    for row in tables.state(asked, at):
        answer.add(**_place(row), **_value_fields(row))
    _end(answer)


def diff(options: argparse.Namespace, answer: CommandResult) -> None:
    tables = begin(options, answer)
    before, after = parse_time(options.before), parse_time(options.after)
    answer.facts.update(before=iso_time(before), after=iso_time(after))
    answer.columns = [*_WHERE, amount("before"), amount("after"), time("since"), *_WHO]
    answer.hidden = frozenset({"op", "client_id", "host", "origin", "revision"})
    asked = about(options, tables)
    seen = look_at(tables, asked.clusters, answer)
    check_times(tables, seen, answer, before, before)
    for one, other in tables.diff(asked, before, after):
        last = other or one
        assert last is not None
        how = _value_fields(last) if other is not None else _removed(last)
        how.pop("value")
        answer.add(**_place(last), before=_value(one), after=_value(other), **how)
    _end(answer, f"no differences between the two times in {extent(seen)}")


def drift(options: argparse.Namespace, answer: CommandResult) -> None:
    from kconf.lake.schemas import DECLARED, DRIFT

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
    asked = about(options, tables, DRIFT, DECLARED)
    seen = _compared(tables, asked, answer)
    for row in tables.rows(DRIFT, asked.conditions(), order="cluster, resource_type, resource_name, key"):
        values = {name: row[name] for name in ("kind", "declared", "actual", "source", "principal", "reason", "place")}
        answer.add(**_place(row), since=iso_time(row["since"]), **values)
    answer.status = DIFFERENT if answer.items else answer.status
    _end(answer, f"no drift from the declared state in {extent(seen)}")


def _compared(tables: LakeTables, asked: LookupFilter, answer: CommandResult) -> list[Coverage]:
    """The clusters that were compared with the files. Raises ConfigurationError if the files declare none of them."""
    from kconf.lake.coverage import declared_clusters
    from kconf.lake.lookup import LookupFilter
    from kconf.lake.schemas import DECLARED, DRIFT

    seen = look_at(tables, asked.clusters, answer)
    declared = set(declared_clusters(tables))
    compared = seen if None in declared else [each for each in seen if each.cluster in declared]
    if not compared:
        raise ConfigurationError(f"unknown: the files of the last run declare nothing about {names(seen)}")
    if len(compared) < len(seen):
        rest = names(each for each in seen if each not in compared)
        answer.notes.append(f"not compared, because nothing is declared: {rest}")
    narrow = LookupFilter((), asked.resources, asked.key)
    if narrow.conditions() and not any(
        tables.rows(each, narrow.conditions(), columns="1 AS one", limit=1) for each in (DECLARED, DRIFT)
    ):
        what = ", ".join([*map(str, asked.resources[:3]), *([asked.key] if asked.key else [])])
        raise ConfigurationError(f"unknown: the files of the last run declare nothing about {what}")
    return compared


def compare(options: argparse.Namespace, answer: CommandResult) -> None:
    tables = begin(options, answer)
    one, other = clusters(tables, (options.one, options.other))
    if one == other:
        raise ConfigurationError(f"{options.one} and {options.other} are the same cluster, {one}")
    seen = look_at(tables, (one, other), answer)
    answer.facts.update(one=one, other=other)
    answer.columns = [*_WHERE[1:], amount("one", one), amount("other", other)]
    found = tables.compare(one, other, options.ignore, about(options, tables, within=(one, other)))
    if not found.values:
        raise ConfigurationError("unknown: nothing to compare; apart from ignored keys, neither cluster has any values")
    for left, right in found.pairs:
        row = left or right
        assert row is not None
        place = _place(row)
        del place["cluster"]
        answer.add(**place, one=_value(left), other=_value(right))
    answer.status = DIFFERENT if answer.items else answer.status
    if not answer.items:
        values = "1 value that is set" if found.values == 1 else f"{found.values:,} values that are set"
        answer.notes.append(f"no differences between the two clusters; compared {values} in {extent(seen)}")
    if found.hidden:
        secrets = "1 sensitive value" if found.hidden == 1 else f"{found.hidden:,} sensitive values"
        answer.notes.append(f"not compared: {secrets}, of which the lake has only keyed hashes")


def what_if(options: argparse.Namespace, answer: CommandResult) -> None:
    from kconf.lake.default_what_if import check_proposed, shifts, without_files

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
        common |= {"brokers": list(shift.brokers), "assumed": shift.is_assumed}
        if options.list:
            for name in shift.moved:
                answer.add(resource=str(Resource.topic(name)), **common)
        else:
            answer.add(**common, moved=len(shift.moved), kept=shift.kept)
    _end(answer, "no topic would be affected")
    for cluster in without_files(tables, chosen):
        answer.notes.append(
            f"assumed Kafka's defaults for cluster {cluster}: the lake has no snapshot of it with the values in"
            " server.properties"
        )


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


def _end(answer: CommandResult, empty: str = "the lake has no data for this query") -> None:
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
