"""Every table of the lake, once: its columns in Spark's own words for types, and a sentence about each.

The columns that hold the fields of a journal line are made from kconf.model.lines.fields. No Spark is needed to import
this: the look-ups that do without it, and docs/reference/tables.md, read it too.
Times are UTC. `cluster` is the cluster's id, and stands first everywhere, since one lake serves many.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from kconf.model.lines.fields import ATTEMPT_LINE, CALLER_NAMES, CHANGE_LINE, CLIENT_ONLY, COUNTED, LineField


class Column(NamedTuple):
    name: str
    type: str
    about: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table: where it stands (`layer/name`), what a row of it is, and its columns."""

    layer: str
    name: str
    about: str
    columns: tuple[Column, ...]
    partitioned_by: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Its place under the lake."""
        return f"{self.layer}/{self.name}" if self.layer else self.name

    @property
    def ddl(self) -> str:
        return ddl(self.columns)

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.columns]


def ddl(columns: tuple[Column, ...]) -> str:
    return ", ".join(f"`{name}` {kind}" for name, kind, _ in columns)


def _columns(text: str) -> tuple[Column, ...]:
    """One column per line: `name  type  sentence`."""
    rows = (line.split(None, 2) for line in text.strip().splitlines())
    return tuple(Column(name, kind, about) for name, kind, about in rows)


_NO_COLUMN: Final = frozenset({"format", *(each.name for each in CLIENT_ONLY)})
_OTHER_TYPE: Final = {"time": "timestamp", "answered": "timestamp"}  # milliseconds in a line


def _line_columns(fields: Iterable[LineField]) -> tuple[Column, ...]:
    """The columns that hold the fields of a line."""
    kept = (each for each in fields if each.name not in _NO_COLUMN)
    return tuple(Column(each.name, _OTHER_TYPE.get(each.name, each.type), each.about) for each in kept)


def _of_change(*names: str) -> tuple[Column, ...]:
    """Columns that mean the same as in a line about a change."""
    return tuple(each for each in _line_columns(CHANGE_LINE) if each.name in names)


_CLUSTER = _of_change("cluster")
_RESOURCE = _of_change("resource_type", "resource_name")
_ENTITY = _of_change("entity")
_CALLER = _of_change(*CALLER_NAMES)
_ORDER = _of_change("epoch", "revision", "line")
_FROM = _columns("""
    file   string  the file that it was read from
    round  bigint  the round of the pipeline that read it; the history knows up to which round it goes
""")

JOURNAL: Final = Table(
    "bronze",
    "journal",
    "A line of the archive: one committed change. Each is here once, however often it was delivered.",
    (*_line_columns(CHANGE_LINE), *_FROM),
)

ATTEMPTS: Final = Table(
    "bronze",
    "attempts",
    "A request about one resource that changed nothing: refused, or a dry run. Never a value.",
    (*_line_columns(ATTEMPT_LINE), *_FROM),
)

QUARANTINE: Final = Table(
    "bronze",
    "quarantine",
    "A line that could not be taken, and why. It is not lost: correct the file's origin, and run again.",
    (
        *_columns("""
            line    string     the line without its values; hidden where it holds a secret that is not sealed
            reason  string     why it was not taken
            time    timestamp  when it was read
        """),
        *_FROM,
    ),
)

FILES: Final = Table(
    "bronze",
    "files",
    "A file of an archive, of snapshots or of a metadata log, as a run found it. The last row of a file counts.",
    _columns("""
        source    string     `archive`, `snapshots` or `metadata-log`
        file      string     its path
        size      bigint     its size in bytes
        modified  timestamp  when it was changed last
        read      boolean    whether it was read; what could not be taken of it is in `quarantine`
        reason    string     why it was not read
        round     bigint     the round of the pipeline that came to it
        cluster       string   of a followed log: the cluster's id
        first_offset  bigint   of a followed log: the first offset that the file covers
        end_offset    bigint   of a followed log: the offset after the last one
        gap           boolean  of a followed log: the log was gone; the file has what differs after it
    """),
)

SNAPSHOT: Final = Table(
    "bronze",
    "snapshot",
    "A fact that a look at a cluster showed for the first time, or no longer. State at a time: the last row per fact.",
    (
        *_CLUSTER,
        *_columns("""
            taken     timestamp  when the look ended
            previous  timestamp  when the look before it ended; null: it was the first one at this cluster
            kind      string     `snapshot` (one per look), `topic`, `config`, `quota`, `scram`, `acl`
        """),
        *_RESOURCE,
        *_ENTITY,
        *_columns("""
            topic_id   string   of a topic and its keys: the topic's id, where the cluster has one
            key        string   the key; empty for a topic itself
            value      string   the value; null when sensitive; of a topic its shape as JSON, of a look when it began
            source     string   Kafka's name of the level that it comes from
            sensitive  boolean  whether the value is kept from us
            gone       boolean  the fact held at the look before, and did not at this one
            missing    array<string>  of a look: what it could not see; null where a version before it took it
        """),
        *_FROM,
    ),
)

DECLARED: Final = Table(
    "bronze",
    "declared",
    "What the declared files want: one row per value. Replaced whole when a file changes.",
    (
        *_columns("cluster  string  the cluster's id; null: the files are for every cluster of the run"),
        *_RESOURCE,
        *_ENTITY,
        *_columns("""
            key        string   the key; `partitions` and `replication_factor` of a topic too
            value      string   the value, units read; null when sensitive
            sensitive  boolean  whether the value is kept elsewhere
            place      string   file, line and column
        """),
    ),
)

HISTORY: Final = Table(
    "silver",
    "history",
    "An interval in which a key had a value (or a topic its shape): when, by whom, and what ended it.",
    (
        *_CLUSTER,
        *_columns("kind  string  `config` or `topic`"),
        *_RESOURCE,
        *_ENTITY,
        *_columns("""
            topic_id   string     the topic's id in this interval, where it is known: a topic made anew has another
            key        string     the key; empty for a topic itself
            value      string     the value; a keyed hash when sensitive, or null where only a snapshot tells
            before     string     the value before, as the change told it
            sensitive  boolean    whether the value is kept from us
            since      timestamp  from when it held
        """),
        *_ORDER,
        *_columns("""
            origin  string  `kconf`, `outside` (by an unknown author), `client`, or `snapshot`: a look or a gap shows it
            op      string  what was asked
        """),
        *_CALLER,
        *_columns("""
            not_before       timestamp  where only snapshots tell: the last look that did not show it
            seen_at          timestamp  where only snapshots tell: the first look that did
            until            timestamp  when it ended; null: it holds
            until_epoch      bigint     the order of the change that ended it: epoch,
            until_revision   bigint     revision,
            until_line       int        and line
            until_principal  string     who ended it
            until_reason     string     why, where they said so
            until_origin     string     how we know
            ended            string     `replaced` by another value, `removed`, or `deleted` with its topic
            slipped          boolean    what ended it found another value: something changed it behind kconf's back
            found            string     that other value; null: none
            returned         boolean    the value from before the last one: the key went A → B → A
            open             boolean    whether it still holds: these rows are the state of now
        """),
    ),
    ("open",),
)

TOPICS: Final = Table(
    "gold",
    "topics",
    "A topic, one row per id that bore its name.",
    (
        *_CLUSTER,
        *_columns("""
            topic        string     its name
            topic_id     string     its id; null where the cluster has none
            partitions   int        how many partitions it has, or had last
            replication  int        the replicas of its first partition
            internal     boolean    whether it is one of Kafka's own
            owner        string     by the owners' file; null: none fits
            first_seen   timestamp  when it was made, or first seen
            last_seen    timestamp  the last look or change that showed it
            exists       boolean    whether it is there
        """),
    ),
)

_RUNG = "array<struct<name:string,value:string,source:string>>"

EFFECTIVE_CONFIG: Final = Table(
    "gold",
    "effective_config",
    "The value in force of every key of every topic, broker, group and subscription, and the ladder behind it.",
    (
        *_CLUSTER,
        *_RESOURCE,
        *_columns(f"""
            key        string   the key
            value      string   the value in force, as a describe prints it; null: none, or sensitive
            source     string   the level that it comes from: Kafka's name of it
            sensitive  boolean  whether the value is kept from us
            ladder     {_RUNG}  all levels that have a value, the strongest first
        """),
    ),
)

EFFECTIVE_QUOTA: Final = Table(
    "gold",
    "effective_quota",
    "The quota that holds for a user with a client id, of all that were seen or are named by a quota.",
    (
        *_CLUSTER,
        *_columns("""
            user       string  the user; empty: the client id alone, whoever the user is
            client_id  string  the client id; empty: the user alone, without its clients' levels
            key        string  the quota's key
            value      double  what holds
            source     string  the level that it comes from: KIP-248's QuotaSource
            ladder     array<struct<source:string,value:double>>  every level that has one, the strongest first
            used       double  the rate that the usage file tells; null: none told
            share      double  used / value
        """),
    ),
)

DRIFT: Final = Table(
    "gold",
    "drift",
    "A difference in meaning between what is declared and what holds, with the change that made it.",
    (
        *_CLUSTER,
        *_RESOURCE,
        *_columns("""
            key        string     the key
            kind       string     `differs`, `missing` (declared, no such resource), `undeclared` (set, not declared)
            declared   string     what is wanted; null: nothing
            actual     string     what is in force; null: nothing
            source     string     the level that the actual value comes from
            since      timestamp  from when it holds, where the history tells
            principal  string     by whom
            reason     string     why
            place      string     where it is declared: file, line and column
        """),
    ),
)

UNEVEN: Final = Table(
    "gold",
    "uneven",
    "A broker key that differs among the brokers of one cluster, where it should not.",
    (
        *_CLUSTER,
        *_columns("""
            key      string  the key
            brokers  array<struct<value:string,brokers:array<string>>>  who has which value, the most common first
        """),
    ),
)

VIOLATIONS: Final = Table(
    "gold",
    "violations",
    "An interval in which a rule did not hold on a resource: what the policy would have refused, then and now.",
    (
        *_CLUSTER,
        *_columns("rule  string  the rule's id\nseverity  string  `error` or `warn`"),
        *_RESOURCE,
        *_columns("""
            topic_id          string     of a topic: its id in that time, where it is known
            owner             string     the topic's owner by the owners' file
            key               string     the key that the rule is about
            value             string     the value that broke it; null: none, or sensitive
            condition         string     what should have held
            message           string     what the rule says
            assumed           boolean    it was inherited from a broker's file, or none, before any look showed that
            since             timestamp  from when it was broken; where only looks tell, the first that showed it
            epoch             bigint     the change that broke it: its epoch
            revision          bigint     and revision
            principal         string     who made that change; null where only looks tell
            reason            string     why, where they said so
            origin            string     how we know: as in `history`
            cause             string     `itself`: the resource was changed; `inherited`: what it inherits was
            changes           bigint     the changes in that time that the rule would have refused, or warned of
            until             timestamp  when it ended; null: it is broken now
            until_epoch       bigint     the change that ended it: its epoch
            until_revision    bigint     and revision
            until_principal   string     who made that change
            until_reason      string     why, where they said so
            until_origin      string     how we know
            ended             string     `mended`, `changed` to another that breaks it too, `gone` with the resource
            open              boolean    whether it is broken now
        """),
    ),
)

ACTIVITY: Final = Table(
    "gold",
    "activity",
    "Who changes what, and when: counts per day. Flapping keys (with the last caller) and refusals are rows of their"
    " own kind.",
    (
        *_CLUSTER,
        *_columns("""
            kind           string     `changes`, `flapping` (a key that went A → B → A), `refusals`, `dry-runs`
            day            date       the day; null for flapping keys
        """),
        *_of_change(*COUNTED),
        *_columns("""
            origin         string     how we know
            resource_type  string     of what
            resource_name  string     the flapping resource; null otherwise
            key            string     which key; null for refusals
            error          int        Kafka's code of the refusal
            count          bigint     how many; of a flapping key how often it came back
            first          timestamp  the first of them
            last           timestamp  the last of them
        """),
    ),
)

INTEGRITY: Final = Table(
    "gold",
    "integrity",
    "Something that does not add up: holes in the journal, changes made behind kconf's back, and recorded changes that"
    " a followed log contradicts.",
    (
        *_CLUSTER,
        *_columns("""
            kind  string  `gap`, `incomplete` (lines are missing), `slipped`, `differs` (from a look), `contradicted`
            epoch           bigint     of the gap, or of the change that shows it
            first_sequence  bigint     the first revision that is missing, by its sequence; of a followed log the offset
            last_sequence   bigint     the last one
        """),
        *_RESOURCE,
        *_columns("""
            key       string     the key
            expected  string     what the journal says
            found     string     what the snapshot, or the next change, says; of a gap: `difference` if that is known
            time      timestamp  when it was noticed
        """),
    ),
)

RUNS: Final = Table(
    "",
    "runs",
    "A finished run of the pipeline. It is written last: the versions it names belong together.",
    _columns("""
        run          bigint               counts the runs
        started      timestamp            when it began
        finished     timestamp            when all tables stood
        kconf        string               the version of kconf
        round        bigint               the last round of reading that the history knows
        journal      bigint               the lines that it added to the journal
        attempts     bigint               the attempts that it added
        quarantined  bigint               the lines that it could not take
        facts        bigint               the facts that snapshots added
        inputs       map<string,string>   a fingerprint of each file given: declared, policy, owners, usage
        versions     map<string,bigint>   the version of each table
    """),
)

BRONZE: Final = (JOURNAL, ATTEMPTS, QUARANTINE, SNAPSHOT, DECLARED)
GOLD: Final = (TOPICS, EFFECTIVE_CONFIG, EFFECTIVE_QUOTA, DRIFT, UNEVEN, VIOLATIONS, ACTIVITY, INTEGRITY)
TABLES: Final = {table.name: table for table in (*BRONZE, FILES, HISTORY, *GOLD, RUNS)}

SNAPSHOT_LINE: Final = _columns("""
    cluster        string              the cluster's id
    started        bigint              milliseconds since 1970
    taken          bigint              milliseconds since 1970
    kind           string              as in the table
    resource_type  string              of `config`: what it is about; of `acl`: the type of the pattern
    resource_name  string              of `config`
    name           string              of `topic` and `acl`
    id             string              of `topic`
    partitions     int                 of `topic`
    replication    int                 of `topic`
    internal       boolean             of `topic`
    entity         map<string,string>  of `quota`
    key            string              of `config` and `quota`
    value          string              of `config` and `quota`; a number as text
    source         string              of `config`
    sensitive      boolean             of `config`
    read_only      boolean             of `config`
    user           string              of `scram`
    mechanism      string              of `scram`
    iterations     int                 of `scram`
    pattern        string              of `acl`
    principal      string              of `acl`
    host           string              of `acl`
    operation      string              of `acl`
    permission     string              of `acl`
""")
"""A line of a snapshot file, with the cluster and the times of its first line on every one: what the live source of
clusters gives as well. docs/reference/formats.md tells which kind has which fields."""
