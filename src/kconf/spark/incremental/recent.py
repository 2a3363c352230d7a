"""What a session keeps of its last round, to find the rows of the history that a few new lines have changed since.

A large history is not read again for a few lines. If files were only added since the last round, all intervals in the
other files were closed before it. After a compaction, after an update of closed intervals, or if lines arrived late,
this cannot be relied on, because earlier intervals may have changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from kconf.lake.schemas import ACTIVITY, HISTORY, INTEGRITY, JOURNAL
from kconf.spark.delta_tables import Lake
from kconf.spark.incremental.affected import Part
from kconf.spark.transforms.history import KEY, ORDER

REMEMBERED: Final = 100
"""Up to this number of clusters, inherited values are kept between runs; of more, they are computed in each run."""
_CLOSED: Final = "closed"
_RECENT: Final = "recent"


@dataclass(frozen=True)
class Inherited:
    """The values that resources of some clusters inherit, and the inputs: round, build of the history, other inputs."""

    made_from: tuple[object, ...]
    clusters: frozenset[str]
    rows: pa.Table


@dataclass(frozen=True)
class _Closed:
    """The files of the history with closed intervals, up to a round."""

    round: int
    files: frozenset[str]


@dataclass(frozen=True)
class Recent:
    """Rows of the history for the resources of a part: `open` ones, ones that new lines `closed`, and ones that new
    lines began (`begun`) by setting a key back to an earlier value."""

    open: pa.Table
    closed: pa.Table
    begun: pa.Table
    first: Mapping[str, tuple[int, int]]
    """The epoch and revision of the first new line of each cluster."""
    keys: pa.Table
    """The keys that new lines set or removed, each once."""


def remember_closed(lake: Lake, number: int) -> None:
    """Call this when all tables have reached a round."""
    lake.memory.pop(_RECENT, None)
    lake.memory[_CLOSED] = _Closed(number, frozenset(lake.files(HISTORY, open=False)))


def recent(lake: Lake, part: Part) -> Recent | None:
    """What new lines changed; None: unknown, or too large for memory. Kept until all tables are up to date."""
    made_from, kept = (lake.version(HISTORY), part.since, part.names), lake.memory.get(_RECENT)
    if kept is not None and kept[0] == made_from:
        found: Recent | None = kept[1]
    else:
        found = _recent(lake, part)
        lake.memory[_RECENT] = made_from, found
    return found


def _recent(lake: Lake, part: Part) -> Recent | None:
    known: _Closed | None = lake.memory.get(_CLOSED)
    if known is None or known.round != part.since or part.clusters or not part.is_medium or not lake.in_memory:
        return None
    closed, pieces = frozenset(lake.files(HISTORY, open=False)), lake.pieces(HISTORY, open=True)
    lines = lake.fresh(JOURNAL, (*KEY, *ORDER, "kind"), part.since)
    is_late = lake.note(HISTORY).get("late", 0) > part.since
    if is_late or known.files - closed or pieces is None or lines is None:
        return None
    if lake.pieces(INTEGRITY) is None or lake.rows(ACTIVITY, ("cluster",)) is None:
        return None  # Spark updates these tables
    added = lake.pieces_of(HISTORY, closed - known.files)
    now, ended = (_together(part.within(each.rows) for each in found) for found in (pieces, added))
    whole = pa.concat_tables([now, ended])
    is_begun = pc.is_in(_places(whole), value_set=_places(lines))
    keys = lines.filter(pc.equal(lines["kind"], "config")).group_by(list(KEY)).aggregate([])
    return Recent(now, ended, whole.filter(pc.and_(whole["returned"], is_begun)), _first(lines), keys)


def _first(lines: pa.Table) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for line in lines.select(["cluster", *ORDER]).to_pylist():
        place = line["epoch"], line["revision"]
        found[line["cluster"]] = min(place, found.get(line["cluster"], place))
    return found


def _together(pieces: Iterable[pa.Table]) -> pa.Table:
    found = list(pieces)
    return pa.concat_tables(found) if found else Lake.none_of(HISTORY)


def _places(rows: pa.Table) -> pa.Array:
    """The position of each row in the order, as text."""
    texts = (rows[name].cast(pa.string()) for name in (*ORDER, "cluster"))
    return pc.binary_join_element_wise(*texts, "\n").combine_chunks()
