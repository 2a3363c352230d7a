"""Differences between two clusters, or between two times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from kconf.configdef.lookup import keys_for
from kconf.engine.declarative.diff import same, type_of
from kconf.model.entry import own_source
from kconf.model.resource import ResourceType
from kconf.operations.history.live_values import other_credential, same_value
from kconf.operations.history.point_in_time import HistoryRange, change_of, ranges
from kconf.operations.history.record import Attribution, Fit, HistoryByKey, Moment, PastValue
from kconf.operations.state import set_values

if TYPE_CHECKING:
    from kconf.model.cluster_state import ClusterState
    from kconf.model.entry import Entry
    from kconf.model.journal import Change
    from kconf.model.resource import Resource
    from kconf.operations.history.entries import HistoryEntry
    from kconf.operations.state import ConfigName


class ClusterDifference(NamedTuple):
    """A value that differs; `change` identifies it. None if not set there, or secret."""

    change: Change
    here: str | None
    there: str | None


def diff_times(entries: Iterable[HistoryEntry]) -> Iterator[HistoryRange]:
    """The differences that the entries made, by resource and key, without values that were changed back."""
    for _, each in sorted(ranges(entries).items()):
        if each.first.change.before != each.last.change.after:
            yield each


class RecordedDifference(NamedTuple):
    """A value that was different at an earlier time; `change` identifies it, `attribution` has the author of the later
    one.
    """

    change: Change
    before: str | None
    after: str | None
    attribution: Attribution


class RecordDiff(NamedTuple):
    """The recorded differences, the `gaps` of the record around the two times, and keys without a record or not
    readable.

    `unreadable`: secrets for which it is unknown whether they changed.
    """

    differences: list[RecordedDifference]
    gaps: list[tuple[ConfigName, PastValue, Moment]]
    unknown: list[ConfigName]
    unread: list[Resource]
    unreadable: list[ConfigName]


def diff_record(record: HistoryByKey, begin: Moment, end: Moment | None) -> RecordDiff:
    """Compare the recorded values at two moments, or those at one moment with the live values."""
    found = RecordDiff([], [], [], [], [])
    unread: set[Resource] = set()
    gone = [(each, "") for each in record.unlisted_topics()] if end is None else []
    for name in sorted({*record.names(), *gone}):
        if end is None and not record.live.is_readable(name):
            unread.add(name[0])
            continue
        if end is None and name[1] and record.attribute(name).fit is Fit.NOT_LISTED:
            continue  # the row of the topic shows it
        _diff_key(record, name, (begin, end), found)
    found.unread.extend(sorted(unread))
    return found


def _diff_key(record: HistoryByKey, name: ConfigName, moments: tuple[Moment, Moment | None], found: RecordDiff) -> None:
    begin, end = moments
    earlier = record.value_at(name, begin)
    if earlier is None and end is None and not record.live.is_listed(name[0]):
        earlier = record.existence_at(name[0], begin)
    later = _live(record, name) if end is None else record.value_at(name, end)
    if earlier is None or later is None:
        found.unknown.append(name)
        return
    attribution = record.attribute(name) if end is None else _recorded(later)
    is_secret = _is_secret(record, name, earlier, later)
    if is_secret and end is None and earlier.value is not None and later.value is not None:
        attribution, later = _secret(record, name, earlier, later)
    if (earlier.value == later.value) if is_secret else same_value(name, earlier.value, later.value):
        if is_secret and end is None and earlier.value is not None:
            found.unreadable.append(name)
        return
    change = change_of(*name, None if is_secret else later.value or earlier.value or "")
    found.differences.append(RecordedDifference(change, earlier.value, later.value, attribution))
    found.gaps.extend(
        (name, each, at)
        for each, at in ((earlier, begin), (later, end))
        if at is not None and not each.is_certain and not (end is None and _is_since(each))
    )


def _is_since(value: PastValue) -> bool:
    """Whether the unrecorded change was made between the moment and now, so that the difference itself shows it."""
    return value.gap is not None and value.gap.until is None


def _live(record: HistoryByKey, name: ConfigName) -> PastValue:
    """The live value. A secret is an empty string, or the iterations of a credential, because its value is unknown."""
    value = record.live.values.get(name)
    return PastValue(value or "" if record.live.is_secret(name) else value)


def _recorded(value: PastValue) -> Attribution:
    if value.entry is None:
        return Attribution(Fit.UNRECORDED)
    if value.entry.is_snapshot:
        return Attribution(Fit.SEEN, value.entry, value.entry.not_before)
    return Attribution(Fit.MATCHES, value.entry)


def _is_secret(record: HistoryByKey, name: ConfigName, *values: PastValue) -> bool:
    entries = (each.entry for each in values)
    return record.live.is_secret(name) or any(
        each is not None and each.change.key == name[1] and each.change.sensitive for each in entries
    )


def _secret(
    record: HistoryByKey, name: ConfigName, earlier: PastValue, live: PastValue
) -> tuple[Attribution, PastValue]:
    """A secret that is set at both times: changed if a later entry or its iterations show it, otherwise unknown."""
    attribution = record.attribute(name)
    last = attribution.author
    if last is None:
        return attribution, live if other_credential(name, earlier.value, live.value) else earlier
    return attribution, live._replace(value=last.change.after)


def diff_clusters(one: ClusterState, other: ClusterState) -> Iterator[ClusterDifference]:
    """The values that are set on at least one of two clusters and have different meanings."""
    values, other_values = set_values(one), set_values(other)
    names = {*values, *other_values}
    same_text = {each for each in values.keys() & other_values.keys() if values[each] == other_values[each]}
    for name in sorted(names - same_text):
        resource, key = name
        entry, other_entry = _entry(one, name), _entry(other, name)
        if entry is not None and other_entry is not None:
            if same(type_of(resource, entry, keys_for), entry.value, other_entry.value):
                continue
            here, there = entry.value, other_entry.value
        else:
            here, there = values.get(name), other_values.get(name)
            if (name in values) == (name in other_values) and here == there:
                continue
        yield ClusterDifference(change_of(resource, key, here if here is not None else there), here, there)


def _entry(state: ClusterState, name: ConfigName) -> Entry | None:
    """The effective value; for a broker, only a value set on it."""
    resource, key = name
    view = state.configs.get(resource)
    entry = None if view is None else view.get(key)
    is_broker = resource.type is ResourceType.BROKER
    return None if entry is None or (is_broker and entry.source != own_source(resource)) else entry
