"""The schemas of all lake tables, defined once: columns with Spark's type names, and a description of each.

Columns for the fields of a journal line come from kconf.model.lines.fields. Importing this needs no Spark: lookups
without Spark and docs/reference/tables.md use it too. Times are UTC. `cluster` is the cluster ID and always comes
first, because one lake serves many clusters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from kconf.model.lines.fields import (
    ATTEMPT_LINE,
    CALLER_NAMES,
    CHANGE_LINE,
    CLIENT_ONLY,
    COUNTED,
    REQUEST,
    LineField,
)


class Column(NamedTuple):
    name: str
    type: str
    about: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its path (`layer/name`), the meaning of a row, and its columns."""

    layer: str
    name: str
    about: str
    columns: tuple[Column, ...]
    partitioned_by: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Its path under the lake."""
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
    """One column per line: `name  type  description`."""
    rows = (line.split(None, 2) for line in text.strip().splitlines())
    return tuple(Column(name, kind, about) for name, kind, about in rows)


_NO_COLUMN: Final = frozenset({"format", *(each.name for each in CLIENT_ONLY)})
_OTHER_TYPE: Final = {"time": "timestamp", "answered": "timestamp"}  # milliseconds in a line


def _line_columns(fields: Iterable[LineField]) -> tuple[Column, ...]:
    """The columns for the fields of a line."""
    kept = (each for each in fields if each.name not in _NO_COLUMN)
    return tuple(Column(each.name, _OTHER_TYPE.get(each.name, each.type), each.about) for each in kept)


def _of_change(*names: str) -> tuple[Column, ...]:
    """Columns with the same meaning as in a line of the journal."""
    return tuple(each for each in _line_columns(CHANGE_LINE) if each.name in names)


_CLUSTER = _of_change("cluster")
_RESOURCE = _of_change("resource_type", "resource_name")
_ENTITY = _of_change("entity")
_CALLER = _of_change(*CALLER_NAMES)
_ORDER = _of_change("epoch", "revision", "line")
_FROM = _columns("""
    file   string  the file it was read from; for a metadata log, `log` in its directory
    round  bigint  number of the pass over the input files that read the row; see `round` of `runs`
""")

JOURNAL: Final = Table(
    "bronze",
    "journal",
    "A line of the archive: one committed change. Stored once, even if it was delivered several times.",
    (*_line_columns(CHANGE_LINE), *_FROM),
)

ATTEMPTS: Final = Table(
    "bronze",
    "attempts",
    "A request for one resource that changed nothing: refused, or a dry run. Contains no values.",
    (*_line_columns(ATTEMPT_LINE), *_FROM),
)

QUARANTINE: Final = Table(
    "bronze",
    "quarantine",
    "A rejected line, with the reason. It is not lost: correct the file at its source and run again.",
    (
        *_columns("""
            line    string     the line without its values; hidden if it contains a secret that is not hashed
            reason  string     why it was rejected
            time    timestamp  when it was read
        """),
        *_FROM,
    ),
)

FILES: Final = Table(
    "bronze",
    "files",
    "A file of an archive, of snapshots or of a metadata log, as a run found it. Of the rows of one file, the one"
    " with the highest round is valid.",
    _columns("""
        source    string     `archive`, `snapshots` or `metadata-log`
        file      string     its path
        size      bigint     its size in bytes
        modified  timestamp  when it was last modified
        read      boolean    whether it was read; rejected lines are in `quarantine`
        reason    string     why it was not read
        round     bigint     number of the pass over the input files that found the file
        cluster       string   for files of a followed log: the cluster ID
        first_offset  bigint   for files of a followed log: the first offset that the file covers
        end_offset    bigint   for files of a followed log: the offset after the last one
        gap           boolean  part of the log was deleted unread; the file has only the resulting differences
    """),
)

SNAPSHOT: Final = Table(
    "bronze",
    "snapshot",
    "A difference from the previous snapshot. The state at a time is the last row of each kind, resource and key.",
    (
        *_CLUSTER,
        *_columns("""
            taken     timestamp  when the snapshot ended
            previous  timestamp  when the previous snapshot ended; null for the first one of a cluster
            kind      string     `snapshot` (one per snapshot), `topic`, `config`, `quota`, `scram`, `acl`
        """),
        *_RESOURCE,
        *_ENTITY,
        *_columns("""
            topic_id   string   for topics and their keys: the topic ID, if the cluster has one
            key        string   the key; empty for the topic itself
            value      string   the value, null if sensitive; of a topic: partitions as JSON; of a snapshot: its start
            source     string   Kafka's name of the config source
            sensitive  boolean  whether the value is hidden
            gone       boolean  true: it was in the previous snapshot and is not in this one
            missing    array<string>  of a snapshot: what it could not read; null if an older kconf took it
        """),
        *_FROM,
    ),
)

DECLARED: Final = Table(
    "bronze",
    "declared",
    "The declared state: one row per value. Replaced completely when a file changes.",
    (
        *_columns("cluster  string  cluster ID; null if the files apply to every cluster of the run"),
        *_RESOURCE,
        *_ENTITY,
        *_columns("""
            key        string   the key, or `partitions` and `replication_factor` of a topic
            value      string   the value, with units resolved; null if sensitive
            sensitive  boolean  whether the value is a secret stored elsewhere
            place      string   file, line and column
        """),
    ),
)

HISTORY: Final = Table(
    "silver",
    "history",
    "An interval in which a key had a value (or a topic its partitions): time, author, and the change that ended it.",
    (
        *_CLUSTER,
        *_columns("kind  string  `config` or `topic`"),
        *_RESOURCE,
        *_ENTITY,
        *_columns("""
            topic_id   string     the topic ID in this interval, if known: a recreated topic has a new one
            key        string     the key; empty for the topic itself
            value      string     the value; a keyed hash if sensitive, or null if only a snapshot shows it
            before     string     the previous value, as recorded by the change
            sensitive  boolean    whether the value is hidden
            since      timestamp  start of the interval
        """),
        *_ORDER,
        *_columns("""
            origin  string  `kconf`, `client`, `outside` (author unknown), or `snapshot` (only a snapshot shows it)
            op      string  requested operation
        """),
        *_CALLER,
        *_columns("""
            not_before       timestamp  if only snapshots show it: the last snapshot without it
            seen_at          timestamp  if only snapshots show it: the first snapshot with it
            until            timestamp  end of the interval; null if current
            until_epoch      bigint     epoch of the change that ended it
            until_revision   bigint     revision of that change
            until_line       int        position of its line within the revision
            until_principal  string     who ended it
            until_reason     string     reason, if given
            until_origin     string     origin of that change
            ended            string     `replaced` by another value, `removed`, or `deleted` with its topic
            slipped          boolean    whether the next change found another value, set outside kconf
            found            string     that other value; null if none
            returned         boolean    whether it equals the value before the previous one: A → B → A
            open             boolean    whether it is current: these rows are the current state
        """),
    ),
    ("open",),
)

STATE: Final = Table(
    "silver",
    "state",
    "How far the history of a cluster goes. Every run rewrites it from the commit metadata of `history`.",
    (
        *_CLUSTER,
        *_columns("""
            epoch     bigint     epoch of the last line that the history includes
            revision  bigint     revision of that line; without a journal, the time of the last snapshot
            line      int        position of that line within the revision
            time      timestamp  the latest time of a line or snapshot; older lines that arrive later count as late
            began     timestamp  time of the first line of a server; snapshots after it do not change the history
            recorded  boolean    whether clients recorded changes
            looked    boolean    whether snapshots were read
            followed  boolean    whether a metadata log was followed
            round     bigint     the last pass over the input files that the history includes, of all clusters
        """),
    ),
)

TOPICS: Final = Table(
    "gold",
    "topics",
    "A topic; if it was recreated, one row per topic ID.",
    (
        *_CLUSTER,
        *_columns("""
            topic        string     its name
            topic_id     string     topic ID; null if the cluster has none
            partitions   int        number of partitions, or the last known number
            replication  int        replicas of its first partition
            internal     boolean    whether it is an internal topic
            owner        string     from the owners file; null if none matches
            first_seen   timestamp  when it was created, or first seen
            last_seen    timestamp  the last snapshot or change that showed it
            exists       boolean    whether it exists
        """),
    ),
)

_RUNG = "array<struct<name:string,value:string,source:string>>"

EFFECTIVE_CONFIG: Final = Table(
    "gold",
    "effective_config",
    "The effective value of every key of every topic, broker, group and client metrics subscription, with its sources.",
    (
        *_CLUSTER,
        *_RESOURCE,
        *_columns(f"""
            key        string   the key
            value      string   the effective value, as `kconf describe` prints it; null if none, or sensitive
            source     string   Kafka's name of the config source
            sensitive  boolean  whether the value is hidden
            ladder     {_RUNG}  all sources that have a value, in order of precedence
        """),
    ),
)

EFFECTIVE_QUOTA: Final = Table(
    "gold",
    "effective_quota",
    "The quota that applies to a user with a client ID, for all pairs that were seen or have a quota.",
    (
        *_CLUSTER,
        *_columns("""
            user       string  the user; empty: only quotas without a user are considered
            client_id  string  the client ID; empty: only quotas without a client ID are considered
            key        string  the quota key
            value      double  the quota that applies
            source     string  the level of that quota, named as in KIP-248 (QuotaSource)
            ladder     array<struct<source:string,value:double>>  every level that has a quota, in order of precedence
            used       double  the rate in the usage file; null if none
            share      double  used / value
        """),
    ),
)

DRIFT: Final = Table(
    "gold",
    "drift",
    "A difference between the declared and the actual value, with the change that caused it.",
    (
        *_CLUSTER,
        *_RESOURCE,
        *_columns("""
            key        string     the key
            kind       string     `differs`, `missing` (declared, no such resource), `undeclared` (set, not declared)
            declared   string     declared value; null if none
            actual     string     effective value; null if none
            source     string     config source of the actual value
            since      timestamp  when the difference began, if the history shows it
            principal  string     author of the change that caused it
            reason     string     reason of that change, if given
            place      string     where it is declared: file, line and column
        """),
    ),
)

UNEVEN: Final = Table(
    "gold",
    "uneven",
    "A broker key that differs among the brokers of a cluster but should be the same.",
    (
        *_CLUSTER,
        *_columns("""
            key      string  the key
            brokers  array<struct<value:string,brokers:array<string>>>  brokers by value, the most common first
        """),
    ),
)

VIOLATIONS: Final = Table(
    "gold",
    "violations",
    "An interval in which a resource violated a rule of the policy, whether or not the rule existed at the time.",
    (
        *_CLUSTER,
        *_columns("rule  string  rule ID\nseverity  string  `error` or `warn`"),
        *_RESOURCE,
        *_columns("""
            topic_id          string     for topics: the topic ID at that time, if known
            owner             string     the topic's owner, from the owners file
            key               string     the key that the rule checks
            value             string     the violating value; null if none, or sensitive
            condition         string     the required condition
            message           string     message of the rule
            assumed           boolean    based on a server.properties value or default that no snapshot had shown yet
            since             timestamp  start of the violation; if only snapshots show it, the first snapshot
            epoch             bigint     epoch of the change that caused it
            revision          bigint     revision of that change
            principal         string     author of that change; null if only snapshots show it
            reason            string     reason, if given
            origin            string     origin of that change, as in `history`
            cause             string     `itself`: the resource was changed; `inherited`: an inherited value was changed
            changes           bigint     changes in that interval that the rule would have refused or warned about
            until             timestamp  end of the violation; null if still violated
            until_epoch       bigint     epoch of the change that ended it
            until_revision    bigint     revision of that change
            until_principal   string     author of that change
            until_reason      string     reason, if given
            until_origin      string     origin of that change
            ended             string     `mended` (satisfied again), `changed` (other violating value), `gone` (deleted)
            open              boolean    whether it is still violated
        """),
    ),
)

ACTIVITY: Final = Table(
    "gold",
    "activity",
    "Who changes what, and when: counts per day. Flapping keys (with the last author) and refusals are separate kinds.",
    (
        *_CLUSTER,
        *_columns("""
            kind           string     `changes`, `flapping` (a key that went A → B → A), `refusals`, `dry-runs`
            day            date       the day; null for flapping keys
        """),
        *_of_change(*COUNTED),
        *_columns("""
            origin         string     origin of the changes
            resource_type  string     resource type
            resource_name  string     the flapping resource; null otherwise
            key            string     the key; null for refusals
            error          int        Kafka error code of the refusal
            count          bigint     the count; for flapping keys, how often the value was changed back
            first          timestamp  time of the first of them
            last           timestamp  time of the last of them
        """),
    ),
)

INTEGRITY: Final = Table(
    "gold",
    "integrity",
    "An inconsistency: a gap in the journal, a change made outside kconf, or a recorded change that a followed log"
    " contradicts.",
    (
        *_CLUSTER,
        Column(
            "kind",
            "string",
            "`gap` (missing revisions), `incomplete` (a revision with missing lines), `slipped` (the next change found "
            "another value), `differs` (from a snapshot), `contradicted` (by the metadata log)",
        ),
        *_columns("""
            epoch           bigint     epoch of the missing revisions, or of the change that shows the inconsistency
            first_sequence  bigint     sequence number of the first missing revision; for a followed log, the offset
            last_sequence   bigint     sequence number of the last missing revision
        """),
        *_RESOURCE,
        *_columns("""
            key       string     the key
            expected  string     value in the journal
            found     string     value in the snapshot or next change; `difference`: a gap, with a known state after it
            time      timestamp  when it was noticed
        """),
    ),
)

RUNS: Final = Table(
    "",
    "runs",
    "A finished pipeline run. Written last: the table versions in a row belong together.",
    _columns("""
        run          bigint               number of the run
        started      timestamp            when it began
        finished     timestamp            when all tables were written
        kconf        string               the version of kconf
        round        bigint               the last pass over the input files that the history includes
        journal      bigint               rows added to `bronze/journal`
        attempts     bigint               rows added to `bronze/attempts`
        quarantined  bigint               rows added to `bronze/quarantine`
        facts        bigint               rows added to `bronze/snapshot`
        inputs       map<string,string>   fingerprint of each input file: declared, policy, owners, usage
        versions     map<string,bigint>   the version of each table
    """),
)

BRONZE: Final = (JOURNAL, ATTEMPTS, QUARANTINE, SNAPSHOT, DECLARED)
GOLD: Final = (TOPICS, EFFECTIVE_CONFIG, EFFECTIVE_QUOTA, DRIFT, UNEVEN, VIOLATIONS, ACTIVITY, INTEGRITY)
TABLES: Final = {table.name: table for table in (*BRONZE, FILES, HISTORY, STATE, *GOLD, RUNS)}

_NOT_STREAMED: Final = frozenset({"sequence", *(each.name for each in REQUEST)})
CHANGE_ROW: Final = (
    *(each for each in _line_columns(CHANGE_LINE) if each.name not in _NOT_STREAMED),
    *_columns("gap_begin  bigint  for rows of kind `gap`: the first missing revision; `revision` is the last"),
)
"""A row of the stream of changes: the fields of a journal line that a live cluster provides."""

SNAPSHOT_LINE: Final = _columns("""
    cluster        string              cluster ID
    started        bigint              milliseconds since 1970
    taken          bigint              milliseconds since 1970
    kind           string              as in the table
    resource_type  string              of `config`; of `acl`: the resource type of the pattern
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
"""A line of a snapshot file, with the cluster and times of the header line on every line; also the format of the live
source. docs/reference/formats.md lists the fields of each kind."""
