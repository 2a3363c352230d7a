"""Where the past of a cluster is kept, and what it says: a kconf server's journal, a directory, or a lake.

A kconf server is asked for its own journal. Elsewhere a context may have a `journal:` directory, in which clients
record what they change, or a `lake:`. All of them are told as the same lines, oldest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kconf.errors import ConfigurationError, JournalTrimmed, UnsupportedVersion
from kconf.model.journal import Caller, Change, ChangeKind
from kconf.model.line_fields import CALLER_NAMES
from kconf.model.resource import Resource, ResourceType

if TYPE_CHECKING:
    from kconf.cli.people.target import Target
    from kconf.client.sync import SyncAdminClient
    from kconf.engine.declared import Scope
    from kconf.model.journal import Revision

FEED, JOURNAL, LAKE = SOURCES = ("feed", "journal", "lake")
_NEVER: Final = 2**63
_TYPES: Final = {each.word: each for each in ResourceType}


class Told(NamedTuple):
    """A change as it is told; `outcome` is `done`, or `unknown` where it was begun and nobody saw its end."""

    time: int
    revision: int
    line: int
    change: Change
    caller: Caller
    origin: str
    os_user: str | None = None
    outcome: str = "done"


class Past(NamedTuple):
    """What is told, by whom; `notes` say what is not told. `trimmed`: the journal no longer has what was before it."""

    source: str
    cluster: str
    lines: list[Told]
    notes: list[str]
    trimmed: Trimmed | None = None

    def check_reaches(self, *, revision: int | None = None, moment: int | None = None) -> None:
        """Refuse to speak of a time that the journal does not reach back to."""
        if self.trimmed is None:
            return
        oldest, time = self.trimmed
        if (revision is not None and revision < oldest - 1) or (moment is not None and moment < time):
            raise ConfigurationError(f"the journal begins at revision {oldest}; it does not reach back so far")


class Trimmed(NamedTuple):
    """Where a journal begins, and when that was (milliseconds)."""

    oldest: int
    time: int


def read_past(
    target: Target, admin: SyncAdminClient, scopes: Sequence[Scope], *, which: str | None = None, since: int = 0
) -> Past:
    """What is known of some resources, or of all, from a time on (milliseconds)."""
    cluster = admin.describe_cluster().cluster_id or ""
    for source in SOURCES if which is None else (which,):
        found = _read(source, target, admin, cluster, scopes)
        if found is not None:
            lines = [each for each in found.lines if each.time >= since and is_meant(each.change, scopes)]
            return found._replace(lines=lines)
    if which is not None:
        raise ConfigurationError(f"{target.name} has no {which}")
    raise ConfigurationError(
        f"{target.name} keeps no journal; give its context a `journal:` directory, where kconf records what it "
        "changes, or a `lake:`"
    )


def _read(source: str, target: Target, admin: SyncAdminClient, cluster: str, scopes: Sequence[Scope]) -> Past | None:
    if source == FEED:
        return _of_feed(admin, cluster, scopes)
    if source == JOURNAL:
        return None if target.context.journal is None else _of_directory(target.context.journal, cluster)
    return None if target.context.lake is None else _of_lake(target.context.lake, cluster)


def is_meant(change: Change, scopes: Sequence[Scope]) -> bool:
    if not scopes:
        return True
    names: Iterable[str] = (change.resource.name,)
    if change.resource.type is ResourceType.QUOTA:
        from kconf.model.quota import QuotaEntity

        names = [name or "" for _, name in QuotaEntity.from_resource(change.resource).parts]
    elif change.resource.type is ResourceType.ACL:
        import json

        names = [json.loads(change.key)[0]]
    return any(each.covers(change.resource, names) for each in scopes)


def told_of(revision: Revision, *, os_user: str | None = None) -> Iterator[Told]:
    for place, change in enumerate(revision.changes):
        yield Told(revision.time, revision.number, place, change, revision.caller, revision.origin, os_user)


def _of_feed(admin: SyncAdminClient, cluster: str, scopes: Sequence[Scope]) -> Past | None:
    from kconf.engine.declared import SCOPES

    about = list(dict.fromkeys(SCOPES[each.word] for each in scopes))
    lines: list[Told] = []
    notes: list[str] = []
    after = oldest = 0
    reads = True
    while reads:
        try:
            page = admin.list_changes(after, about=about)
        except UnsupportedVersion:
            return None
        except JournalTrimmed as trimmed:
            notes.append(f"the journal begins at revision {trimmed.oldest}")
            oldest, after = trimmed.oldest, trimmed.oldest - 1
            continue
        lines += [told for revision in page.revisions for told in told_of(revision)]
        after, reads = page.next_after, page.next_after < page.current
    return Past(FEED, cluster, lines, notes, _begins(admin, oldest) if oldest else None)


def _begins(admin: SyncAdminClient, oldest: int) -> Trimmed:
    first = admin.list_changes(oldest - 1, limit=1).revisions
    return Trimmed(oldest, first[0].time if first else _NEVER)


def _of_directory(directory: str, cluster: str) -> Past:
    from kconf.store.client_journal import read_record

    recorded = read_record(directory, cluster)
    lines = [_line(each) for each in recorded.changes]
    unknown = [_line(each) for each in recorded.unknown]
    notes = []
    if unknown:
        what = "change was" if len(unknown) == 1 else "changes were"
        notes.append(f"{len(unknown)} {what} begun, and nobody saw the end: they may have been made or not")
    return Past(JOURNAL, cluster, sorted([*lines, *unknown], key=lambda each: (each.revision, each.line)), notes)


def _line(line: dict[str, Any]) -> Told:
    from kconf.model.lines import read_caller, read_change

    change, caller = read_change(line), read_caller(line)
    more = line.get("os_user"), line.get("outcome", "done")
    return Told(line["time"], line["revision"], line["line"], change, caller, line["origin"], *more)


def _of_lake(uri: str, cluster: str) -> Past:
    from kconf.spark.reading import About, Tables

    tables = Tables(uri)
    lines: list[Told] = []
    for row in tables.history(About([cluster])):
        lines.append(_began(row))
        if row["ended"] in ("removed", "deleted"):
            lines.append(_ended(row))
    finished = tables.run["finished"]
    note = f"the lake is as of {finished:%Y-%m-%d %H:%M:%S} UTC" if isinstance(finished, datetime) else ""
    return Past(
        LAKE, cluster, sorted(lines, key=lambda each: (each.time, each.revision, each.line)), [note] * bool(note)
    )


def _began(row: dict[str, Any]) -> Told:
    caller = Caller(*(row[name] for name in CALLER_NAMES))
    change = _interval(row, row["before"], row["value"], row["op"] or "set")
    return Told(_milliseconds(row["since"]), row["revision"] or 0, row["line"] or 0, change, caller, row["origin"])


def _ended(row: dict[str, Any]) -> Told:
    caller = Caller(row["until_principal"], reason=row["until_reason"])
    change = _interval(row, row["value"], None, "delete")
    place = row["until_revision"] or 0, row["until_line"] or 0
    return Told(_milliseconds(row["until"]), *place, change, caller, row["until_origin"])


def _interval(row: dict[str, Any], before: str | None, after: str | None, op: str) -> Change:
    resource = Resource(_TYPES[row["resource_type"]], row["resource_name"])
    return Change(ChangeKind(row["kind"]), resource, row["key"], before, after, op, bool(row["sensitive"]))


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
