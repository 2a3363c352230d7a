"""Arguments of `kconf lake` and its subcommands. `queries` implements them."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING, Final

from kconf.cli.common.command import Command, command
from kconf.cli.common.target import add_context, add_output
from kconf.cli.output.result import CommandResult
from kconf.util.time_text import TIME_HELP

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES: Final = """\
examples:
  kconf lake history topic:orders --lake lake
  kconf lake history topic:orders --key retention.ms --between '7d ago' now
  kconf lake as-of 2026-11-01T12:00 'topic:orders.*'
  kconf lake blame topic:orders
  kconf lake diff '1d ago' now --output json
  kconf lake drift                                    exits with 3 if there is drift
  kconf lake violations --owner search                exits with 3 if a rule is violated
  kconf lake integrity                                exits with 3 if there are gaps, or unrecorded changes
  kconf lake compare CLUSTER OTHER --ignore 'advertised.*'
  kconf lake what-if --set broker:default log.retention.ms=1d
  kconf lake backtest --policy new.yaml               exits with 3 if a rule was violated
  kconf lake backtest --policy new.yaml --between '30d ago' now --list --output csv
  kconf lake report report.html
  kconf lake sql "SELECT key, count(*) FROM history WHERE open GROUP BY key ORDER BY 2 DESC"
  kconf lake tables history
  kconf lake register | spark-sql

The lake is the directory passed to `kconf pipeline run --lake`. The default is the context's `lake`. Only `backtest`
starts Spark.
"""
WORDS: Final = {
    "history": "every value of a key: since when, until when, who set it and why",
    "as-of": "what was set at a given time, and who set it",
    "blame": "what is set now, and who set it",
    "diff": "what differs between two points in time",
    "drift": "where clusters differ from the declared state, with the change that caused it",
    "violations": "what violates the rules of the last run, since when, and who caused it",
    "integrity": "inconsistencies: gaps in the input, and changes that were not recorded",
    "compare": "what differs between two clusters",
    "what-if": "which topics a new cluster default would affect",
    "backtest": "what a policy would have refused in the past, and how long its rules were violated",
    "report": "HTML report: changes, authors, drift, policy findings",
    "sql": "the result of a SQL query on the tables",
    "tables": "list the tables with their meaning and keys, or the columns of one",
    "register": "the statements that register the tables in Spark SQL",
}
_MODULES: Final = {
    "report": "report",
    "backtest": "backtest",
    "violations": "violations",
    "integrity": "integrity",
    "sql": "sql",
    "tables": "sql",
    "register": "register",
}
_DESCRIPTIONS: Final = {
    "report": "Write an HTML report: changes, authors, drift, policy findings.",
    "sql": "Run a SQL query on the tables.",
    "register": "Print the statements that register the tables in Spark SQL.",
}
SQL_EXAMPLES: Final = """\
examples:
  kconf lake sql "SELECT key, value, count(*) AS topics FROM history
                  WHERE open AND resource_type = 'topic' AND key <> '' GROUP BY ALL ORDER BY topics DESC"
  kconf lake sql "SELECT principal, sum(count) AS changes FROM activity
                  WHERE kind = 'changes' AND day > current_date - 30 GROUP BY principal ORDER BY changes DESC" -o csv
  kconf lake sql "SELECT v.rule, v.resource_name, t.owner, v.since FROM violations v
                  JOIN topics t ON t.cluster = v.cluster AND t.topic_id = v.topic_id
                  WHERE v.open ORDER BY v.since"

All tables are read as of the last finished run, even while the next run is writing. `kconf lake tables` lists them
and their columns. Times are UTC. The SQL is DuckDB's. A query only reads, and has no access to files.
"""
REGISTER_EXAMPLES: Final = """\
examples:
  kconf lake register --lake lake | spark-sql
  kconf lake register --database audit --lake s3://bucket/lake > register.sql
  kconf lake register --views | beeline -u jdbc:hive2://thrift-server:10000 -f /dev/stdin

Tables show the last commit of each table. Views show all tables as of the last finished run, with comments; register
them again after each run.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "lake",
        help="query the pipeline's tables: history, drift, report, …",
        description="Query the tables that `kconf pipeline run` maintains.",
        epilog=EXAMPLES,
    )
    words = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    made = {name: _word(words, name) for name in WORDS}
    made["as-of"].add_argument("time", metavar="TIME", help=TIME_HELP)
    for each in ("before", "after"):
        made["diff"].add_argument(each, metavar="TIME", help=f"now, or {TIME_HELP}")
    for each in ("one", "other"):
        made["compare"].add_argument(each, metavar="CLUSTER", help="cluster ID, a prefix of it, or a context")
    for name in ("history", "as-of", "blame", "diff", "compare", "drift", "violations", "integrity"):
        _add_about(made[name], name)
    made["history"].add_argument(
        "--between", nargs=2, metavar="TIME", help="only values in effect between these two times"
    )
    _add_violations(made["violations"])
    made["compare"].add_argument(
        "--ignore", metavar="GLOB", action="append", default=[], help="ignore matching keys; may be repeated"
    )
    made["what-if"].add_argument(
        "--set",
        nargs=2,
        metavar=("broker:default", "KEY=VALUE"),
        action="append",
        required=True,
        dest="proposed",
        help="value to evaluate; may be repeated",
    )
    made["what-if"].add_argument("--list", action="store_true", help="list every affected topic")
    _add_backtest(made["backtest"])
    made["report"].add_argument("file", metavar="FILE", help="file to write; - for standard output")
    made["report"].add_argument(
        "--days", metavar="N", type=int, default=30, help="number of days to cover (default: %(default)s)"
    )
    _add_sql(made["sql"])
    made["tables"].add_argument("table", metavar="TABLE", nargs="?", help="show the columns of this table")
    _add_register(made["register"])
    for name, word in made.items():
        _add_lake(word, one=name not in ("compare", "sql", "tables", "register"))


def _word(words: argparse._SubParsersAction[argparse.ArgumentParser], name: str) -> argparse.ArgumentParser:
    about = WORDS[name]
    word = words.add_parser(name, help=about, description=_DESCRIPTIONS.get(name, f"Show {about}."))
    module = _MODULES.get(name, "queries")
    word.set_defaults(run=command(f"lake {name}", _later(module, name.replace("-", "_"))))
    return word


def _later(module: str, name: str) -> Command:
    """Import the implementation only when it is needed."""

    def verb(options: argparse.Namespace, answer: CommandResult) -> None:
        found: Callable[[argparse.Namespace, CommandResult], None] = getattr(
            import_module(f"kconf.cli.commands.lake.{module}"), name
        )
        found(options, answer)

    return verb


def _add_violations(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rule", metavar="ID", help="only this rule")
    parser.add_argument("--owner", metavar="NAME", help="only topics of this owner")
    parser.add_argument("--all", action="store_true", help="also show past violations")
    parser.add_argument("--between", nargs=2, metavar="TIME", help="violations in effect between these two times")


def _add_backtest(parser: argparse.ArgumentParser) -> None:
    from pathlib import Path

    from kconf.cli.common.pipeline.spark_session import add_session

    parser.add_argument(
        "--policy",
        metavar="FILE",
        type=Path,
        required=True,
        help="policy file, same format as the server's policy.file",
    )
    parser.add_argument("--between", nargs=2, metavar="TIME", help="only findings in effect between these two times")
    parser.add_argument("--list", action="store_true", help="list each finding instead of counts per rule")
    parser.add_argument(
        "--limit", metavar="N", type=int, default=100, help="maximum number of findings listed (default: %(default)s)"
    )
    add_session(parser)


def _add_sql(parser: argparse.ArgumentParser) -> None:
    parser.epilog = SQL_EXAMPLES
    parser.add_argument("query", metavar="SQL", help="one SQL query; - reads it from standard input")
    parser.add_argument(
        "--limit", metavar="N", type=int, default=10_000, help="maximum number of rows printed (default: %(default)s)"
    )
    parser.add_argument(
        "--memory", metavar="SIZE", default="1GB", help="memory that the query may use (default: %(default)s)"
    )


def _add_register(parser: argparse.ArgumentParser) -> None:
    parser.epilog = REGISTER_EXAMPLES
    parser.add_argument(
        "--database", metavar="NAME", default="kconf", help="database of the tables (default: %(default)s)"
    )
    parser.add_argument("--views", action="store_true", help="views of the last finished run, instead of tables")


def _add_about(parser: argparse.ArgumentParser, name: str) -> None:
    from kconf.cli.common.options.quota_entity import add_quota_entity

    parser.add_argument(
        "resources", metavar="RESOURCE", nargs="*", help="topic:NAME, topic:GLOB, broker:default, … (default: all)"
    )
    parser.add_argument("--key", metavar="KEY", help="only this key")
    if name not in ("drift", "violations", "integrity"):
        add_quota_entity(parser)


def _add_lake(parser: argparse.ArgumentParser, *, one: bool) -> None:
    group = parser.add_argument_group("lake and output")
    group.add_argument("--lake", metavar="URI", help="URI of the tables (default: the context's lake)")
    add_context(group)
    if one:
        group.add_argument(
            "--cluster", metavar="ID", action="append", default=[], help="only this cluster: its ID or a prefix of it"
        )
    add_output(group)
